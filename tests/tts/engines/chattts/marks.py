"""Texts with control tokens in them, as the pieces that a vocabulary encodes."""

from collections.abc import Sequence

from tts.engines.chattts.tokens import Piece, Vocabulary
from tts.text.segment import Mark


def marked(vocabulary: Vocabulary, text: str, marks: Sequence[Mark]) -> tuple[Piece, ...]:
    """`text` with the marks' tokens in it; offsets count from its beginning."""
    pieces: list[Piece] = []
    done = 0
    for mark in marks:
        pieces += [text[done : mark.offset], vocabulary.token(mark.token)]
        done = max(done, mark.offset)
    return (*pieces, text[done:])

"""Text to token ids, and the prompts that ChatTTS' GPT was trained on.

The word pieces are those of `tokenizer.json`, by the `tokenizers` library. Text never becomes
a control token, whatever it says: those are given by name, between pieces of text.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from tokenizers import Tokenizer

from tts.engine.errors import VersionUnavailable
from tts.engines.chattts.layout import SPECIAL_TOKENS, TOKENIZER

Piece = str | int
"""What a prompt is made of: plain text, or the id of one token."""
DEFAULT_SPEED: Final = "speed_5"
"""How fast where nobody says: ChatTTS' own prompt for audio (`InferCodeParams.prompt`)."""


@dataclass(frozen=True, slots=True)
class TextPrompt:
    """Token ids, and at which of them the speaker's vector stands (None: at none)."""

    ids: tuple[int, ...]
    speaker_at: int | None = None


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokenizer of one version.

    `last` is the highest id; `tokens` has the control tokens' ids by name, in brackets;
    `characters` those that are tokens by themselves.
    """

    size: int
    last: int
    tokens: dict[str, int]
    characters: frozenset[str]
    _text: Tokenizer
    _whole: Tokenizer

    @classmethod
    def read(cls, content: bytes) -> Self:
        """Read the bytes of tokenizer.json; raises VersionUnavailable saying what is wrong."""
        try:
            settings = json.loads(content)
            whole = Tokenizer.from_str(content.decode())
            # Without its added tokens the tokenizer finds no control token in any text.
            text = Tokenizer.from_str(json.dumps({**settings, "added_tokens": []}))
        except Exception as error:
            raise VersionUnavailable(f"{TOKENIZER}: is no tokenizer: {error}") from error
        tokens = {}
        for token in SPECIAL_TOKENS:
            number = whole.token_to_id(token)
            if number is None:
                raise VersionUnavailable(f"{TOKENIZER}: token {token} is missing")
            tokens[token] = number
        vocabulary = whole.get_vocab(with_added_tokens=True)
        characters = frozenset(word for word in vocabulary if len(word) == 1)
        return cls(len(vocabulary), max(vocabulary.values()), tokens, characters, text, whole)

    @property
    def end_of_refinement(self) -> int:
        """The token that ends refined text, [Ebreak]."""
        return self.tokens["[Ebreak]"]

    def token(self, name: str) -> int:
        """The id of a control token, with or without its brackets; raises KeyError."""
        return self.tokens[name if name.startswith("[") else f"[{name}]"]

    def encode(self, pieces: Iterable[Piece]) -> tuple[int, ...]:
        """The ids of text and tokens in their order; texts that touch are read as one."""
        ids: list[int] = []
        text = ""
        for piece in (*pieces, None):
            if isinstance(piece, str):
                text += piece
                continue
            if text:
                ids += self._text.encode(text, add_special_tokens=False).ids
                text = ""
            if piece is not None:
                ids.append(piece)
        return tuple(ids)

    def code_prompt(
        self,
        spoken: Iterable[Piece],
        controls: Iterable[str] = (),
        transcript: str = "",
        *,
        speaker: bool = False,
    ) -> TextPrompt:
        """What audio tokens follow: [Stts][spk_emb]{transcript}{controls}{spoken}[Ptts].

        Without a speaker [empty_spk] is in its place. `controls` are names (`DEFAULT_SPEED`).
        As ChatTTS' `Speaker.decorate_code_prompts`.
        """
        ids = self.encode(
            (
                self.token("Stts"),
                self.token("spk_emb" if speaker else "empty_spk"),
                transcript,
                *(self.token(name) for name in controls),
                *spoken,
                self.token("Ptts"),
            )
        )
        return TextPrompt(ids, 1 if speaker else None)

    def refine_prompt(self, spoken: Iterable[Piece], controls: Iterable[str] = ()) -> TextPrompt:
        """What refined text follows: [Sbreak]{spoken}[Pbreak]{controls} ("oral_2", "laugh_0", …).

        As ChatTTS' `Speaker.decorate_text_prompts`.
        """
        return TextPrompt(
            self.encode(
                (
                    self.token("Sbreak"),
                    *spoken,
                    self.token("Pbreak"),
                    *(self.token(name) for name in controls),
                )
            )
        )

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids; control tokens stay in it, in their brackets."""
        return str(self._whole.decode(list(ids), skip_special_tokens=False))

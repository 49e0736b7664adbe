"""Speaking one prepared utterance; runs in the pool."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import onnxruntime as ort
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

from tts.audio.loudness import loudness_lufs
from tts.engine.errors import NothingToSpeak
from tts.engine.request import VoicePart
from tts.engines.base import Samples
from tts.engines.kokoro import SAMPLE_RATE
from tts.engines.kokoro.gains import DISTILLED_GAIN_DB, gain_of
from tts.engines.kokoro.join import Joiner
from tts.engines.kokoro.model import (
    MOST_PHONEMES,
    MOST_PHONEMES_DISTILLED,
    DistilledModel,
    FullModel,
    RunOptions,
    StylePacks,
    Vocabulary,
)
from tts.engines.kokoro.phonemes import phonemiser, split_phonemes
from tts.engines.kokoro.speakers import is_british
from tts.engines.pool import CancelToken, Emit, UtteranceCancelled
from tts.text.segment import Language

SPAN_LUFS = -19.5
"""Measured: spans read by themselves come out about half a dB above whole sentences (-20)."""
MOST_LEVELLING_DB = 3.0


@dataclass(frozen=True, slots=True)
class Line:
    """What one voice says in one language; `gain_db` brings it to the level of its neighbours."""

    language: Language
    text: str
    parts: tuple[VoicePart, ...]
    gain_db: float = 0.0

    @property
    def speaker(self) -> str:
        """The heaviest part of the voice: how a mix reads English, and about how loud it is."""
        return max(self.parts, key=lambda part: part.weight).speaker


@dataclass(frozen=True, slots=True)
class Script:
    """All of an utterance. `distilled`: hibari's net speaks it. `seed` is 0 or more."""

    lines: tuple[Line, ...]
    seed: int
    distilled: bool


@dataclass(frozen=True, slots=True)
class _Piece:
    """One call of the model."""

    line: Line
    phonemes: str


@dataclass(frozen=True, slots=True)
class Models:
    """What a script may need; `full` loads the full model when first called."""

    vocabulary: Vocabulary
    packs: StylePacks
    full: Callable[[], FullModel]
    distilled: DistilledModel | None


def seed_of(seed: int | None, text: str) -> int:
    """The request's seed, as numpy wants it, or one that follows from the text."""
    if seed is not None:
        return seed % (1 << 64)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def speak(script: Script, models: Models, emit: Emit, token: CancelToken) -> None:
    """Emit the script's audio, each piece as soon as it is there; raises NothingToSpeak."""
    options = ort.RunOptions()
    options.log_severity_level = 4  # a terminated call is no error worth a line

    def terminate() -> None:
        options.terminate = True

    token.on_cancel(terminate)
    try:
        if script.distilled and models.distilled is not None:
            _speak_distilled(script, models, models.distilled, options, emit)
        else:
            _speak_full(script, models, options, emit, token)
    except Fail as error:
        if token.cancelled:
            raise UtteranceCancelled from error
        raise


def _speak_distilled(
    script: Script, models: Models, model: DistilledModel, options: RunOptions, emit: Emit
) -> None:
    noise = np.random.default_rng(script.seed)
    for piece in _pieces(script, models.vocabulary, MOST_PHONEMES_DISTILLED, by_sentence=True):
        audio = model.speak(models.vocabulary.ids(piece.phonemes), noise, options)
        emit(_scaled(audio, DISTILLED_GAIN_DB))


def _speak_full(
    script: Script, models: Models, options: RunOptions, emit: Emit, token: CancelToken
) -> None:
    pieces = _pieces(script, models.vocabulary, MOST_PHONEMES, by_sentence=False)
    model = models.full()
    joiner = Joiner()
    for number, piece in enumerate(pieces, 1):
        token.check()
        style = models.packs.style(piece.line.parts, len(piece.phonemes))
        audio = model.speak(models.vocabulary.ids(piece.phonemes), style, options)
        gain_db = piece.line.gain_db
        if len(script.lines) > 1:
            gain_db += _levelling_db(piece, audio)
        audio = _scaled(audio, gain_db)
        emit(joiner.piece(audio, piece.phonemes, last=number == len(pieces)))


def _pieces(
    script: Script, vocabulary: Vocabulary, most: int, *, by_sentence: bool
) -> list[_Piece]:
    pieces: list[_Piece] = []
    for line in script.lines:
        sentences = phonemiser(line.language, british=is_british(line.speaker))(line.text)
        passages = sentences if by_sentence else [" ".join(sentences)]
        for passage in passages:
            known = vocabulary.known(passage)
            # Marks alone would be half a second of breath.
            if any(sound.isalpha() for sound in known):
                pieces += [_Piece(line, part) for part in split_phonemes(known, most)]
    if not pieces:
        raise NothingToSpeak("the text has no sounds that this model knows")
    return pieces


def _levelling_db(piece: _Piece, audio: Samples) -> float:
    """What brings a few words in another language, often said loudly, to a sentence's level."""
    if not audio.any():
        return 0.0
    usual = SPAN_LUFS - gain_of(piece.line.speaker)
    difference = usual - loudness_lufs(audio, SAMPLE_RATE)
    return min(MOST_LEVELLING_DB, max(-MOST_LEVELLING_DB, difference))


def _scaled(audio: Samples, gain_db: float) -> Samples:
    return audio if not gain_db else audio * np.float32(10.0 ** (gain_db / 20.0))

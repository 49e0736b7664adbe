"""How well speech is understood: a recogniser's transcript against what was to be said.

Scores are error rates, 0.0 for a perfect transcript; gates that held: English
word errors at most 0.10, pinyin errors at most 0.05. Write expected texts
without digits where you can: "twenty twenty-six" and "2026" would not meet.
"""

import io
import re
from dataclasses import dataclass
from typing import Protocol

import av
import av.logging
import jiwer
import numpy as np
from numpy.typing import NDArray

from tests.speech.numerals import english_number, mandarin_number

Samples = NDArray[np.float32]

WHISPER_RATE = 16_000
ENGLISH_GATE = 0.10
PINYIN_GATE = 0.05

_STRICT = {"err_detect": "crccheck+bitstream+buffer+explode"}
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)*|\d+")
_HAN_OR_WORD = re.compile("[\u3400-\u9fff]+|[a-z]+(?:'[a-z]+)*")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)[%％]")
_YEAR = re.compile(r"\d{4}(?=年)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class Transcriber(Protocol):
    """Hears 16 kHz mono float32 audio."""

    def transcribe(self, audio: Samples, language: str) -> str:
        """The text of `audio` in `language` ("en", "zh"); "" for silence and noise."""


class DecodeError(Exception):
    """Audio that a strict decoder complains about."""


@dataclass(frozen=True, slots=True)
class Recogniser:
    """Scores speech. Audio is mono float32 at `rate` Hz, of any rate."""

    transcriber: Transcriber

    def transcript(self, audio: Samples, rate: int, language: str) -> str:
        """What is heard."""
        heard = resample(np.asarray(audio, dtype=np.float32), rate, WHISPER_RATE)
        return self.transcriber.transcribe(heard, language)

    def english_wer(self, audio: Samples, rate: int, text: str) -> float:
        """Word errors per word of `text`."""
        return word_errors(text, self.transcript(audio, rate, "en"))

    def pinyin_error(self, audio: Samples, rate: int, text: str) -> float:
        """Wrong toneless syllables per syllable of `text`; English words in it count one each."""
        return syllable_errors(text, self.transcript(audio, rate, "zh"))


def word_errors(expected: str, heard: str) -> float:
    """The word error rate of two English texts, without case and punctuation."""
    reference = " ".join(_english_words(expected))
    if not reference:
        raise ValueError(f"no English words are expected in {expected!r}")
    return float(jiwer.wer(reference, " ".join(_english_words(heard))))


def syllable_errors(expected: str, heard: str) -> float:
    """The error rate of two Chinese texts, as toneless pinyin of simplified characters."""
    reference = " ".join(_syllables(expected))
    if not reference:
        raise ValueError(f"no syllables are expected in {expected!r}")
    return float(jiwer.wer(reference, " ".join(_syllables(heard))))


def decode(content: bytes, container_format: str | None = None) -> tuple[Samples, int]:
    """Decode a whole file to mono float32 and its sample rate; raises DecodeError.

    Strict: damage that a player would hide, and everything that the libraries
    log as an error, is refused. `container_format` (such as "mp3") forbids guessing.
    """
    previous = av.logging.get_level()
    av.logging.set_level(av.logging.ERROR)
    try:
        with av.logging.Capture() as complaints:
            try:
                audio, rate = _decode(content, container_format)
            except (av.FFmpegError, IndexError) as error:
                raise DecodeError(f"{error}; {complaints}") from error
    finally:
        av.logging.set_level(previous)
    serious = [text for level, _, text in complaints if level <= av.logging.ERROR]
    if serious:
        raise DecodeError("; ".join(serious))
    return audio, rate


def resample(audio: Samples, rate: int, wanted: int) -> Samples:
    """Mono audio at another rate."""
    if rate == wanted or not len(audio):
        return audio
    frame = av.AudioFrame.from_ndarray(audio.reshape(1, -1), format="fltp", layout="mono")
    frame.sample_rate = rate
    resampler = av.AudioResampler(format="fltp", layout="mono", rate=wanted)
    frames = [*resampler.resample(frame), *resampler.resample(None)]
    return np.concatenate([item.to_ndarray()[0] for item in frames]).astype(np.float32)


def _decode(content: bytes, container_format: str | None) -> tuple[Samples, int]:
    with av.open(
        io.BytesIO(content), mode="r", format=container_format, options=_STRICT
    ) as container:
        stream = container.streams.audio[0]
        stream.codec_context.options = _STRICT
        rate = stream.rate
        resampler = av.AudioResampler(format="fltp", layout="mono", rate=rate)
        pieces = [
            piece.to_ndarray()[0]
            for frame in (*container.decode(stream), None)
            for piece in resampler.resample(frame)
        ]
    if not pieces:
        raise DecodeError("there is no audio in it")
    return np.concatenate(pieces).astype(np.float32), rate


def _english_words(text: str) -> list[str]:
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text.lower().replace("’", "'"))
    words: list[str] = []
    for word in _WORD.findall(text):
        words += english_number(int(word)) if word.isdigit() else [word]
    return words


def _syllables(text: str) -> list[str]:
    from opencc import OpenCC
    from pypinyin import lazy_pinyin

    text = OpenCC("t2s").convert(text).lower()
    text = _PERCENT.sub(lambda match: f"百分之{match[1]}", text)
    text = _YEAR.sub(lambda match: "".join(mandarin_number(int(d)) for d in match[0]), text)
    text = _NUMBER.sub(lambda match: _mandarin(match[0]), text).replace("两", "二")
    syllables: list[str] = []
    for run in _HAN_OR_WORD.findall(text):
        syllables += [run] if run[0].isascii() else lazy_pinyin(run)
    return syllables


def _mandarin(number: str) -> str:
    whole, _, decimals = number.partition(".")
    point = "点" + "".join(mandarin_number(int(digit)) for digit in decimals) if decimals else ""
    return mandarin_number(int(whole)) + point

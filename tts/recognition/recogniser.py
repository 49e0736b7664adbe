"""What a recogniser hears of audio of any rate."""

from dataclasses import dataclass
from typing import Protocol

import av
import numpy as np
from numpy.typing import NDArray

Samples = NDArray[np.float32]

HEARD_RATE = 16_000


class Transcriber(Protocol):
    """Hears 16 kHz mono float32 audio."""

    def transcribe(self, audio: Samples, language: str) -> str:
        """The text of `audio` in `language` ("en", "zh"); "" for silence and noise."""


@dataclass(frozen=True, slots=True)
class Recogniser:
    """Scores speech. Audio is mono float32 at `rate` Hz, of any rate."""

    transcriber: Transcriber

    def transcript(self, audio: Samples, rate: int, language: str) -> str:
        """What is heard; nothing of no audio."""
        if not len(audio):
            return ""
        heard = resample(np.asarray(audio, dtype=np.float32), rate, HEARD_RATE)
        return self.transcriber.transcribe(heard, language)

    def english_wer(self, audio: Samples, rate: int, text: str) -> float:
        """Word errors per word of `text`."""
        # Imported here: scores need what is not installed with the platform.
        from tts.recognition.scores import word_errors

        return word_errors([text], [self.transcript(audio, rate, "en")])

    def pinyin_error(self, audio: Samples, rate: int, text: str) -> float:
        """Wrong toneless syllables per syllable of `text`; English words in it count one each."""
        from tts.recognition.scores import syllable_errors

        return syllable_errors([text], [self.transcript(audio, rate, "zh")])


def resample(audio: Samples, rate: int, wanted: int) -> Samples:
    """Mono audio at another rate."""
    if rate == wanted or not len(audio):
        return audio
    frame = av.AudioFrame.from_ndarray(audio.reshape(1, -1), format="fltp", layout="mono")
    frame.sample_rate = rate
    resampler = av.AudioResampler(format="fltp", layout="mono", rate=wanted)
    frames = [*resampler.resample(frame), *resampler.resample(None)]
    return np.concatenate([item.to_ndarray()[0] for item in frames]).astype(np.float32)

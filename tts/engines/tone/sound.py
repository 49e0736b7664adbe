"""How a text sounds in tones: each character one sine, its pitch from voice and character."""

from zlib import crc32

import numpy as np

from tts.engine.errors import NothingToSpeak, VoiceUnavailable
from tts.engine.request import VoiceSpec
from tts.engines.base import Samples
from tts.text.segment import LanguageSpan, Segment

LANGUAGES = ("zh", "en")
LOWEST_HZ = 110.0
OCTAVE_STEPS = 24
AMPLITUDE = 0.3
EDGE_SECONDS = 0.005


def pitches(segment: Segment, voice: VoiceSpec) -> tuple[float, ...]:
    """Hertz of each character, 0.0 where it is silent; raises VoiceUnavailable, NothingToSpeak."""
    result = [
        base * 2.0 ** ((ord(char) % OCTAVE_STEPS) / OCTAVE_STEPS) if char.isalnum() else 0.0
        for span in segment.spans
        for base in (_base(_speaker(span, voice)),)
        for char in span.spoken
    ]
    if not any(result):
        raise NothingToSpeak("the segment has no letters or digits")
    return tuple(result)


def render(hertz: tuple[float, ...], seconds: float, rate: int, seed: int | None) -> Samples:
    """The whole segment: `len(hertz)` tones of `seconds` each, at `rate`.

    The seed turns the phase: the same one gives the same samples.
    """
    length = max(1, round(seconds * rate))
    time = np.arange(length, dtype=np.float64) / rate
    edge = np.minimum(1.0, np.minimum(time, time[::-1]) / EDGE_SECONDS)
    phase = (0 if seed is None else seed % 997) / 997.0 * 2.0 * np.pi
    pitch = np.asarray(hertz)[:, None]
    waves = np.sin(2.0 * np.pi * pitch * time + phase) * edge * (pitch > 0.0)
    return (AMPLITUDE * waves).astype(np.float32).ravel()


def _speaker(span: LanguageSpan, voice: VoiceSpec) -> VoiceSpec:
    for speaker in (voice, voice.companion):
        if speaker is not None and speaker.speaks(span.language):
            return speaker
    raise VoiceUnavailable(
        f"voice {voice.name} does not speak {span.language}, only {', '.join(voice.languages)}"
    )


def _base(voice: VoiceSpec) -> float:
    """The voice's lowest pitch: a weighted mean over its speakers, so that a mix lies between."""
    if not voice.parts:
        raise VoiceUnavailable(f"voice {voice.name} has no speaker")
    weights = sum(part.weight for part in voice.parts)
    own = sum(part.weight * (crc32(part.speaker.encode()) % 220) for part in voice.parts)
    return LOWEST_HZ + own / weights

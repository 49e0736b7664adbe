"""Recordings that people send become samples, or a clear refusal."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tts.audio.encoder import StreamEncoder
from tts.audio.errors import AudioTooLong, AudioUnreadable
from tts.audio.format import AudioFormat
from tts.audio.pcm import to_s16le
from tts.audio.reading import audio_read

RATE = 24_000


def recording(audio_format: AudioFormat, seconds: float = 1.0, rate: int = RATE) -> bytes:
    time = np.arange(round(seconds * rate)) / rate
    tone = (0.3 * np.sin(2 * np.pi * 220 * time)).astype(np.float32)
    with StreamEncoder(audio_format, rate, rate, stored=True) as encoder:
        encoder.encode(to_s16le(tone))
        return encoder.finish()


@pytest.mark.parametrize(
    "audio_format", [item for item in AudioFormat if item is not AudioFormat.PCM]
)
def test_recording_in_every_format_is_read(audio_format: AudioFormat) -> None:
    samples = audio_read(recording(audio_format), RATE, 2.0)
    assert samples.dtype == np.float32
    assert len(samples) == pytest.approx(RATE, rel=0.1)
    spectrum = np.abs(np.fft.rfft(samples[4_000:20_000]))
    assert np.argmax(spectrum) * RATE / 16_000 == pytest.approx(220, abs=3)


def test_recording_is_resampled() -> None:
    assert len(audio_read(recording(AudioFormat.WAV, rate=48_000), RATE, 2.0)) == pytest.approx(
        RATE, abs=50
    )


def test_long_recording_is_refused_while_it_is_read() -> None:
    with pytest.raises(AudioTooLong, match="longer than 2 seconds"):
        audio_read(recording(AudioFormat.MP3, seconds=60), RATE, 2.0)


@given(st.binary(max_size=2_000))
@settings(max_examples=30, deadline=None)
def test_noise_is_refused(data: bytes) -> None:
    with pytest.raises(AudioUnreadable):
        audio_read(data, RATE, 2.0)


@pytest.mark.parametrize("audio_format", [AudioFormat.MP3, AudioFormat.WAV])
def test_recording_that_was_cut_off_is_read_as_far_as_it_goes(audio_format: AudioFormat) -> None:
    whole = recording(audio_format)
    samples = audio_read(whole[: len(whole) // 2], RATE, 2.0)
    assert len(samples) == pytest.approx(RATE / 2, rel=0.15)

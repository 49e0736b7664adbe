"""Recordings that people send become samples, or a clear refusal."""

import struct
import wave
from io import BytesIO
from pathlib import Path

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


@pytest.mark.parametrize(
    "playlist",
    [
        "#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\n{path}\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile '{path}'\n",
        "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=x\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
        "m=audio 5004 RTP/AVP 0\r\n",
    ],
    ids=["hls", "concat", "sdp"],
)
def test_file_that_names_other_files_or_hosts_opens_none(tmp_path: Path, playlist: str) -> None:
    secret = tmp_path / "secret.mp3"
    secret.write_bytes(recording(AudioFormat.MP3))
    with pytest.raises(AudioUnreadable, match="send WAV, FLAC"):
        audio_read(playlist.format(path=secret).encode(), RATE, 2.0)


def test_rate_that_would_unpack_to_hours_is_refused() -> None:
    file = BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(1)
        written.setsampwidth(2)
        written.setframerate(1)
        written.writeframes(struct.pack("<h", 1_000) * 4_096)
    with pytest.raises(AudioUnreadable, match="at least 8,000"):
        audio_read(file.getvalue(), RATE, 2.0)


def test_file_without_audio_is_refused() -> None:
    with pytest.raises(AudioUnreadable, match="send WAV"):
        audio_read(b"", RATE, 2.0)

"""A stored file states its true sizes and decodes to exactly what was said."""

import hashlib
import io
import struct
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tts.audio.encoder import StreamEncoder, encode_all
from tts.audio.format import AudioFormat
from tts.audio.pcm import to_s16le

Samples = NDArray[np.float32]
Decode = Callable[[bytes], tuple[Samples, int]]
Make = Callable[..., Samples]
RATE = 24_000


@pytest.mark.parametrize(
    "audio_format", [AudioFormat.MP3, AudioFormat.OPUS, AudioFormat.FLAC, AudioFormat.WAV]
)
def test_the_length_is_exact_where_the_container_can_say_it(
    audio_format: AudioFormat, speech_like: Make, decode: Decode
) -> None:
    speech = speech_like(1.2345)
    decoded, rate = decode(encode_all(speech, audio_format, RATE))
    assert len(decoded) == len(speech) * rate // RATE


def test_wav_states_true_sizes(speech_like: Make) -> None:
    pcm = to_s16le(speech_like(0.5))
    body = encode_all(pcm, AudioFormat.WAV, RATE)
    assert struct.unpack("<I", body[4:8])[0] == len(body) - 8
    assert struct.unpack("<I", body[40:44])[0] == len(pcm)
    assert body[44:] == pcm


def test_mp3_has_a_true_xing_frame(speech_like: Make) -> None:
    body = encode_all(speech_like(3.0), AudioFormat.MP3, RATE)
    at = max(body.find(b"Xing", 0, 64), body.find(b"Info", 0, 64))
    assert at > 0
    flags, frames, size = struct.unpack(">III", body[at + 4 : at + 16])
    assert flags & 3 == 3
    assert size == len(body)
    # MPEG-2 layer III at 64 kbit/s and 24 kHz: 192 bytes a frame, the Xing frame is one more.
    assert frames == len(body) // 192 - 1


def test_flac_states_length_and_digest(speech_like: Make) -> None:
    pcm = to_s16le(speech_like(0.7))
    body = encode_all(pcm, AudioFormat.FLAC, RATE)
    total = int.from_bytes(body[8 + 10 : 8 + 18], "big") & ((1 << 36) - 1)
    assert total == len(pcm) // 2
    assert body[8 + 18 : 8 + 34] == hashlib.md5(pcm, usedforsecurity=False).digest()


@pytest.mark.parametrize("audio_format", AudioFormat)
def test_a_file_target_gets_the_same_bytes(audio_format: AudioFormat, speech_like: Make) -> None:
    pcm = to_s16le(speech_like(0.6))
    target = io.BytesIO()
    with StreamEncoder(audio_format, RATE, RATE, stored=True, target=target) as encoder:
        returned = [
            encoder.encode(pcm[start : start + 4_800]) for start in range(0, len(pcm), 4_800)
        ]
        returned.append(encoder.finish())
    assert b"".join(returned) == b""
    assert target.getvalue() == encode_all(pcm, audio_format, RATE)
    assert not target.closed


@pytest.mark.parametrize("audio_format", AudioFormat)
def test_storing_twice_gives_the_same_bytes(audio_format: AudioFormat, speech_like: Make) -> None:
    speech = speech_like(0.4)
    assert encode_all(speech, audio_format, RATE) == encode_all(speech, audio_format, RATE)


@pytest.mark.parametrize("bitrate", [32_000, 128_000])
def test_the_bitrate_is_kept(bitrate: int, speech_like: Make) -> None:
    body = encode_all(speech_like(2.0), AudioFormat.MP3, RATE, bitrate=bitrate)
    assert len(body) * 8 / 2.0 == pytest.approx(bitrate, rel=0.1)

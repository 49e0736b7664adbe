"""A streamed response: one header, bytes at once, a clean end, the right length."""

import struct
from collections.abc import Callable

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tts.audio.encoder import StreamEncoder
from tts.audio.format import AudioFormat
from tts.audio.pcm import from_s16le, to_s16le

Samples = NDArray[np.float32]
Decode = Callable[[bytes], tuple[Samples, int]]
Make = Callable[..., Samples]
RATE = 24_000
CONTAINED = [f for f in AudioFormat if f is not AudioFormat.PCM]
MAGIC = {
    AudioFormat.MP3: (b"\xff\xf3", b"\xff\xfb", b"\xff\xe3"),
    AudioFormat.OPUS: (b"OggS",),
    AudioFormat.AAC: (b"\xff\xf1",),
    AudioFormat.FLAC: (b"fLaC",),
    AudioFormat.WAV: (b"RIFF",),
}


def _stream(
    audio_format: AudioFormat, pcm: bytes, sizes: list[int], rate: int = RATE
) -> list[bytes]:
    with StreamEncoder(audio_format, RATE, rate) as encoder:
        pieces, start, turn = [], 0, 0
        while start < len(pcm):
            end = start + 2 * sizes[turn % len(sizes)]
            pieces.append(encoder.encode(pcm[start:end]))
            start, turn = end, turn + 1
        pieces.append(encoder.finish())
    return pieces


@pytest.mark.parametrize("audio_format", CONTAINED)
def test_a_streamed_body_decodes_cleanly_to_the_speech(
    audio_format: AudioFormat, speech_like: Make, decode: Decode
) -> None:
    speech = speech_like(1.5)
    body = b"".join(_stream(audio_format, to_s16le(speech), [2_400]))
    assert body.startswith(MAGIC[audio_format])
    decoded, rate = decode(body)
    speech = np.repeat(speech, rate // RATE)
    # Priming and padding: two mp3 frames or two AAC frames at most, and what fills the last.
    slack = {AudioFormat.MP3: 1_105 + 576, AudioFormat.AAC: 1_024 + 1_024}.get(audio_format, 0)
    assert 0 <= len(decoded) - len(speech) <= slack
    assert _best_correlation(decoded, speech) > 0.95


def _best_correlation(decoded: Samples, speech: Samples) -> float:
    """Of the middle of the speech with the decoded audio, at the best delay up to 100 ms."""
    middle = speech[len(speech) // 4 : -len(speech) // 4]
    start = len(speech) // 4
    delays = range(0, min(2_000, len(decoded) - start - len(middle)) + 1, 1)
    window = decoded[start : start + len(middle) + len(delays) - 1]
    products = np.correlate(window.astype(float), middle.astype(float), "valid")
    energy = np.sqrt(np.sum(middle.astype(float) ** 2))
    best = int(np.argmax(products))
    norm = np.sqrt(np.sum(window[best : best + len(middle)].astype(float) ** 2))
    return float(products[best] / (energy * norm))


@pytest.mark.parametrize("audio_format", [AudioFormat.FLAC, AudioFormat.WAV])
@pytest.mark.parametrize("rate", [8_000, 24_000, 44_100])
def test_lossless_formats_hold_the_samples_of_pcm(
    audio_format: AudioFormat, rate: int, speech_like: Make, decode: Decode
) -> None:
    pcm = to_s16le(speech_like(1.237))
    bare = b"".join(_stream(AudioFormat.PCM, pcm, [4_800], rate))
    decoded, _ = decode(b"".join(_stream(audio_format, pcm, [1_111], rate)))
    assert to_s16le(decoded) == bare
    if rate == RATE:
        assert bare == pcm


def test_a_streamed_wav_is_its_header_and_then_pcm(speech_like: Make) -> None:
    pcm = to_s16le(speech_like(0.5))
    body = b"".join(_stream(AudioFormat.WAV, pcm, [1_200]))
    assert body[44:] == pcm


@pytest.mark.parametrize("audio_format", CONTAINED)
def test_there_is_exactly_one_header(audio_format: AudioFormat, speech_like: Make) -> None:
    body = b"".join(_stream(audio_format, to_s16le(speech_like(2.0)), [2_400]))
    markers = {
        AudioFormat.OPUS: b"OpusHead",
        AudioFormat.FLAC: b"fLaC",
        AudioFormat.WAV: b"RIFF",
    }
    if audio_format in markers:
        assert body.count(markers[audio_format]) == 1
    assert body.count(b"ID3") == 0
    if audio_format is AudioFormat.OPUS:
        assert [page for page in _ogg_flags(body) if page & 2] == [2]
        assert [page & 4 for page in _ogg_flags(body)][-1] == 4


def _ogg_flags(body: bytes) -> list[int]:
    """The flag byte of each Ogg page (RFC 3533, section 6)."""
    flags, at = [], 0
    while at < len(body):
        assert body[at : at + 4] == b"OggS"
        flags.append(body[at + 5])
        segments = body[at + 26]
        at += 27 + segments + sum(body[at + 27 : at + 27 + segments])
    return flags


def test_streamed_mp3_states_no_length(speech_like: Make) -> None:
    body = b"".join(_stream(AudioFormat.MP3, to_s16le(speech_like(3.0)), [2_400]))
    assert b"Xing" not in body
    assert b"Info" not in body


@pytest.mark.parametrize("audio_format", AudioFormat)
def test_bytes_flow_from_the_first_100_ms(audio_format: AudioFormat, speech_like: Make) -> None:
    header_bytes = {AudioFormat.OPUS: 97, AudioFormat.FLAC: 60, AudioFormat.WAV: 44}
    pieces = _stream(audio_format, to_s16le(speech_like(1.0)), [2_400])
    assert len(pieces[0]) > header_bytes.get(audio_format, 0) + 100
    assert all(pieces[:-1])


def test_the_wav_header_leaves_before_any_audio() -> None:
    with StreamEncoder(AudioFormat.WAV, RATE, RATE) as encoder:
        header = encoder.encode(b"")
        assert encoder.encode(b"") == b""
    assert len(header) == 44
    assert header[:4] + header[8:16] + header[36:40] == b"RIFFWAVEfmt data"
    assert struct.unpack("<I", header[4:8]) == struct.unpack("<I", header[40:44]) == (0xFFFFFFFF,)
    assert struct.unpack("<HHIIHH", header[20:36]) == (1, 1, RATE, 2 * RATE, 2, 16)


@pytest.mark.parametrize("audio_format", AudioFormat)
@settings(max_examples=8, deadline=None)
@given(sizes=st.lists(st.integers(1, 7_000), min_size=1, max_size=4).filter(lambda s: sum(s) > 99))
def test_the_bytes_do_not_depend_on_how_the_audio_was_cut(
    audio_format: AudioFormat, sizes: list[int]
) -> None:
    t = np.arange(12_345) / RATE
    pcm = to_s16le((0.4 * np.sin(2 * np.pi * 330 * t)).astype(np.float32))
    rate = 16_000
    whole = b"".join(_stream(audio_format, pcm, [50_000], rate))
    assert b"".join(_stream(audio_format, pcm, sizes, rate)) == whole


@pytest.mark.parametrize("audio_format", [AudioFormat.MP3, AudioFormat.AAC, AudioFormat.OPUS])
def test_every_length_ends_without_a_decoder_error(
    audio_format: AudioFormat, speech_like: Make, decode: Decode
) -> None:
    speech = speech_like(0.4)
    for length in np.linspace(1, len(speech), 20).astype(int):
        decoded, rate = decode(b"".join(_stream(audio_format, to_s16le(speech[:length]), [900])))
        assert len(decoded) >= length * rate // RATE


@pytest.mark.parametrize("audio_format", CONTAINED)
def test_every_rate_of_a_format_works(
    audio_format: AudioFormat, speech_like: Make, decode: Decode
) -> None:
    speech = speech_like(0.5)
    for rate in audio_format.sample_rates:
        decoded, decoded_rate = decode(
            b"".join(_stream(audio_format, to_s16le(speech), [2_400], rate))
        )
        assert decoded_rate == (48_000 if audio_format is AudioFormat.OPUS else rate)
        assert 0.5 <= len(decoded) / decoded_rate <= 0.5 + 2_600 / rate


def test_pcm_passes_untouched_when_the_rates_agree() -> None:
    pcm = np.random.default_rng(3).integers(-32_768, 32_768, 5_000).astype("<i2").tobytes()
    assert b"".join(_stream(AudioFormat.PCM, pcm, [77])) == pcm
    assert to_s16le(from_s16le(pcm)) == pcm


@pytest.mark.parametrize("audio_format", [AudioFormat.MP3, AudioFormat.AAC])
def test_the_decoder_of_these_tests_objects_to_damage(
    audio_format: AudioFormat, speech_like: Make, decode: Decode
) -> None:
    body = bytearray(b"".join(_stream(audio_format, to_s16le(speech_like(1.0)), [2_400])))
    body[len(body) // 2 : len(body) // 2 + 300] = bytes(300)
    with pytest.raises(av.FFmpegError):
        decode(bytes(body))

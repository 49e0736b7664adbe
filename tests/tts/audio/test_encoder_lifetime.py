"""An encoder ends cleanly, however it ends."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tts.audio.encoder import StreamEncoder, encode_all
from tts.audio.errors import (
    InvalidSamples,
    InvalidSetting,
    StreamFinished,
    UnsupportedBitrate,
    UnsupportedSampleRate,
)
from tts.audio.format import AudioFormat
from tts.audio.pcm import to_s16le

RATE = 24_000
PCM = to_s16le((0.3 * np.sin(np.arange(RATE) / 10)).astype(np.float32))


@pytest.mark.parametrize("audio_format", AudioFormat)
def test_closing_early_and_often_is_fine(audio_format: AudioFormat) -> None:
    encoder = StreamEncoder(audio_format, RATE, RATE)
    encoder.encode(PCM)
    encoder.close()
    encoder.close()
    with pytest.raises(StreamFinished):
        encoder.encode(PCM)
    with pytest.raises(StreamFinished):
        encoder.finish()


@pytest.mark.parametrize("audio_format", AudioFormat)
def test_closing_before_any_audio_is_fine(audio_format: AudioFormat) -> None:
    StreamEncoder(audio_format, RATE, 48_000).close()


@pytest.mark.parametrize("audio_format", AudioFormat)
def test_a_stream_without_audio_ends_without_an_error(audio_format: AudioFormat) -> None:
    for stored in (False, True):
        encoder = StreamEncoder(audio_format, RATE, 16_000, stored=stored)
        assert isinstance(encoder.finish(), bytes)


def test_nothing_follows_the_end() -> None:
    encoder = StreamEncoder(AudioFormat.MP3, RATE, RATE)
    encoder.encode(PCM)
    encoder.finish()
    with pytest.raises(StreamFinished):
        encoder.encode(PCM)


def test_an_error_leaves_the_encoder_usable_and_closable() -> None:
    encoder = StreamEncoder(AudioFormat.OPUS, RATE, RATE)
    with pytest.raises(InvalidSamples):
        encoder.encode(b"odd")
    assert encoder.encode(PCM)
    encoder.close()


def test_settings_are_refused_before_anything_is_made() -> None:
    with pytest.raises(UnsupportedSampleRate):
        StreamEncoder(AudioFormat.OPUS, RATE, 44_100)
    with pytest.raises(UnsupportedBitrate):
        StreamEncoder(AudioFormat.WAV, RATE, RATE, bitrate=64_000)
    with pytest.raises(InvalidSetting):
        StreamEncoder(AudioFormat.WAV, 0, RATE)


@pytest.mark.parametrize("audio_format", [AudioFormat.MP3, AudioFormat.AAC, AudioFormat.OPUS])
def test_an_encoder_may_move_from_thread_to_thread(audio_format: AudioFormat) -> None:
    def run(encode: ThreadPoolExecutor | None) -> bytes:
        with StreamEncoder(audio_format, RATE, 16_000) as encoder:
            pieces = []
            for start in range(0, len(PCM), 4_800):
                piece = PCM[start : start + 4_800]
                pieces.append(
                    encode.submit(encoder.encode, piece).result()
                    if encode
                    else encoder.encode(piece)
                )
            return b"".join([*pieces, encoder.finish()])

    # A barrier at start-up makes sure that the pool really has both of its threads.
    barrier = threading.Barrier(2)
    with ThreadPoolExecutor(2, initializer=barrier.wait) as pool:
        list(pool.map(lambda _: None, range(4)))
        assert run(pool) == run(None)


@pytest.mark.parametrize("audio_format", AudioFormat)
def test_encoders_side_by_side_do_not_mix(audio_format: AudioFormat) -> None:
    other = PCM[::-1]
    both = [StreamEncoder(audio_format, RATE, RATE, stored=True) for _ in range(2)]
    for start in range(0, len(PCM), 4_800):
        both[0].encode(PCM[start : start + 4_800])
        both[1].encode(other[start : start + 4_800])
    assert both[0].finish() == encode_all(PCM, audio_format, RATE)
    assert both[1].finish() == encode_all(other, audio_format, RATE)

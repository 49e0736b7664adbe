"""The worker's whole path: joins, speed, gain, limiter, bytes."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tts.audio.errors import InvalidSamples, InvalidSetting, StreamFinished
from tts.audio.limiter import CEILING
from tts.audio.loudness import fixed_gain_db, loudness_lufs
from tts.audio.pcm import from_s16le, to_s16le
from tts.audio.pipeline import PostProcessor

Samples = NDArray[np.float32]
Make = Callable[..., Samples]
RATE = 24_000


def _run(
    segments: list[Samples], size: int = 2_400, speed: float = 1.0, gain_db: float = 0.0
) -> tuple[bytes, PostProcessor]:
    post = PostProcessor(RATE, speed, gain_db)
    parts: list[bytes] = []
    for segment in segments:
        parts += [post.process(segment[at : at + size]) for at in range(0, len(segment), size)]
        parts.append(post.segment_end())
    return b"".join([*parts, post.finish()]), post


def _faded(samples: Samples) -> Samples:
    ramp = np.minimum(1.0, np.arange(len(samples)) / 240)
    return (samples * ramp * ramp[::-1]).astype(np.float32)


def test_plain_speech_comes_out_as_it_went_in(speech_like: Make) -> None:
    speech = _faded(speech_like(1.0))
    pcm, post = _run([speech])
    assert pcm == to_s16le(speech)
    assert post.samples == len(speech)
    assert post.limited == 0
    assert post.peak == pytest.approx(float(np.abs(speech).max()), rel=1e-4)


def test_audio_leaves_within_10_ms(speech_like: Make) -> None:
    post = PostProcessor(RATE, 1.0, 3.0)
    assert len(post.process(speech_like(0.1))) // 2 >= (0.1 - 0.010) * RATE


def test_the_gain_levels_and_the_limiter_holds(speech_like: Make) -> None:
    speech = _faded(speech_like(2.0, level=0.05))
    pcm, post = _run([speech], gain_db=fixed_gain_db(speech, RATE))
    assert loudness_lufs(from_s16le(pcm), RATE) == pytest.approx(-20.0, abs=0.3)
    loud, post = _run([speech], gain_db=40.0)
    assert np.abs(from_s16le(loud)).max() <= CEILING + 1 / 32_768
    assert post.limited > 0
    assert len(loud) == len(pcm)


def test_segments_of_one_voice_stay_at_one_loudness(speech_like: Make) -> None:
    speech = _faded(speech_like(1.0))
    pcm, _ = _run([speech] * 4, gain_db=4.0)
    parts = np.array_split(from_s16le(pcm), 4)
    levels = [loudness_lufs(part, RATE) for part in parts]
    assert max(levels) - min(levels) < 3.0


@pytest.mark.parametrize("speed", [0.25, 0.5, 1.0, 1.25, 2.0, 4.0])
def test_joins_stay_within_150_ms_at_every_speed(speed: float, speech_like: Make) -> None:
    gap = np.zeros(RATE // 2, dtype=np.float32)
    t = np.arange(RATE // 2) / RATE
    voice = _faded((0.3 * np.sin(2 * np.pi * 200 * t)).astype(np.float32))
    pcm, _ = _run([np.concatenate((gap, voice, gap))] * 3, speed=speed)
    quiet = np.abs(from_s16le(pcm)) < 0.003
    edges = np.flatnonzero(np.diff(np.concatenate(([0], quiet.astype(int), [0]))))
    longest = int(np.max(edges[1::2] - edges[::2]))
    assert longest <= 0.150 * RATE


@pytest.mark.parametrize("speed", [0.5, 1.0, 1.7])
def test_position_is_the_border_of_a_segment(speed: float, speech_like: Make) -> None:
    speech = _faded(speech_like(0.5))
    post = PostProcessor(RATE, speed)
    post.process(speech)
    post.segment_end()
    border = post.position
    assert border == pytest.approx(len(speech) / speed, abs=0.011 * RATE)
    assert border - 0.005 * RATE <= post.samples <= border
    post.process(speech)
    post.segment_end()
    post.finish()
    assert post.position == pytest.approx(2 * border, abs=0.02 * RATE)
    assert post.samples == post.position


def test_no_seam_is_louder_than_the_speech_beside_it(tone: Make) -> None:
    cut_off = tone(200, 0.4025)  # ends in the middle of a period
    pcm, _ = _run([cut_off, cut_off, cut_off])
    steps = np.abs(np.diff(from_s16le(pcm)))
    assert steps.max() <= 1.3 * np.abs(np.diff(cut_off)).max()


def test_the_tail_is_quiet_and_whole(speech_like: Make) -> None:
    speech = np.concatenate((_faded(speech_like(0.5)), np.zeros(RATE, dtype=np.float32)))
    pcm, _ = _run([speech])
    tail = from_s16le(pcm)[-RATE // 10 :]
    assert np.sqrt(np.mean(tail**2)) < 10 ** (-50 / 20)
    assert len(pcm) // 2 == pytest.approx(0.65 * RATE, abs=0.01 * RATE)


@settings(max_examples=20, deadline=None)
@given(
    size=st.integers(40, 9_000),
    speed=st.sampled_from([0.5, 1.0, 1.25, 3.0]),
    gain=st.sampled_from([-6.0, 0.0, 12.0]),
)
def test_cuts_leave_no_trace(size: int, speed: float, gain: float) -> None:
    random = np.random.default_rng(11)
    envelope = np.repeat([0.0, 0.5, 0.9, 0.0, 0.0, 0.6, 0.0], 2_000)
    segment = (random.standard_normal(len(envelope)) * envelope * 0.3).astype(np.float32)
    pcm, post = _run([segment, segment], size, speed, gain)
    whole, reference = _run([segment, segment], 100_000, speed, gain)
    assert pcm == whole
    assert (post.peak, post.limited, post.samples) == (
        reference.peak,
        reference.limited,
        reference.samples,
    )
    assert post.samples == len(pcm) // 2


def test_nothing_in_gives_nothing_out() -> None:
    assert _run([])[0] == b""
    assert _run([np.zeros(0, dtype=np.float32)], speed=0.5)[0] == b""


def test_broken_audio_is_refused_and_does_no_harm(speech_like: Make) -> None:
    post = PostProcessor(RATE)
    with pytest.raises(InvalidSamples):
        post.process(np.array([0.1, np.nan], dtype=np.float32))
    speech = _faded(speech_like(0.2))
    assert post.process(speech) + post.segment_end() + post.finish() == to_s16le(speech)


def test_nothing_follows_the_end() -> None:
    post = PostProcessor(RATE)
    post.finish()
    for call in (post.segment_end, post.finish, lambda: post.process(np.zeros(1, np.float32))):
        with pytest.raises(StreamFinished):
            call()


@pytest.mark.parametrize("gain", [61.0, -61.0, float("nan"), float("inf")])
def test_gains_out_of_range_are_refused(gain: float) -> None:
    with pytest.raises(InvalidSetting):
        PostProcessor(RATE, 1.0, gain)

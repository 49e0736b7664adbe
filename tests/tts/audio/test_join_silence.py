"""Silence at joins is bounded; everything else is kept to the sample."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tts.audio.errors import InvalidSetting
from tts.audio.silence import JoinSilence

Samples = NDArray[np.float32]
Make = Callable[..., Samples]
RATE = 24_000
AUDIBLE = np.float32(10.0 ** (-50.0 / 20.0))
"""-50 dBFS, rounded as the samples are: a fade may come down on either side of it."""
MS = RATE // 1_000


def _silence(ms: float) -> Samples:
    return np.zeros(round(ms * MS), dtype=np.float32)


def _voice(ms: float) -> Samples:
    """Audible from its first sample to its last, and soft at both ends."""
    t = np.arange(round(ms * MS))
    wave = np.where(t % 40 < 20, 1.0, -1.0) * np.sin(np.pi * (t + 1) / (len(t) + 1))
    loud: Samples = (np.sign(wave) * np.maximum(0.4 * np.abs(wave), 0.0035)).astype(np.float32)
    return loud


def _join(segments: list[Samples], size: int = 480) -> Samples:
    joins = JoinSilence(RATE)
    parts: list[Samples] = []
    for segment in segments:
        parts += [joins.process(segment[at : at + size]) for at in range(0, len(segment), size)]
        parts.append(joins.segment_end())
    return np.concatenate([*parts, joins.finish()])


def _silent_runs(samples: Samples) -> list[int]:
    """The lengths of the runs of silence: before, between and after."""
    audible = np.flatnonzero(np.abs(samples) >= AUDIBLE)
    borders = np.concatenate(([-1], audible, [len(samples)]))
    gaps = np.diff(borders) - 1
    return [int(gaps[0]), *[int(gap) for gap in gaps[1:-1] if gap], int(gaps[-1])]


def test_long_silence_at_a_join_becomes_150_ms() -> None:
    voice = _voice(300)
    segment = np.concatenate((_silence(300), voice, _silence(400)))
    result = _join([segment, segment])
    assert _silent_runs(result) == [30 * MS, 150 * MS, 150 * MS]
    start = 30 * MS
    np.testing.assert_array_equal(result[start : start + len(voice)], voice)
    start += len(voice) + 150 * MS
    np.testing.assert_array_equal(result[start : start + len(voice)], voice)


@pytest.mark.parametrize(
    ("trailing", "leading", "joined"),
    [(10, 20, 30), (100, 50, 150), (140, 5, 145), (0, 150, 150), (150, 0, 150),
     (20, 500, 150), (500, 10, 150), (149, 149, 150), (1, 1, 2)],
)  # fmt: skip
def test_what_is_short_is_kept_and_what_is_long_is_cut(
    trailing: float, leading: float, joined: float
) -> None:
    first = np.concatenate((_voice(100), _silence(trailing)))
    second = np.concatenate((_silence(leading), _voice(100)))
    result = _join([first, second])
    # The fades at an abrupt end and an abrupt start are silent in part.
    assert _silent_runs(result)[1] == pytest.approx(joined * MS, abs=5 * MS)
    assert _silent_runs(result)[1] <= 150 * MS


def test_silence_inside_a_segment_is_kept_to_the_sample() -> None:
    segment = np.concatenate(
        (_silence(5), _voice(100), _silence(2_000), _voice(100), _silence(160), _voice(50),
         _silence(20))
    )  # fmt: skip
    np.testing.assert_array_equal(_join([segment]), segment)


def test_audible_audio_leaves_at_once_and_uncut() -> None:
    joins = JoinSilence(RATE)
    voice = _voice(200)
    assert len(joins.process(_silence(100))) == 0
    out = joins.process(voice[:240])
    np.testing.assert_array_equal(out[-240:], voice[:240])
    for at in range(240, len(voice), 240):
        np.testing.assert_array_equal(joins.process(voice[at : at + 240]), voice[at : at + 240])


def test_silence_that_is_sure_to_stay_is_not_held() -> None:
    joins = JoinSilence(RATE)
    joins.process(_voice(50))
    assert len(joins.process(_silence(100))) == 100 * MS


def test_a_soft_onset_and_a_soft_decay_survive() -> None:
    breath = np.full(20 * MS, 0.002, dtype=np.float32)  # -54 dBFS, below the threshold
    first = np.concatenate((_voice(100), breath, _silence(400)))
    second = np.concatenate((_silence(400), breath, _voice(100)))
    result = _join([first, second])
    assert np.count_nonzero(result == np.float32(0.002)) == 2 * len(breath)


def test_cutting_noise_below_the_threshold_makes_no_step() -> None:
    noise = np.full(500 * MS, 0.003, dtype=np.float32)
    other = -noise
    result = _join([np.concatenate((_voice(100), noise)), np.concatenate((other, _voice(100)))])
    seam = result[104 * MS : 248 * MS]
    assert np.abs(np.diff(seam)).max() < 0.0005


@pytest.mark.parametrize("level", [0.1, -0.6])
def test_an_abrupt_end_and_an_abrupt_start_are_faded(level: float) -> None:
    held = np.full(100 * MS, level, dtype=np.float32)
    result = _join([held, held])
    assert np.abs(np.diff(result, prepend=0.0, append=0.0)).max() < 0.05 * abs(level)
    assert np.count_nonzero(result == held[0]) >= 2 * len(held)
    assert len(result) <= 2 * (len(held) + 7 * MS)


def test_segments_without_sound_add_nothing() -> None:
    voice = np.concatenate((_silence(10), _voice(100), _silence(100)))
    result = _join([voice, _silence(1_000), _silence(0), voice])
    assert _silent_runs(result)[1] == 150 * MS
    assert _silent_runs(_join([voice, _silence(900)]))[-1] == 150 * MS


def test_a_stream_of_silence_stays_short() -> None:
    assert len(_join([_silence(2_000)])) == 150 * MS
    assert len(_join([_silence(20)])) == 20 * MS
    assert len(_join([])) == 0


def test_bounds_hold_for_the_caller_s_own_numbers() -> None:
    joins = JoinSilence(RATE, max_join_ms=60, max_lead_ms=0, max_trail_ms=40)
    segment = np.concatenate((_silence(200), _voice(50), _silence(200)))
    parts = []
    for _ in range(2):
        parts += [joins.process(segment), joins.segment_end()]
    runs = _silent_runs(np.concatenate([*parts, joins.finish()]))
    assert runs == [0, 60 * MS, 40 * MS]


pieces = st.lists(
    st.tuples(st.sampled_from(["voice", "silence", "noise"]), st.integers(1, 260)), max_size=5
)


@settings(max_examples=80, deadline=None)
@given(segments=st.lists(pieces, max_size=4), size=st.integers(1, 9_000))
def test_cuts_leave_no_trace_and_bounds_hold(
    segments: list[list[tuple[str, int]]], size: int
) -> None:
    made: dict[str, Callable[[int], Samples]] = {
        "voice": _voice,
        "silence": _silence,
        "noise": lambda ms: np.tile(np.array([0.002, -0.003], dtype=np.float32), ms * MS // 2),
    }
    audio = [
        np.concatenate([_silence(0), *(made[kind](ms) for kind, ms in parts)]) for parts in segments
    ]
    result = _join(audio, max(size, 50))
    np.testing.assert_array_equal(result, _join(audio, 1_000_000))
    voiced = [segment for segment in audio if np.abs(segment).max(initial=0) >= AUDIBLE]
    if not voiced:
        assert len(result) <= 150 * MS
        return
    runs = _silent_runs(result)
    assert runs[0] <= 30 * MS
    assert runs[-1] <= 150 * MS
    inner = [gap for segment in voiced for gap in _silent_runs(segment)[1:-1]]
    assert sum(gap > 150 * MS for gap in runs[1:-1]) == sum(gap > 150 * MS for gap in inner)
    # What lies between a segment's first and last audible sample is there, whole and in order.
    at = 0
    raw = result.tobytes()
    for segment in voiced:
        heard = np.flatnonzero(np.abs(segment) >= AUDIBLE)
        body = segment[heard[0] : heard[-1] + 1].tobytes()
        at = raw.find(body, at)
        assert at >= 0
        at += len(body)


def test_impossible_bounds_are_refused() -> None:
    with pytest.raises(InvalidSetting):
        JoinSilence(RATE, max_join_ms=10)
    with pytest.raises(InvalidSetting):
        JoinSilence(0)

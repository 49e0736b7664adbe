"""Injected faults are found and measured, and the clean take is preferred."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tts.audio.errors import InvalidSamples, InvalidSetting
from tts.audio.faults import Fault, TakeFaults, faults, rank
from tts.audio.pcm import Samples

RATE = 24_000


def babble(syllables: int = 18, seed: int = 3) -> Samples:
    """Syllables of a consonant and a vowel, each of its own colour, a pause at each 6th."""
    random, pieces = np.random.default_rng(seed), list[Samples]()
    for index in range(syllables):
        for sound, loudness, seconds in ((hiss, 0.06, (0.03, 0.14)), (vowel, 0.25, (0.07, 0.25))):
            count = int(RATE * random.uniform(*seconds))
            samples = sound(random, count) * np.hanning(count)
            samples *= loudness * random.uniform(0.3, 1.0) / np.abs(samples).max()
            pieces.append(samples.astype(np.float32))
        pieces.append(silence(0.25 if index % 6 == 5 else random.uniform(0, 0.03)))
    return np.concatenate(pieces)


def hiss(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Noise around a frequency."""
    centre, width = random.uniform(500, 9_000), random.uniform(300, 2_500)
    spectrum = np.fft.rfft(random.standard_normal(count))
    shape = np.exp(-(((np.fft.rfftfreq(count, 1 / RATE) - centre) / width) ** 2))
    return np.fft.irfft(spectrum * shape, count)


def vowel(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Harmonics of a pitch with three formants."""
    pitch = random.uniform(100, 180)
    harmonics = pitch * np.arange(1, int(8_000 / pitch))
    gains = np.zeros(len(harmonics))
    for lowest, highest, width, least, most in (
        (250, 900, 90, 1.0, 1.0),
        (900, 2_600, 140, 0.2, 1.0),
        (2_700, 6_000, 300, 0.03, 0.4),
    ):
        distance = (harmonics - random.uniform(lowest, highest)) / width
        gains += random.uniform(least, most) / (1 + distance**2)
    phases = 2 * np.pi * np.outer(np.arange(count) / RATE, harmonics)
    waves: NDArray[np.float64] = np.sin(phases + random.uniform(0, 6, len(harmonics))) @ gains
    return waves


def silence(seconds: float) -> Samples:
    return np.zeros(int(RATE * seconds), np.float32)


CLEAN = babble()
SECONDS = len(CLEAN) / RATE


def joined(*pieces: Samples) -> Samples:
    return np.concatenate(pieces)


def noise(samples: Samples, level: float) -> Samples:
    random = np.random.default_rng(5)
    return (samples + level * random.standard_normal(len(samples))).astype(np.float32)


HALF = len(CLEAN) // 2
FAULTY: dict[Fault, Callable[[], Samples]] = {
    Fault.TOO_SHORT: lambda: CLEAN[: len(CLEAN) // 3],
    Fault.TOO_LONG: lambda: joined(CLEAN, babble(40, seed=9)),
    Fault.LEADING_SILENCE: lambda: joined(silence(1.5), CLEAN),
    Fault.INNER_SILENCE: lambda: joined(CLEAN[:HALF], silence(2.5), CLEAN[HALF:]),
    Fault.TRAILING_SILENCE: lambda: joined(CLEAN, silence(2.5)),
    Fault.CLIPPING: lambda: np.clip(12 * CLEAN, -1, 1),
    Fault.REPETITION: lambda: joined(CLEAN[:HALF], CLEAN[HALF // 2 : HALF], CLEAN[:HALF]),
    Fault.NOISE: lambda: noise(CLEAN * 0, 0.1),
}


def test_clean_take() -> None:
    take = faults(CLEAN, RATE, SECONDS)
    assert take.score == 0.0
    assert take.found == ()


@pytest.mark.parametrize("fault", Fault)
def test_fault_is_found(fault: Fault) -> None:
    take = faults(FAULTY[fault](), RATE, SECONDS)
    assert fault in take.found
    assert take.score >= take.severities[fault] >= 1.0


@pytest.mark.parametrize("fault", Fault)
def test_clean_take_is_preferred(fault: Fault) -> None:
    takes = [faults(FAULTY[fault](), RATE, SECONDS), faults(CLEAN, RATE, SECONDS)]
    assert rank(takes) == [1, 0]


def test_measures_are_in_seconds() -> None:
    samples = joined(silence(0.8), CLEAN[:HALF], silence(1.2), CLEAN[HALF:], silence(0.6))
    take = faults(samples, RATE, SECONDS)
    clean = faults(CLEAN, RATE, SECONDS)
    assert take.leading_silence == pytest.approx(0.8 + clean.leading_silence, abs=0.05)
    assert take.inner_silence == pytest.approx(1.2, abs=0.1)
    assert take.trailing_silence == pytest.approx(0.6 + clean.trailing_silence, abs=0.05)
    assert take.length == pytest.approx(np.log((SECONDS + 1.2) / SECONDS), abs=0.1)


def test_clipping_is_a_share_of_flat_tops() -> None:
    samples = np.full(1_000, 0.5, np.float32)
    samples[100:110] = 1.0
    samples[200:202] = -1.0
    assert faults(samples, RATE, 1.0).clipping == pytest.approx(0.01)


def test_white_noise_has_its_flatness() -> None:
    # The expectation of exp(mean(ln X)) / mean(X) for an exponential X: exp(-Euler's constant).
    take = faults(noise(silence(4), 0.1), RATE, 4.0)
    assert take.noise == pytest.approx(np.exp(-np.euler_gamma), abs=0.02)


def test_held_sound_counts_as_repetition() -> None:
    time = np.arange(3 * RATE) / RATE
    harmonics = np.arange(1, 20)[:, None]
    held = 0.2 * np.sum(np.sin(2 * np.pi * 140 * harmonics * time) / harmonics**2, axis=0)
    take = faults(joined(CLEAN, held.astype(np.float32)), RATE, SECONDS + 3)
    assert Fault.REPETITION in take.found


@pytest.mark.parametrize(
    "samples", [silence(0), silence(0.01), silence(3), noise(silence(3), 1e-5)]
)
def test_silent_take_is_worst(samples: Samples) -> None:
    take = faults(samples, RATE, SECONDS)
    assert take.found[0] is Fault.TOO_SHORT
    others = [faults(build(), RATE, SECONDS) for build in FAULTY.values()]
    worst = rank([take, faults(CLEAN, RATE, SECONDS), others[0]])[-1]
    assert worst == 0


def test_rate_changes_little() -> None:
    half = faults(CLEAN[::2].copy(), RATE // 2, SECONDS)
    assert half.score == 0.0
    assert half.length == pytest.approx(faults(CLEAN, RATE, SECONDS).length, abs=0.02)


def test_loudness_changes_nothing() -> None:
    repeated = FAULTY[Fault.REPETITION]()
    loud, quiet = faults(repeated, RATE, 3.0), faults(0.5 * repeated, RATE, 3.0)
    assert quiet.repetition == pytest.approx(loud.repetition, abs=0.05)
    assert quiet.noise == pytest.approx(loud.noise, abs=0.01)


takes = st.builds(
    TakeFaults,
    st.floats(-4, 4),
    *[st.floats(0, 5)] * 3,
    *[st.floats(0, 1)] * 3,
)


@given(st.lists(takes, max_size=8))
def test_rank_orders_by_score(some: list[TakeFaults]) -> None:
    order = rank(some)
    assert sorted(order) == list(range(len(some)))
    scores = [some[index].score for index in order]
    assert scores == sorted(scores)
    assert all(score >= 0 for score in scores)


def test_equals_keep_their_order() -> None:
    take = faults(CLEAN, RATE, SECONDS)
    assert rank([take, take, take]) == [0, 1, 2]


def test_of_faultless_takes_the_nearest_length_is_first() -> None:
    long, exact = faults(CLEAN, RATE, SECONDS * 0.85), faults(CLEAN, RATE, SECONDS)
    assert long.score == exact.score == 0.0
    assert rank([long, exact]) == [1, 0]


@pytest.mark.parametrize(("rate", "expected"), [(4_000, 1.0), (RATE, 0.0), (RATE, float("nan"))])
def test_settings_are_checked(rate: int, expected: float) -> None:
    with pytest.raises(InvalidSetting, match="at least 8000 Hz"):
        faults(CLEAN, rate, expected)


def test_samples_are_checked() -> None:
    with pytest.raises(InvalidSamples, match="not finite"):
        faults(np.full(RATE, np.nan, np.float32), RATE, 1.0)

"""Sampling is ChatTTS', row by row, and reproducible."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tts.engines.chattts import EOS
from tts.engines.chattts.audio_library import audio_library
from tts.engines.chattts.backend import Floats, Ints
from tts.engines.chattts.random_stream import RandomStream, StreamKey
from tts.engines.chattts.sampler import Candidates, Sampler, Sampling, SamplingInvalid

BOOKS, VOCABULARY, SLOTS = 4, 626, 16
SAMPLINGS = [
    Sampling(),
    Sampling(temperature=0.7, top_p=0.9, top_k=50, repetition_penalty=1.3),
    Sampling(temperature=2.0, top_p=1.0, top_k=None, repetition_penalty=0.8),
    Sampling(temperature=1.0, top_p=0.0, top_k=1, repetition_penalty=1.0),
    Sampling(temperature=1.0, top_p=0.5, top_k=None),
]


@pytest.fixture(scope="module")
def original() -> Any:
    """ChatTTS' own maker of logits processors."""
    with audio_library():
        from ChatTTS.model import processors
    return processors.gen_logits


def logits_random(seed: int, rows: int = 1, books: int = BOOKS, size: int = VOCABULARY) -> Floats:
    random = np.random.default_rng(seed)
    return random.standard_normal((rows, books, size), dtype=np.float32) * 3


def sampler_make(slots: int = SLOTS) -> Sampler:
    return Sampler(slots, BOOKS, VOCABULARY, EOS)


def original_probabilities(
    gen_logits: Any, sampling: Sampling, logits: Floats, tokens: Ints, banned: bool
) -> Floats:
    """What `GPT.generate` draws from after `tokens` (steps, codebooks)."""
    warpers, processors = gen_logits(
        num_code=VOCABULARY - 1,
        top_P=sampling.top_p,
        top_K=sampling.top_k,
        repetition_penalty=sampling.repetition_penalty,
    )
    scores = torch.from_numpy(logits) / sampling.temperature
    past = torch.from_numpy(np.ascontiguousarray(tokens.T)).long()
    for process in (*processors, *warpers):
        scores = process(past, scores)
    if banned:
        scores[:, EOS] = -torch.inf
    result: Floats = scores.softmax(-1).numpy()
    return result


def probabilities(sampler: Sampler, logits: Floats, slot: int) -> Floats:
    return dense_probabilities(sampler.candidates(logits, np.array([slot], np.int32)))


def dense_probabilities(found: Candidates) -> Floats:
    dense = np.zeros((len(found.tokens), VOCABULARY), np.float32)
    for book, (tokens, weights) in enumerate(zip(found.tokens, found.weights, strict=True)):
        dense[book, tokens[weights > 0]] = weights[weights > 0] / weights.sum()
    return dense


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=str)
def test_distributions_are_those_of_chattts(original: Any, sampling: Sampling) -> None:
    sampler = sampler_make()
    sampler.start(3, sampling, StreamKey(1), least=5)
    past = np.zeros((0, BOOKS), np.int32)
    for step in range(24):
        logits = logits_random(step)
        logits[0, :, EOS] += 6.0  # often among the best, so that the ban matters
        expected = original_probabilities(original, sampling, logits[0], past, step < 5)
        np.testing.assert_allclose(probabilities(sampler, logits, 3), expected, atol=1e-6)
        past = np.concatenate([past, sampler.sample(logits, np.array([3], np.int32))])


def test_repeated_tokens_are_penalised_as_often_as_they_came(original: Any) -> None:
    sampling = Sampling(temperature=1.0, top_p=1.0, top_k=None, repetition_penalty=1.1)
    sampler = sampler_make()
    sampler.start(0, sampling, StreamKey(1))
    past = np.zeros((0, BOOKS), np.int32)
    for step in range(20):
        peaked = logits_random(0)
        peaked[0, :, step % 3] += 60.0
        past = np.concatenate([past, sampler.sample(peaked, np.zeros(1, np.int32))])
    assert set(past.flat) == {0, 1, 2}
    logits = logits_random(1)
    expected = original_probabilities(original, sampling, logits[0], past, banned=False)
    np.testing.assert_allclose(probabilities(sampler, logits, 0), expected, atol=1e-6)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=1.0, top_p=0.9, top_k=5, repetition_penalty=1.0),
        Sampling(temperature=2.0, top_p=0.8, top_k=None, repetition_penalty=1.0),
        Sampling(temperature=0.3, top_p=1.0, top_k=20, repetition_penalty=1.0),
    ],
    ids=str,
)
def test_tokens_are_drawn_as_often_as_their_probability_says(sampling: Sampling) -> None:
    sampler, logits, draws = sampler_make(), logits_random(4) / np.float32(3), 2_500
    counts = np.zeros((BOOKS, VOCABULARY))
    for seed in range(draws):
        sampler.start(0, sampling, StreamKey(seed))
        counts[np.arange(BOOKS), sampler.sample(logits, np.zeros(1, np.int32))[0]] += 1
    sampler.start(0, sampling, StreamKey(0))
    expected = draws * probabilities(sampler, logits, 0).astype(np.float64)
    assert not counts[expected == 0].any()
    for book in range(BOOKS):
        assert chi_square(counts[book], expected[book]) < 4.0


def chi_square(counts: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
    """Pearson's statistic in standard deviations of its distribution; rare tokens together."""
    often = expected >= 5
    found = np.append(counts[often], counts[~often].sum())
    wanted = np.append(expected[often], expected[~often].sum())
    found, wanted = found[wanted > 0], wanted[wanted > 0]
    degrees = max(1, len(wanted) - 1)
    statistic = ((found - wanted) ** 2 / wanted).sum()
    return float((statistic - degrees) / np.sqrt(2 * degrees))


def test_rows_of_one_step_have_parameters_of_their_own(original: Any) -> None:
    sampler, slots = sampler_make(), np.arange(len(SAMPLINGS), dtype=np.int32)[::-1].copy()
    for slot, sampling in zip(slots, SAMPLINGS, strict=True):
        sampler.start(int(slot), sampling, StreamKey(int(slot)), least=3 * int(slot))
    past = np.zeros((0, len(SAMPLINGS), BOOKS), np.int32)
    for step in range(20):
        logits = logits_random(step, len(SAMPLINGS))
        logits[:, :, EOS] += 6.0
        found = sampler.candidates(logits, slots)
        for row, (sampling, slot) in enumerate(zip(SAMPLINGS, slots, strict=True)):
            books = slice(row * BOOKS, (row + 1) * BOOKS)
            dense = dense_probabilities(Candidates(found.tokens[books], found.weights[books]))
            banned = step < 3 * slot
            expected = original_probabilities(original, sampling, logits[row], past[:, row], banned)
            np.testing.assert_allclose(dense, expected, atol=1e-6)
        past = np.concatenate([past, sampler.sample(logits, slots)[None]])


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_a_row_chooses_the_same_beside_any_others(seed: int) -> None:
    random = np.random.default_rng(seed)
    steps, count = 20, int(random.integers(1, SLOTS + 1))
    slots = random.permutation(SLOTS)[:count].astype(np.int32)
    rows = [
        (SAMPLINGS[random.integers(len(SAMPLINGS))], StreamKey(seed, row)) for row in range(count)
    ]
    logits = [logits_random(seed % 1000 + row, steps) for row in range(count)]
    beside, done = sampler_make(), np.zeros(count, int)
    chosen: list[list[Ints]] = [[] for _ in rows]
    for slot, (sampling, key) in zip(slots, rows, strict=True):
        beside.start(slot, sampling, key)
    while done.min() < steps:
        some = [
            row for row in random.permutation(count) if done[row] < steps and random.random() < 0.7
        ]
        if not some:
            continue
        scores = np.stack([logits[row][done[row]] for row in some])
        for row, tokens in zip(some, beside.sample(scores, slots[some]), strict=True):
            chosen[row].append(tokens)
            done[row] += 1
    for row, (sampling, key) in enumerate(rows):
        alone = sampler_make(1)
        alone.start(0, sampling, key)
        for step in range(steps):
            expected = alone.sample(logits[row][step : step + 1], np.zeros(1, np.int32))[0]
            np.testing.assert_array_equal(chosen[row][step], expected)


def test_seed_segment_and_attempt_each_give_other_numbers() -> None:
    def spoken(key: StreamKey) -> bytes:
        sampler = sampler_make()
        sampler.start(0, Sampling(temperature=5.0, top_p=1.0, top_k=None), key)
        chosen = [sampler.sample(logits_random(step), np.zeros(1, np.int32)) for step in range(8)]
        return np.concatenate(chosen).tobytes()

    keys = [StreamKey(7), StreamKey(8), StreamKey(7, 1), StreamKey(7, 0, 1), StreamKey(7, 1, 1)]
    assert len({spoken(key) for key in keys}) == len(keys)
    assert spoken(StreamKey(7, 1).retried(1)) == spoken(keys[-1])


def test_a_slot_begun_again_forgets_its_last_row() -> None:
    used, fresh, zeros = sampler_make(), sampler_make(), np.zeros(1, np.int32)
    used.start(0, SAMPLINGS[1], StreamKey(1))
    for step in range(20):
        used.sample(logits_random(step), zeros)
    for sampler in (used, fresh):
        sampler.start(0, SAMPLINGS[0], StreamKey(2))
    for step in range(20):
        logits = logits_random(step)
        np.testing.assert_array_equal(used.sample(logits, zeros), fresh.sample(logits, zeros))


def test_text_tokens_are_sampled_by_the_same_class() -> None:
    size, end = 21_178, 21_100
    sampler = Sampler(2, 1, size, end)
    sampler.start(1, Sampling(temperature=0.7, repetition_penalty=1.0), StreamKey(3), least=1)
    logits = logits_random(0, books=1, size=size)
    logits[..., end] = 100.0
    logits[..., 17] = 90.0
    slot = np.array([1], np.int32)
    assert [sampler.sample(logits, slot).tolist() for _ in range(2)] == [[[17]], [[end]]]


@pytest.mark.parametrize("steps", [0, 3])
def test_a_cleared_slot_samples_nothing(steps: int) -> None:
    sampler = sampler_make()
    sampler.start(0, Sampling(), StreamKey(1))
    for step in range(steps):
        sampler.sample(logits_random(step), np.zeros(1, np.int32))
    sampler.clear(0)
    with pytest.raises(ValueError, match="no row has begun in slot 0"):
        sampler.sample(logits_random(0), np.zeros(1, np.int32))


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"temperature": 0.0}, "temperature must be from 0.01 to 10.0, got 0.0"),
        ({"temperature": float("nan")}, "temperature must be"),
        ({"top_p": 1.1}, "top_p must be from 0.0 to 1.0"),
        ({"top_k": 0}, "top_k must be at least 1, or none, got 0"),
        ({"repetition_penalty": -1.0}, "repetition_penalty must be from 0.1 to 10.0"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters: dict[str, float], complaint: str) -> None:
    with pytest.raises(SamplingInvalid, match=complaint):
        Sampling(**parameters)  # type: ignore[arg-type]  # wrong values are the point


@pytest.mark.parametrize("count", [1, 3, 4, 6])
def test_numbers_are_the_same_however_many_steps_are_drawn_together(count: int) -> None:
    together, one_by_one = RandomStream(StreamKey(9)), RandomStream(StreamKey(9))
    steps = np.concatenate([together.draw(count, 5), together.draw(count, 2)])
    np.testing.assert_array_equal(steps, np.concatenate([one_by_one.draw(count) for _ in range(7)]))
    assert steps.shape == (7, count)
    assert ((steps >= 0) & (steps < 1)).all()


@pytest.mark.parametrize("field", ["seed", "segment", "attempt"])
def test_keys_beyond_their_words_are_refused(field: str) -> None:
    for value in (-1, 2**64):
        with pytest.raises(ValueError, match=f"{field} must be from 0 to"):
            StreamKey(**{"seed": 0, field: value})

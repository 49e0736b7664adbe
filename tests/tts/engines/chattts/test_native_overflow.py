"""A row whose numbers overflow gives none, and no other slot notices."""

import pytest

from tests.tts.engines.chattts.looping import EMBEDDINGS, loop_make, run, spoken
from tests.tts.engines.chattts.native_reference import (
    TINY,
    inputs_random,
    native_backend,
)
from tests.tts.engines.chattts.row_overflow import (
    SLOTS,
    SPOILS,
    Spoil,
    overflow_check,
    weights_loud,
)
from tts.engines.chattts.backend import CacheShape, Floats, Precision
from tts.engines.chattts.generation import Generation, NotFinite, Prompt
from tts.engines.chattts.loop import StepLoop
from tts.engines.chattts.native.declarations import InstructionSet
from tts.engines.chattts.random_stream import StreamKey
from tts.engines.chattts.weights import Embeddings

SETS = [InstructionSet.AVX2, InstructionSet.AVX512]


@pytest.mark.parametrize("wanted", SETS)
@pytest.mark.parametrize("precision", Precision)
@pytest.mark.parametrize("spoil", SPOILS)
def test_an_overflow_is_its_own_row_s_alone(
    spoil: Spoil, precision: Precision, wanted: InstructionSet
) -> None:
    backend = native_backend(precision, wanted=wanted, threads=2, weights=weights_loud())
    overflow_check(backend, spoil)


@pytest.mark.parametrize("precision", Precision)
def test_the_loop_ends_that_row_alone(precision: Precision) -> None:
    tables = Embeddings(EMBEDDINGS.text.copy(), EMBEDDINGS.audio.copy())
    tables.text[:, 0] = tables.audio[:, :, 0] = 0
    speaker = inputs_random(TINY, 1)[0]
    speaker[0] = 0
    loud = speaker.copy()
    loud[0] = 1

    def generation(seed: int, vector: Floats) -> Generation:
        return Generation(Prompt((1, 2, 3), 1, vector), StreamKey(seed), 5, min_tokens=5)

    def loop() -> StepLoop:
        backend = native_backend(precision, weights=weights_loud(), cache=CacheShape(3, 64))
        return loop_make(backend, embeddings=tables)

    together = loop()
    rows = [
        together.join(generation(seed, loud if seed == 1 else speaker)) for seed in range(SLOTS)
    ]
    steps = run(together, rows)
    (only,) = steps[rows[1]]
    assert isinstance(only.error, NotFinite)
    for seed in (0, 2):
        alone = loop()
        row = alone.join(generation(seed, speaker))
        assert spoken(steps[rows[seed]]) == spoken(run(alone, [row])[row])
    assert together.free_slots == SLOTS

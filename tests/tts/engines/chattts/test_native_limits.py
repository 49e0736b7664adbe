"""What a version's configuration may hold is what our C++ computes with: neither less nor more."""

import re
from collections.abc import Callable

import pytest

from tests.tts.engines.chattts.native_reference import TINY, native_require, weights_random
from tts.engines.chattts import config_json
from tts.engines.chattts.backend import Precision
from tts.engines.chattts.native.binding import library
from tts.engines.chattts.native.declarations import InstructionSet, Shape
from tts.engines.chattts.native.packed import PackedWeights

RANGES = {
    "layers": (1, config_json.LAYERS_MOST),
    "hidden": (config_json.HEAD_STEP, config_json.HIDDEN_MOST),
    "intermediate": (1, config_json.INTERMEDIATE_MOST),
    "outputs": (1, config_json.OUTPUTS_MOST),
}
"""By field of the library's shape."""


def refusal(**changes: float) -> str:
    """What the library says of a good shape with these changes; it allocates nothing for it."""
    native_require(Precision.FP32)
    good = {
        "layers": 1, "hidden": 64, "heads": 4, "intermediate": 160, "outputs": 160,
        "norm_epsilon": 1e-6, "rope_theta": 10_000.0,
    }  # fmt: skip
    shape = Shape(**{**good, **changes})
    return refused(
        lambda: library().weights_create(
            shape, Precision.FP32, InstructionSet.BEST, range(1), output=True
        )
    )


def refused(create: Callable[[], int]) -> str:
    with pytest.raises(ValueError, match=r"allowed are|must be") as caught:
        create()
    return str(caught.value)


def numbers(said: str) -> list[int]:
    """The whole numbers in what is allowed."""
    return [int(found) for found in re.findall(r"\d+", re.split(r"allowed are|must be", said)[1])]


@pytest.mark.parametrize("field", RANGES)
def test_sizes_have_the_library_s_range(field: str) -> None:
    assert tuple(numbers(refusal(**{field: 0}))) == RANGES[field]


def test_heads_have_the_library_s_sizes() -> None:
    step, most = config_json.HEAD_STEP, config_json.HEAD_MOST
    # A size that is no multiple, and the first multiple that is too large.
    assert numbers(refusal(hidden=step + step // 2, heads=1)) == [step]
    assert numbers(refusal(hidden=most + step, heads=1)) == [step, most]


def test_epsilon_and_theta_have_the_library_s_bounds() -> None:
    below, least = config_json.EPSILON_BELOW, config_json.THETA_LEAST
    assert numbers(refusal(norm_epsilon=below)) == [0, below]
    assert numbers(refusal(rope_theta=least / 2)) == [least]


def test_positions_have_the_library_s_range() -> None:
    native_require(Precision.FP32)
    packed = PackedWeights.of(weights_random(), TINY, Precision.FP32)
    said = refused(lambda: library().decoder_create(packed.handle, Precision.FP32, 1, 0, 1))
    assert numbers(said) == [1, config_json.POSITIONS_MOST]

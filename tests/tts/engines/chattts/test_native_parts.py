"""A model's packed weights in parts: the same as the whole, and shared by models that have them."""

import gc

import numpy as np
import pytest

from tests.tts.engines.chattts.native_reference import CACHE, native_require, weights_random
from tests.tts.engines.chattts.native_reference import UNEVEN as CONFIG
from tts.engines.chattts.backend import GptWeights, Precision
from tts.engines.chattts.native.backend import NativeBackend
from tts.engines.chattts.native.packed import PackedPart, PackedWeights

SEQUENCE = 5


@pytest.fixture(scope="module", autouse=True)
def native() -> None:
    native_require(Precision.FP32)


@pytest.fixture(scope="module")
def weights() -> GptWeights:
    return weights_random(CONFIG)


@pytest.mark.parametrize("precision", Precision)
def test_parts_compute_what_the_whole_does(weights: GptWeights, precision: Precision) -> None:
    whole = PackedWeights.of(weights, CONFIG, precision)
    parts = PackedWeights([_output(weights, precision), *_layers(weights, precision)])

    expected, found = _computed(whole, precision), _computed(parts, precision)

    assert all(np.array_equal(*pair) for pair in zip(expected, found, strict=True))


def test_models_that_differ_in_a_layer_share_the_others(weights: GptWeights) -> None:
    first, second = _layers(weights, Precision.INT8)
    output = _output(weights, Precision.INT8)
    other = PackedPart(
        CONFIG, Precision.INT8, first=1, layers=[weights.layers[0]]
    )  # in place of the second
    old, new = (PackedWeights([first, layer, output]) for layer in (second, other))

    assert old.bytes == new.bytes == first.bytes + second.bytes + output.bytes
    assert not np.array_equal(_computed(old)[0], _computed(new)[0])


def test_parts_stay_as_long_as_what_is_joined_of_them(weights: GptWeights) -> None:
    joined = PackedWeights([*_layers(weights), _output(weights)])
    backend = NativeBackend(joined, CONFIG, CACHE, Precision.FP32, 1)
    expected = _computed(joined)[0]
    del joined
    gc.collect()

    assert np.array_equal(_run(backend)[0], expected)
    backend.close()


def test_a_model_must_be_whole(weights: GptWeights) -> None:
    first, second = _layers(weights)
    output = _output(weights)
    for parts in ([first, second], [first, output]):
        with pytest.raises(ValueError, match="have not been given"):
            NativeBackend(PackedWeights(parts), CONFIG, CACHE, Precision.FP32, 1)
    with pytest.raises(ValueError, match="two parts have the same layer"):
        PackedWeights([first, first, second, output])
    with pytest.raises(ValueError, match="no parts"):
        PackedWeights([])
    with pytest.raises(ValueError, match="several configurations or precisions"):
        PackedWeights([first, _output(weights, Precision.BF16)])


def test_parts_are_of_layers_that_the_model_has(weights: GptWeights) -> None:
    with pytest.raises(ValueError, match="layers is 2, allowed are 0 to 1"):
        PackedPart(CONFIG, Precision.FP32, first=1, layers=weights.layers)
    with pytest.raises(ValueError, match="first layer is 3, allowed are 0 to 2"):
        PackedPart(CONFIG, Precision.FP32, first=3, layers=weights.layers[:1])
    with pytest.raises(ValueError, match="a part has layers or the output"):
        PackedPart(CONFIG, Precision.FP32)


def _layers(weights: GptWeights, precision: Precision = Precision.FP32) -> list[PackedPart]:
    return [
        PackedPart(CONFIG, precision, first=index, layers=[layer])
        for index, layer in enumerate(weights.layers)
    ]


def _output(weights: GptWeights, precision: Precision = Precision.FP32) -> PackedPart:
    return PackedPart(CONFIG, precision, output=(weights.norm, weights.heads))


def _computed(
    packed: PackedWeights, precision: Precision | None = None
) -> tuple[np.ndarray, np.ndarray]:
    backend = NativeBackend(packed, CONFIG, CACHE, precision or packed.precision, 1)
    try:
        return _run(backend)
    finally:
        backend.close()


def _run(backend: NativeBackend) -> tuple[np.ndarray, np.ndarray]:
    inputs = np.random.default_rng(0).standard_normal((SEQUENCE, CONFIG.hidden)).astype(np.float32)
    positions = np.arange(SEQUENCE, dtype=np.int32)
    return backend.forward(inputs, np.zeros(SEQUENCE, np.int32), positions, SEQUENCE)

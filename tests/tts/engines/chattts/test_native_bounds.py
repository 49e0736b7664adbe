"""Everything that is out of range is refused with a reason, and changes nothing."""

import dataclasses
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

from tests.tts.engines.chattts.native_reference import (
    CACHE,
    TINY,
    inputs_random,
    native_backend,
    sequence_run,
    weights_random,
)
from tts.engines.chattts.backend import CacheShape, Floats, Ints, Precision
from tts.engines.chattts.native.backend import NativeBackend
from tts.engines.chattts.native.packed import PackedWeights


def row(*values: int) -> Ints:
    return np.array(values, np.int32)


@pytest.mark.parametrize(
    ("slots", "positions", "heads", "said"),
    [
        (row(0, 4), row(0, 0), 0, "slot is 4, allowed are 0 to 3"),
        (row(-1, 0), row(0, 0), 0, "slot is -1"),
        (row(0, 1), row(0, 96), 0, "position is 96, allowed are 0 to 95"),
        (row(0, 1), row(-1, 0), 0, "position is -1"),
        (row(1, 1), row(5, 5), 0, "position 5 of slot 1 comes twice"),
        (row(0, 1), row(0, 0), 3, "logits of 3 rows, there are 2"),
        (row(0, 1), row(0), 0, "one a row each"),
        (row(0), row(0), 0, "expected"),
        (np.zeros(2, np.int64), row(0, 1), 0, "int32"),
    ],
)
def test_rows_out_of_range_are_refused(slots: Ints, positions: Ints, heads: int, said: str) -> None:
    backend, inputs = native_backend(), inputs_random(TINY, 2)
    before = sequence_run(backend, inputs, 0, [1])
    with pytest.raises(ValueError, match=said):
        backend.forward(inputs, slots, positions, heads)
    after = backend.forward(inputs[1:], row(0), row(1), 0)
    fresh = native_backend()
    sequence_run(fresh, inputs, 0, [1])
    assert np.array_equal(after[0], fresh.forward(inputs[1:], row(0), row(1), 0)[0])
    assert len(before[0]) == 1


def test_inputs_of_another_width_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(1, 63\), expected \(1, 64\)"):
        native_backend().forward(np.zeros((1, 63), np.float32), row(0), row(0), 0)


@pytest.mark.parametrize("slots", [0, -1, 1 << 30])
def test_caches_out_of_range_are_refused(slots: int) -> None:
    with pytest.raises(ValueError, match="slots is"):
        native_backend(cache=CacheShape(slots, 16))


def test_threads_out_of_range_are_refused() -> None:
    with pytest.raises(ValueError, match="threads is 0, allowed are 1 to 1024"):
        native_backend(threads=0)


def test_more_memory_than_there_is_is_a_memory_error() -> None:
    config = dataclasses.replace(TINY, positions=1 << 20)
    with pytest.raises(MemoryError):
        native_backend(config=config, cache=CacheShape(65536, 1 << 20))


def test_a_slot_longer_than_the_model_is_refused() -> None:
    with pytest.raises(ValueError, match="a slot of 129 positions, the model has 128"):
        native_backend(cache=CacheShape(1, 129))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"hidden": 72}, "head"),
        ({"heads": 3}, "head"),
        ({"layers": 1}, "2 layers given, 1 configured"),
        ({"intermediate": 161}, "layer 0: gate_up has 20480 values, the shape needs 20608"),
        ({"audio_tokens": 41}, "heads has"),
        ({"rope_theta": 0.5}, "rope_theta"),
        ({"norm_epsilon": float("nan")}, "norm_epsilon"),
    ],
)
def test_weights_of_another_shape_are_refused(change: dict[str, Any], said: str) -> None:
    native_backend()
    config = dataclasses.replace(TINY, **change)
    with pytest.raises(ValueError, match=said):
        PackedWeights.of(weights_random(), config, Precision.INT8)


def test_weights_that_are_not_finite_are_refused() -> None:
    native_backend()
    weights = weights_random()
    weights.layers[1].down[3, 7] = np.nan
    with pytest.raises(ValueError, match="layer 1: down has a value that is not finite"):
        PackedWeights.of(weights, TINY, Precision.BF16)


def test_packed_weights_are_of_one_precision() -> None:
    native_backend()
    packed = PackedWeights.of(weights_random(), TINY, Precision.BF16)
    with pytest.raises(ValueError, match="another configuration or precision"):
        NativeBackend(packed, TINY, CACHE, Precision.INT8, 1)


def test_a_closed_backend_is_refused_and_closes_again() -> None:
    backend = native_backend(threads=2)
    backend.close()
    backend.close()
    with pytest.raises(ValueError, match="closed"):
        backend.forward(inputs_random(TINY, 1), row(0), row(0), 0)
    with pytest.raises(ValueError, match="closed"):
        _ = backend.cache_bytes


def test_closing_waits_for_a_call_of_another_thread() -> None:
    backend, inputs = native_backend(threads=2), inputs_random(TINY, 64)
    positions = np.arange(64, dtype=np.int32)
    errors: list[str] = []
    started = threading.Event()

    def compute() -> None:
        try:
            while True:
                backend.forward(inputs, np.zeros(64, np.int32), positions, 64)
                started.set()
        except ValueError as error:
            errors.append(str(error))

    thread = threading.Thread(target=compute)
    thread.start()
    assert started.wait(60)
    backend.close()
    thread.join(60)
    assert errors == ["the backend is closed"]


def test_backends_share_packed_weights_and_keep_them() -> None:
    native_backend()
    packed = PackedWeights.of(weights_random(), TINY, Precision.INT8)
    first = NativeBackend(packed, TINY, CACHE, Precision.INT8, 1)
    second = NativeBackend(packed, TINY, CACHE, Precision.INT8, 2)
    del packed
    inputs = inputs_random(TINY, 9)
    expected, _ = sequence_run(first, inputs, 2, [9])
    first.close()
    found: list[Floats] = []
    thread = threading.Thread(target=lambda: found.append(sequence_run(second, inputs, 1, [9])[0]))
    thread.start()
    thread.join(60)
    assert np.array_equal(found[0], expected)


def test_memory_is_measured() -> None:
    backends = {p: native_backend(p) for p in Precision}
    values = TINY.cache_values * CACHE.slots * CACHE.positions
    assert 4 * values <= backends[Precision.FP32].cache_bytes < 4 * values + 16384
    assert backends[Precision.FP32].weight_bytes > backends[Precision.BF16].weight_bytes
    assert backends[Precision.BF16].weight_bytes > backends[Precision.INT8].weight_bytes


def test_a_process_ends_with_open_backends() -> None:
    native_backend()
    script = (
        "from tests.tts.engines.chattts.native_reference import *\n"
        "kept = native_backend(threads=3)\n"
        "sequence_run(kept, inputs_random(TINY, 3), 0, [3])\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True, timeout=100)


def test_a_process_ends_while_a_thread_computes() -> None:
    native_backend()
    script = (
        "import threading\n"
        "from tests.tts.engines.chattts.native_reference import *\n"
        "kept = native_backend(threads=3)\n"
        "begun = threading.Event()\n"
        "def compute():\n"
        "    while True:\n"
        "        sequence_run(kept, inputs_random(TINY, 3), 0, [3])\n"
        "        begun.set()\n"
        "threading.Thread(target=compute, daemon=True).start()\n"
        "begun.wait()\n"
    )
    subprocess.run([sys.executable, "-W", "error", "-c", script], check=True, timeout=100)

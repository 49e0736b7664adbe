"""The CUDA backend on a CUDA device: its numbers, its bits, its memory."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from tests.gpu.cuda import CUDA, MB, needs_cuda
from tests.tts.engines.chattts.closeness import relative_error
from tests.tts.engines.chattts.random_gpt import TINY, inputs_random, weights_random
from tests.tts.engines.chattts.row_independence import (
    LENGTH,
    POSITIONS,
    SEQUENCES,
    SLOTS,
    independence_check,
    sequence_compute,
)
from tts.engines.chattts.backend import CacheShape, Precision
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.cuda_backend import BUCKETS, CudaBackend
from tts.engines.chattts.device_memory import DeviceMemoryExhausted
from tts.engines.chattts.torch_backend import TorchBackend

pytestmark = [pytest.mark.gpu, needs_cuda]

WIDE = GptConfig(layers=2, positions=1_152, text_tokens=50)
"""The release's widths, so that libraries choose the kernels that they will choose."""
ERRORS = {Precision.FP32: 1e-5, Precision.BF16: 0.03, Precision.INT8: 0.06}
"""Relative root mean squares, against float32 on the CPU."""
LIBRARIES = 128 * MB
"""Workspaces that libraries keep for a stream, for the life of the process."""


def backend_make(precision: Precision, *, graphs: bool = True) -> CudaBackend:
    return CudaBackend(
        weights_random(),
        TINY,
        CacheShape(SLOTS, POSITIONS),
        device=CUDA,
        precision=precision,
        graphs=graphs,
    )


@pytest.fixture(scope="module", params=list(Precision), ids=str)
def backend(request: pytest.FixtureRequest) -> Iterator[CudaBackend]:
    backend = backend_make(request.param)
    yield backend
    backend.close()


@pytest.mark.parametrize("precision", list(Precision), ids=str)
def test_it_computes_what_the_cpu_computes(precision: Precision) -> None:
    backend = backend_make(precision)
    cpu = TorchBackend(weights_random(), TINY, CacheShape(SLOTS, POSITIONS))
    found = sequence_compute(backend, SEQUENCES[0], 3, [7, 1, 1, 11])
    expected = sequence_compute(cpu, SEQUENCES[0], 0, [LENGTH])
    for one, other in zip(found, expected, strict=True):
        assert relative_error(one, other) < ERRORS[precision]
    backend.close()


@pytest.mark.parametrize("seed", range(5))
def test_a_row_is_the_same_whatever_runs_beside_it(backend: CudaBackend, seed: int) -> None:
    assert max(backend.buckets) == BUCKETS[-1]
    independence_check(backend, seed)


@pytest.mark.parametrize("precision", [Precision.FP32, Precision.BF16], ids=str)
def test_a_row_is_the_same_at_the_releases_widths(precision: Precision) -> None:
    backend = CudaBackend(
        weights_random(WIDE), WIDE, CacheShape(64, 1_152), device=CUDA, precision=precision
    )
    assert max(backend.buckets) == BUCKETS[-1]
    random = np.random.default_rng(0)
    inputs = inputs_random(WIDE, 64)
    order = np.arange(64, dtype=np.int32)
    expected = [part.copy() for part in backend.forward(inputs, order, order * 0, 64)]
    for count in (1, 2, 8, 31, 64):
        some = random.permutation(order)[:count]
        found = backend.forward(inputs[some], random.permutation(order)[:count], some * 0, count)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other[some])
    backend.close()


@pytest.mark.parametrize("precision", list(Precision), ids=str)
def test_graphs_compute_what_operations_one_by_one_compute(precision: Precision) -> None:
    found = []
    for graphs in (True, False):
        backend = backend_make(precision, graphs=graphs)
        found.append(sequence_compute(backend, SEQUENCES[0], 1, [5, 1, 14]))
        backend.close()
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_graphs_are_captured_anew_where_the_widest_bucket_is_not_as_it_has_to_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter([False, True])
    monkeypatch.setattr(CudaBackend, "_drop_unlike", lambda *arguments: next(answers))
    backend = backend_make(Precision.BF16)
    assert max(backend.buckets) == BUCKETS[-2]
    sequence_compute(backend, SEQUENCES[0], 0, [LENGTH])
    backend.close()


def test_memory_returns_after_close() -> None:
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated(CUDA), torch.cuda.mem_get_info(CUDA)[0]
    for _ in range(5):
        backend = CudaBackend(weights_random(WIDE), WIDE, CacheShape(64, 1_152), device=CUDA)
        assert backend.memory.total > 500 * MB
        backend.close()
    after = torch.cuda.memory_allocated(CUDA), torch.cuda.mem_get_info(CUDA)[0]
    assert after[0] - before[0] < 5 * LIBRARIES
    assert before[1] - after[1] < 10 * LIBRARIES


def test_a_cache_that_does_not_fit_leaves_the_device_usable() -> None:
    with pytest.raises(DeviceMemoryExhausted):
        CudaBackend(weights_random(WIDE), WIDE, CacheShape(100_000, 1_152), device=CUDA)
    backend = backend_make(Precision.FP32)
    sequence_compute(backend, SEQUENCES[0], 0, [LENGTH])
    backend.close()


def test_the_kernel_is_used() -> None:
    pytest.importorskip("triton")
    backend = backend_make(Precision.BF16)
    assert backend.attention == "triton"
    backend.close()

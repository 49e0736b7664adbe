"""Products by the vocoder's matrices: torch's and ours agree; a row of ours depends on no other."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from tests.tts.engines.chattts.vocoder_parts import native_projections
from tts.engines.chattts.backend import Precision
from tts.engines.chattts.native.backend import NativeBackend
from tts.engines.chattts.native.projections import NativeProjections
from tts.engines.chattts.projection import TorchProjections, projections_create

CPU = torch.device("cpu")
ERRORS = {Precision.FP32: 1e-6, Precision.BF16: 5e-3, Precision.INT8: 2e-2}
"""Of the root mean square."""


def matrix(outputs: int, inputs: int) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(outputs * inputs)
    weight = torch.randn(outputs, inputs, generator=random) / inputs**0.5
    return weight, torch.randn(outputs, generator=random)


def rows(count: int, width: int) -> Tensor:
    return torch.randn(count, width, generator=torch.Generator().manual_seed(count))


@pytest.mark.parametrize("precision", list(Precision))
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("outputs", "inputs"), [(1, 1), (16, 16), (33, 7), (100, 48), (48, 100), (70, 33)]
)
def test_products_are_torchs(precision: Precision, threads: int, outputs: int, inputs: int) -> None:
    weight, bias = matrix(outputs, inputs)
    projection = native_projections(precision, threads).add(weight, bias)
    for count in (1, 5, 6, 7, 64, 65, 130):
        frames = rows(count, inputs)
        exact = functional.linear(frames.double(), weight.double(), bias.double())
        error = (projection(frames) - exact).square().mean() / exact.square().mean()
        assert error.sqrt() < ERRORS[precision]


def test_a_bias_may_be_missing_and_windows_be_stacked() -> None:
    weight, _ = matrix(20, 32)
    projection = native_projections(Precision.FP32).add(weight, None)
    frames = rows(12, 32).reshape(3, 4, 32)
    assert torch.allclose(projection(frames), functional.linear(frames, weight), atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    precision=st.sampled_from(list(Precision)),
    threads=st.integers(1, 3),
)
def test_a_row_is_the_same_beside_any_others(
    sizes: list[int], precision: Precision, threads: int
) -> None:
    projection = native_projections(precision, threads).add(*matrix(50, 64))
    windows = [rows(size, 64) for size in sizes]
    together = torch.split(projection(torch.cat(windows)), sizes)
    for window, found in zip(windows, together, strict=True):
        assert torch.equal(projection(window), found)


def test_wrong_rows_and_values_are_refused() -> None:
    projections = native_projections(Precision.FP32)
    with pytest.raises(ValueError, match="rows of 3 values, expected 4"):
        projections.add(*matrix(2, 4))(rows(1, 3))
    with pytest.raises(ValueError, match="not finite"):
        projections.add(torch.full((2, 4), float("nan")), None)


def test_the_memory_is_counted() -> None:
    projections = native_projections(Precision.FP32)
    before = projections.bytes
    projections.add(*matrix(64, 64))
    assert projections.bytes >= before + 4 * 64 * 64


def test_the_cpu_is_served_by_our_own_code() -> None:
    native_projections(Precision.FP32)
    assert isinstance(projections_create(CPU, Precision.FP32, 2), NativeProjections)


def test_without_it_torch_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NativeBackend, "available", staticmethod(lambda precision: "no compiler"))
    found = projections_create(CPU, Precision.FP32, 2)
    assert isinstance(found, TorchProjections)
    weight, bias = matrix(8, 8)
    frames = rows(3, 8)
    assert torch.equal(found.add(weight, bias)(frames), functional.linear(frames, weight, bias))

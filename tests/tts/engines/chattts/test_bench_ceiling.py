"""The ceiling of a decode step takes the longer of reading and computing for each operation."""

import dataclasses

import pytest
import torch

from tts.engines.base import Device
from tts.engines.chattts.backend import Precision
from tts.engines.chattts.bench import ceiling
from tts.engines.chattts.bench.ceiling import (
    MANY_ROWS,
    Ceiling,
    Reach,
    bandwidth_measure,
    ceiling_measure,
    matrices,
)
from tts.engines.chattts.bench.context import Case
from tts.engines.chattts.config import GptConfig

CPU = Device("cpu", 1)
CONFIG = GptConfig(layers=3, hidden=4, heads=2, intermediate=8, audio_tokens=5, codebooks=2)
CASE = Case(rows=2, context=10)
FAST = 1e30


def ceiling_of(bandwidth: float, rate: float, many: float, floats: float) -> Ceiling:
    found = matrices(CONFIG, Precision.INT8)
    rates = {(matrix, 2): rate for matrix in found} | {(m, MANY_ROWS): many for m in found}
    return Ceiling(bandwidth, rates, floats)


def test_weights_and_cache_are_read_once() -> None:
    # Layers: 3 * (48 + 16 + 64 + 32) bytes and 4 for each of 12 + 4 + 16 + 4 outputs.
    weights = 3 * (160 + 4 * 36) + 4 * 10 * 4
    seconds = ceiling_of(100.0, FAST, FAST, FAST).seconds(CONFIG, CASE, 7.0, Reach.SAME)
    assert seconds == pytest.approx((weights + 2 * 10 * 7.0) / 100.0)


def test_every_row_is_multiplied() -> None:
    products = 2 * 2 * (3 * 160 + 10 * 4)
    attention = 4 * 2 * 10 * 4 * 3
    seconds = ceiling_of(FAST, 50.0, 10.0, 25.0).seconds(CONFIG, CASE, 7.0, Reach.SAME)
    assert seconds == pytest.approx(products / 50.0 + attention / 25.0)


def test_operations_are_bound_each_by_its_own() -> None:
    """The sum of the longer ones is more than the longer of the sums."""
    limits = ceiling_of(100.0, 50.0, 50.0, FAST)
    slow = next(iter(limits.rates))[0]
    uneven = dataclasses.replace(limits, rates=limits.rates | {(slow, 2): 1.0})
    added = 3 * (slow.operations(2) / 1.0 - max(slow.operations(2) / 50.0, slow.bytes / 100.0))
    first, second = (each.seconds(CONFIG, CASE, 7.0, Reach.SAME) for each in (limits, uneven))
    assert second - first == pytest.approx(added)


def test_products_of_many_rows_raise_the_ceiling_only_where_they_are_faster() -> None:
    faster, slower = ceiling_of(FAST, 10.0, 40.0, FAST), ceiling_of(FAST, 40.0, 10.0, FAST)
    same, anyhow = (faster.seconds(CONFIG, CASE, 0.0, reach) for reach in Reach)
    assert anyhow == pytest.approx(same / 4)
    same, anyhow = (slower.seconds(CONFIG, CASE, 0.0, reach) for reach in Reach)
    assert anyhow == same


@pytest.mark.parametrize("precision", Precision)
def test_this_machine_is_measured(precision: Precision) -> None:
    threads = torch.get_num_threads()
    bandwidth = bandwidth_measure(CPU, 1 << 22)
    limits = ceiling_measure(CONFIG, precision, (2,), CPU, bandwidth)
    assert {rows for _, rows in limits.rates} == {2, MANY_ROWS}
    assert {matrix for matrix, _ in limits.rates} == set(matrices(CONFIG, precision))
    assert min(limits.rates.values()) > 0
    assert 1e8 < bandwidth < 1e13
    assert torch.get_num_threads() == threads


def test_products_that_a_machine_has_not_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise RuntimeError("not compiled for this processor")

    monkeypatch.setattr(torch, "_int_mm", missing)
    monkeypatch.setattr(ceiling._Quantised, "__call__", missing)
    assert min(ceiling_measure(CONFIG, Precision.INT8, (2,), CPU, 1.0).rates.values()) > 0

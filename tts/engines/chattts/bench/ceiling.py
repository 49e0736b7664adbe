"""What this machine could do at most in a decode step, by its own memory and arithmetic."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from time import perf_counter

import torch
from torch import Tensor

from tts.engines.base import Device
from tts.engines.chattts.backend import Precision
from tts.engines.chattts.bench.context import Case
from tts.engines.chattts.compute import torch_threads
from tts.engines.chattts.config import GptConfig
from tts.engines.devices import CPU, device_find

MEMORY_BYTES = 1 << 29
"""Many times what the caches hold."""
MANY_ROWS = 256
"""Rows at which a library's products are as fast as they get."""
_TRIES = 5
_READING_SECONDS, _PRODUCT_SECONDS = 0.5, 0.04
"""For how long each is tried, since other processes only ever take time away."""
_LAUNCHES = 20
"""Calls that a CUDA device is given at once."""
_HOPELESS = 8.0
"""Times as slow as the fastest, at few rows, from which on a product is not tried again."""
_VALUE_BYTES = {Precision.FP32: 4, Precision.BF16: 2, Precision.INT8: 1}

Product = Callable[[], object]


class Reach(StrEnum):
    """Which products count. SAME: of as many rows as the step has. ANY: of many rows, too.

    A library may lose most of the machine at few rows; ours does not have to.
    """

    SAME = "same"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Matrix:
    """A weight (outputs, inputs) that a step multiplies by `count` times."""

    outputs: int
    inputs: int
    precision: Precision
    count: int = 1

    @property
    def bytes(self) -> int:
        """What is read of it."""
        scales = 4 * self.outputs if self.precision is Precision.INT8 else 0
        return self.outputs * self.inputs * _VALUE_BYTES[self.precision] + scales

    def operations(self, rows: int) -> int:
        """Multiplications and additions."""
        return 2 * rows * self.outputs * self.inputs


def matrices(config: GptConfig, precision: Precision) -> tuple[Matrix, ...]:
    """Those of a step; the heads are float32 always."""
    hidden, wide, layers = config.hidden, config.intermediate, config.layers
    return (
        Matrix(3 * hidden, hidden, precision, layers),
        Matrix(hidden, hidden, precision, layers),
        Matrix(2 * wide, hidden, precision, layers),
        Matrix(hidden, wide, precision, layers),
        Matrix(config.codebooks * config.audio_tokens, hidden, Precision.FP32),
    )


@dataclass(frozen=True, slots=True)
class Ceiling:
    """`bandwidth` in bytes a second, `rates` in operations a second by matrix and rows.

    `float_rate` is the best of float32, which attention computes in.
    """

    bandwidth: float
    rates: dict[tuple[Matrix, int], float]
    float_rate: float

    def seconds(self, config: GptConfig, case: Case, token_bytes: float, reach: Reach) -> float:
        """The least that a step can take: each operation the longer of its two times."""
        rows, total = case.rows, 0.0
        for matrix in {matrix: None for matrix, _ in self.rates}:
            multiplying = matrix.operations(rows) / self._rate(matrix, rows, reach)
            total += matrix.count * max(multiplying, matrix.bytes / self.bandwidth)
        seen = rows * case.context
        # Each head's scores and its sum of values; what is read of the cache is read once.
        attending = 4 * seen * config.hidden * config.layers / self.float_rate
        return total + max(attending, seen * token_bytes / self.bandwidth)

    def _rate(self, matrix: Matrix, rows: int, reach: Reach) -> float:
        if reach is Reach.SAME:
            return self.rates[matrix, rows]
        return max(rate for (other, _), rate in self.rates.items() if other == matrix)


def bandwidth_measure(device: Device, size: int = MEMORY_BYTES) -> float:
    """Bytes a second that the device reads: sums over more than the caches hold."""
    place = device_find(device.name)
    memory = torch.ones(size // 4, device=place)
    with torch_threads(device.threads):
        return memory.nbytes / _best(memory.sum, place, _TRIES, _READING_SECONDS)


def ceiling_measure(
    config: GptConfig, precision: Precision, rows: tuple[int, ...], device: Device, bandwidth: float
) -> Ceiling:
    """The best of torch's products by each matrix, each with its weight in the caches if it fits.

    What a narrower format's values can be multiplied in counts too: where the machine does not
    multiply bfloat16 itself, float32 is its way to do it. On a CPU one thread is tried as well:
    where several lose their time to other processes, the ceiling would be too low, and the share
    of it too high.
    """
    place = device_find(device.name)
    threads = sorted({1, device.threads}) if place.type == CPU else [device.threads]
    with torch.inference_mode(), warnings.catch_warnings():
        # torch says of its quantised products that they will be replaced.
        warnings.simplefilter("ignore")
        rates = {
            (matrix, count): rate
            for matrix in matrices(config, precision)
            for count, rate in _rates(matrix, rows, place, threads).items()
        }
        floats = [rate for (matrix, _), rate in rates.items() if matrix.precision is Precision.FP32]
    return Ceiling(bandwidth, rates, max(floats))


def _rates(
    matrix: Matrix, rows: tuple[int, ...], place: torch.device, threads: list[int]
) -> dict[int, float]:
    """Operations a second by the number of rows."""
    found: dict[int, float] = {}
    names: set[str] | None = None
    for count in (*rows, MANY_ROWS):
        speeds = {
            name: matrix.operations(count) / seconds
            for name, product in _products(matrix, count, place)
            if names is None or name in names
            for seconds in _tried(product, place, threads)
        }
        found[count] = best = max(speeds.values())
        names = {name for name, speed in speeds.items() if _HOPELESS * speed > best}
    return found


def _tried(product: Product, place: torch.device, threads: list[int]) -> list[float]:
    """The least seconds it takes; none where this machine or this torch does not have it."""
    found = []
    try:
        for count in threads:
            with torch_threads(count):
                found.append(_best(product, place, _TRIES, _PRODUCT_SECONDS))
    except (AttributeError, NotImplementedError, RuntimeError):
        return []
    return [min(found)]


def _best(product: Product, place: torch.device, tries: int, seconds: float) -> float:
    """The least seconds of a call; on a CUDA device, of a call among some that it is given at once.

    One alone would be the time of launching it, which a step's graph does not have.
    """
    calls = _LAUNCHES if place.type == "cuda" else 1
    product()
    _finished(place)
    found, end, count = float("inf"), perf_counter() + seconds, 0
    while count < tries or perf_counter() < end:
        began = perf_counter()
        for _ in range(calls):
            product()
        _finished(place)
        found = min(found, (perf_counter() - began) / calls)
        count += 1
    return found


def _finished(place: torch.device) -> None:
    if place.type == "cuda":
        torch.cuda.synchronize(place)


def _products(matrix: Matrix, rows: int, place: torch.device) -> Iterator[tuple[str, Product]]:
    """Ways to multiply `rows` by the matrix, the precision's own and those that hold its values."""
    x = torch.randn(rows, matrix.inputs, device=place)
    weight = torch.randn(matrix.outputs, matrix.inputs, device=place)
    yield from _both(x, weight, "float32")
    if matrix.precision is not Precision.FP32:
        yield from _both(x.bfloat16(), weight.bfloat16(), "bfloat16")
    if matrix.precision is Precision.INT8:
        bytes_x, bytes_weight = (
            torch.randint(-127, 128, each.shape, dtype=torch.int8) for each in (x, weight)
        )
        yield "int8", lambda: torch._int_mm(bytes_x, bytes_weight.t())
        yield "quantised", _Quantised(x, weight)


def _both(x: Tensor, weight: Tensor, name: str) -> Iterator[tuple[str, Product]]:
    """By the weight as it is, and by one whose rows were made contiguous the other way."""
    turned = weight.t().contiguous()
    yield name, lambda: torch.mm(x, weight.t())
    yield f"{name}, turned", lambda: torch.mm(x, turned)


class _Quantised:
    """torch's product of rows that it quantises itself; packs at its first call."""

    def __init__(self, x: Tensor, weight: Tensor) -> None:
        self._x, self._weight = x, weight
        self._packed: object = None

    def __call__(self) -> object:
        if self._packed is None:
            outputs = len(self._weight)
            scales, zeros = torch.full((outputs,), 0.03), torch.zeros(outputs, dtype=torch.long)
            values = torch.quantize_per_channel(self._weight, scales, zeros, 0, torch.qint8)
            self._packed = torch.ops.quantized.linear_prepack(values, None)
        return torch.ops.quantized.linear_dynamic(self._x, self._packed, False)

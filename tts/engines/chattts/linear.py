"""Projections in each precision, with torch.

Linear
├── Float32Linear   float32 weights and activations
├── RoundedLinear   bfloat16 values multiplied as float32: for CPUs that cannot multiply bfloat16
├── Bfloat16Linear  bfloat16 weights and activations; what it returns was rounded to bfloat16
├── HalfLinear      16-bit weights and activations, float32 sums that are never rounded (CUDA)
├── IntegerLinear   int8 values multiplied as float32, exactly
└── Int8Linear      int8 weights and activations with torch's integer product (CUDA)
"""

from typing import Protocol

import torch
from torch import Tensor

from tts.engines.chattts.backend import Floats, Precision

INT8_MAX = 127
_EXACT_COLUMNS = 1024
"""127 * 127 * 1024 < 2 ** 24: sums of so many products are whole numbers that float32 holds."""
_INT_MM_ROWS = 32
"""CUDA's integer product wants more than 16 rows."""
_TINY = 1e-30
"""Keeps the scale of a row of zeros above zero."""


class Linear(Protocol):
    """y = x W^T for x (m, inputs) and out (m, outputs), both float32."""

    inputs: int
    outputs: int

    def __call__(self, x: Tensor, out: Tensor) -> Tensor:
        """Write the product into `out` and return it."""


def linear(weight: Floats, precision: Precision, device: torch.device) -> Linear:
    """The projection by `weight` (outputs, inputs) that `device` computes best."""
    values = torch.from_numpy(weight).to(device)
    cuda = device.type == "cuda"
    if precision is Precision.FP32:
        return Float32Linear(values)
    if precision is Precision.INT8:
        return Int8Linear(values) if cuda else IntegerLinear(values)
    if cuda:
        return HalfLinear(values, half_dtype(device))
    native = torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return Bfloat16Linear(values) if native else RoundedLinear(values)


def half_dtype(device: torch.device) -> torch.dtype:
    """What BF16 is on `device`: float16 on CUDA devices that cannot multiply bfloat16."""
    if device.type == "cuda" and not cuda_bfloat16(device):
        return torch.float16
    return torch.bfloat16


def cuda_bfloat16(device: torch.device) -> bool:
    """Whether this CUDA device multiplies bfloat16: torch asks the current one, of another kind."""
    with torch.cuda.device(device):
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))


class Float32Linear:
    """W^T is kept with its rows contiguous: products of few rows are faster so."""

    def __init__(self, weight: Tensor) -> None:
        self.outputs, self.inputs = weight.shape
        self._weight = weight.t().contiguous()

    def __call__(self, x: Tensor, out: Tensor) -> Tensor:
        return torch.mm(x, self._weight, out=out)


class RoundedLinear(Float32Linear):
    """The numbers that bfloat16 hardware multiplies, in float32; sums are never rounded."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__(weight.bfloat16().float())

    def __call__(self, x: Tensor, out: Tensor) -> Tensor:
        return super().__call__(x.bfloat16().float(), out)


class Bfloat16Linear:
    """Half the weights' bytes; sums are float32, the result is rounded."""

    def __init__(self, weight: Tensor) -> None:
        self.outputs, self.inputs = weight.shape
        self._weight = weight.t().bfloat16().contiguous()

    def __call__(self, x: Tensor, out: Tensor) -> Tensor:
        return out.copy_(torch.mm(x.bfloat16(), self._weight))


class HalfLinear:
    """Half the weights' bytes; torch's product with another output type, which only CUDA has."""

    def __init__(self, weight: Tensor, dtype: torch.dtype) -> None:
        self.outputs, self.inputs = weight.shape
        self._weight = weight.t().to(dtype).contiguous()

    def __call__(self, x: Tensor, out: Tensor) -> Tensor:
        return torch.mm(x.to(self._weight.dtype), self._weight, out_dtype=torch.float32, out=out)


class IntegerLinear:
    """Whole numbers in float32, summed in parts that stay exact, so in any order alike."""

    def __init__(self, weight: Tensor) -> None:
        self.outputs, self.inputs = weight.shape
        quantised, scales = quantise(weight)
        self._scales = scales.t().contiguous()
        self._parts = [part.contiguous() for part in torch.split(quantised.t(), _EXACT_COLUMNS)]

    def __call__(self, x: Tensor, out: Tensor) -> Tensor:
        quantised, scales = quantise(x)
        columns = torch.split(quantised, _EXACT_COLUMNS, dim=1)
        torch.mm(columns[0].contiguous(), self._parts[0], out=out)
        for values, part in zip(columns[1:], self._parts[1:], strict=True):
            out += torch.mm(values.contiguous(), part)
        return out.mul_(scales).mul_(self._scales)


class Int8Linear:
    """A quarter of the weights' bytes; integer sums."""

    def __init__(self, weight: Tensor) -> None:
        self.outputs, self.inputs = weight.shape
        quantised, scales = quantise(weight)
        self._weight = quantised.to(torch.int8)
        self._scales = scales.t().contiguous()

    def __call__(self, x: Tensor, out: Tensor) -> Tensor:
        rows = x.shape[0]
        quantised, scales = quantise(x)
        padding = max(0, _INT_MM_ROWS - rows)
        padded = torch.nn.functional.pad(quantised.to(torch.int8), (0, 0, 0, padding))
        sums = torch._int_mm(padded, self._weight.t())[:rows]
        return torch.mul(sums.float(), scales, out=out).mul_(self._scales)


def quantise(values: Tensor) -> tuple[Tensor, Tensor]:
    """Whole numbers from -127 to 127, as float32, and each row's scale (rows, 1)."""
    scales = values.abs().amax(dim=1, keepdim=True).div(INT8_MAX).clamp_min(_TINY)
    return values.div(scales).round(), scales

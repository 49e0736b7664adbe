"""How torch computes the vocoder here: its number format, its threads."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from tts.engines.chattts.backend import Precision
from tts.engines.chattts.checkpoint import canonical
from tts.engines.chattts.layout import Shapes
from tts.engines.chattts.linear import cuda_bfloat16
from tts.engines.chattts.tensor_file import Buffer, TensorFile


def bfloat16_pays(device: torch.device) -> bool:
    """Whether `device` multiplies bfloat16 itself (AVX512-BF16, AMX, CUDA).

    Processors that do not emulate it, ten times slower than they multiply float32.
    """
    if device.type == "cuda":
        return cuda_bfloat16(device)
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def weight_dtype(precision: Precision, device: torch.device) -> torch.dtype:
    """How `precision` keeps the weights of matrix products on `device`.

    BF16 is leave to use bfloat16: where that does not pay, float32 is faster and exact.
    Raises ValueError for INT8, which the vocoder has not.
    """
    if precision is Precision.INT8:
        raise ValueError("the vocoder computes in fp32 or bf16, not in int8")
    bfloat16 = precision is Precision.BF16 and bfloat16_pays(device)
    return torch.bfloat16 if bfloat16 else torch.float32


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Within the block torch computes with `count` threads; then with as many as before."""
    before = torch.get_num_threads()
    if before == count:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def tensors_read(name: str, blob: Buffer, shapes: Shapes) -> dict[str, Tensor]:
    """The tensors of a safetensors file, copied, float32: exactly those of `shapes`, all finite.

    Raises VersionUnavailable that names the file and the tensor.
    """
    file = canonical(TensorFile.read(name, blob))
    file.check(shapes)
    file.check_finite()
    return {tensor: torch.from_numpy(file.floats(tensor).copy()) for tensor in shapes}

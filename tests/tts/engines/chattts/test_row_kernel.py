"""The kernel's attention is torch's, run by Triton's interpreter where Triton is installed."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
import torch

from tts.engines.chattts.backend import CacheShape
from tts.engines.chattts.row_attention import TorchRowAttention, row_attention

SLOTS, LENGTH, HEADS, SIZE = 3, 200, 4, 16
INTERPRETED = """
import torch
from tests.tts.engines.chattts.test_row_kernel import *
from tts.engines.chattts.row_kernel import TritonRowAttention
for dtype in (torch.float32, torch.bfloat16, torch.float16):
    case = case_make(dtype)
    error = (attended(TritonRowAttention(CACHE, 64), case) - exact(case)).abs().max()
    assert error < 1e-5, (dtype, error)
"""
CACHE = CacheShape(SLOTS, LENGTH)
Case = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def case_make(dtype: torch.dtype) -> Case:
    """Rows of all kinds; what no row may see is no number."""
    random = torch.Generator().manual_seed(0)
    shape = (SLOTS * LENGTH + 1, HEADS, SIZE)
    keys, values = (torch.randn(shape, generator=random).to(dtype) for _ in range(2))
    for rubbish in (keys, values):
        rubbish[LENGTH + 151 : 2 * LENGTH] = torch.nan
    slots, positions = torch.tensor([0, 1, 2, 2, SLOTS]), torch.tensor([0, 150, 64, 199, 0])
    q = torch.randn((len(slots), HEADS, SIZE), generator=random)
    return q, keys, values, slots, positions


def attended(attention: object, case: Case) -> torch.Tensor:
    out = torch.zeros(len(case[0]), HEADS * SIZE)
    attention(*case, out)  # type: ignore[operator]
    return out


def exact(case: Case) -> torch.Tensor:
    rows = []
    for q, slot, position in zip(case[0], case[3].tolist(), case[4].tolist(), strict=True):
        places = slice(slot * LENGTH, slot * LENGTH + position + 1)
        keys, values = (cache[places].float().transpose(0, 1) for cache in case[1:3])
        weights = torch.softmax(torch.einsum("hd,htd->ht", q, keys), -1)
        rows.append(torch.einsum("ht,htd->hd", weights, values).flatten())
    return torch.stack(rows)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_torch_attends_to_each_rows_own_positions(dtype: torch.dtype) -> None:
    case = case_make(dtype)
    torch.testing.assert_close(
        attended(TorchRowAttention(CACHE), case), exact(case), atol=1e-5, rtol=0
    )


def test_without_cuda_torch_attends() -> None:
    found = row_attention(CACHE, HEADS, SIZE, torch.device("cpu"), torch.float32)
    assert found.name == "torch"


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
def test_the_kernel_attends_to_each_rows_own_positions() -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", INTERPRETED], env=environment, check=True)

"""What a CUDA backend has on its device, and the host memory that it copies from and to."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from tts.engines.chattts.backend import CacheShape
from tts.engines.chattts.graphs import Runner
from tts.engines.chattts.llama import Llama


@dataclass(slots=True)
class Buffers:
    """The weights, the cache, and the arrays of batches of one width."""

    llama: Llama
    keys: Tensor
    values: Tensor
    inputs: Tensor
    rows: Tensor
    hidden: Tensor
    logits: Tensor
    host_inputs: Tensor
    host_rows: Tensor
    host_hidden: Tensor
    host_logits: Tensor

    @classmethod
    def reserve(
        cls,
        llama: Llama,
        cache: CacheShape,
        max_rows: int,
        widest: int,
        dtype: torch.dtype,
        runner: Runner,
    ) -> Self:
        """For calls of `max_rows` in batches of `widest`; keys and values are of `dtype`."""
        config, place, host = llama.config, runner.device, runner.host
        places = cache.slots * cache.positions + 1
        shape = (config.layers, places, config.heads, config.head_size)
        keys, values = (torch.zeros(shape, dtype=dtype, device=place) for _ in range(2))
        outputs = config.codebooks * config.audio_tokens
        long = -(-max_rows // widest) * widest
        return cls(
            llama,
            keys,
            values,
            torch.zeros(widest, config.hidden, device=place),
            torch.zeros(2, widest, dtype=torch.int64, device=place),
            torch.zeros(widest, config.hidden, device=place),
            torch.zeros(widest, outputs, device=place),
            host((long, config.hidden), torch.float32),
            host((long // widest, 2, widest), torch.int64),
            host((long, config.hidden), torch.float32),
            host((long, outputs), torch.float32),
        )

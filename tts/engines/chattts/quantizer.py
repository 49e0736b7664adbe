"""Audio tokens to vectors and back: grouped residual finite scalar quantisation.

FSQ (arXiv:2309.15505) rounds each of a few numbers to one of a few levels. ChatTTS stacks two
of them (residual) in each of two groups. The arithmetic is vector-quantize-pytorch's of
December 2023 to October 2024 (1.12 to 1.18.0), with which the weights were made and published:
a residual is (levels - 1) times finer than what it refines. Later releases changed that (since
November 2025 `levels` times), silently, so ChatTTS beside one of them decodes tokens to other
vectors than its authors did.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from tts.engines.chattts.config import ModelConfig
from tts.engines.chattts.convnext import Tensors

_BOUND_MARGIN = 1e-3


@dataclass(frozen=True, slots=True)
class _Group:
    """A group's way into the quantiser (levels, part) and out of it (part, levels)."""

    into: Tensor
    into_bias: Tensor
    out: Tensor
    out_bias: Tensor


class Quantizer:
    """Vectors (t, vq_dim) to codes (t, groups * residuals) and back, float32."""

    def __init__(self, tensors: Tensors, config: ModelConfig, device: torch.device) -> None:
        self._residuals = config.vq_residuals
        self._levels = torch.tensor(config.vq_levels, device=device)
        self._basis = torch.cumprod(torch.tensor((1, *config.vq_levels[:-1]), device=device), 0)
        self._groups = [
            _Group(
                *(
                    tensors[f"vq_layer.quantizer.rvqs.{group}.{name}"].to(device)
                    for name in (
                        "project_in.weight",
                        "project_in.bias",
                        "project_out.weight",
                        "project_out.bias",
                    )
                )
            )
            for group in range(config.vq_groups)
        ]
        self.width = config.vq_groups * config.vq_residuals
        """Codes a token."""
        self.codes = math.prod(config.vq_levels)
        """How many codes there are: each is 0 to `codes` - 1."""

    def vectors(self, codes: Tensor) -> Tensor:
        """Codes (t, groups * residuals), group by group, to vectors (t, vq_dim)."""
        digits = codes[..., None] // self._basis % self._levels
        half = self._levels // 2
        values = (digits - half) / half
        values = values.reshape(len(codes), len(self._groups), self._residuals, len(half))
        scales = torch.stack([self._scale(index) for index in range(self._residuals)])
        summed = (values * scales).sum(2)
        return torch.cat(
            [
                functional.linear(summed[:, index], group.out, group.out_bias)
                for index, group in enumerate(self._groups)
            ],
            dim=1,
        )

    def quantized(self, vectors: Tensor) -> Tensor:
        """Vectors (t, vq_dim) to the codes (t, groups * residuals) nearest to them, int64."""
        codes = []
        for group, part in zip(self._groups, vectors.chunk(len(self._groups), 1), strict=True):
            residual = self._bounded(functional.linear(part, group.into, group.into_bias))
            for index in range(self._residuals):
                digits = torch.round(self._bounded(residual / self._scale(index)))
                codes.append(((digits + self._levels // 2) * self._basis).sum(1).long())
                residual = residual - digits / (self._levels // 2) * self._scale(index)
        return torch.stack(codes, dim=1)

    def _scale(self, residual: int) -> Tensor:
        return (self._levels - 1.0) ** -residual

    def _bounded(self, values: Tensor) -> Tensor:
        """Squeezed between the lowest and the highest level (the paper's listing, appendix A.1)."""
        half = (self._levels - 1) * (1 + _BOUND_MARGIN) / 2
        offset = torch.where(self._levels % 2 == 0, 0.5, 0.0)
        return torch.tanh(values + torch.atanh(offset / half)) * half - offset

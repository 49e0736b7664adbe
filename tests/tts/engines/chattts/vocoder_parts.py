"""Vocoders of a checkpoint's files, and streams to decode with them."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from tests.tts.engines.chattts.native_reference import native_require
from tts.engines.base import Samples
from tts.engines.chattts import layout
from tts.engines.chattts.backend import Floats, Ints, Precision
from tts.engines.chattts.checkpoint import Checkpoint
from tts.engines.chattts.config import ModelConfig
from tts.engines.chattts.mel_decoder import MelDecoder
from tts.engines.chattts.native.projections import NativeProjections
from tts.engines.chattts.projection import projections_create
from tts.engines.chattts.vocoder import Vocoder
from tts.engines.chattts.vocos import Vocos
from tts.engines.chattts.windows import Rows, StreamingDecoder, WindowPlan


@dataclass(frozen=True, slots=True)
class Parts:
    """A checkpoint's files as bytes."""

    config: ModelConfig
    decoder: bytes
    dvae: bytes
    vocos: bytes

    @classmethod
    def read(cls, folder: Path) -> "Parts":
        asset = folder / "asset"
        files = [
            (asset / name).read_bytes() for name in (layout.DECODER, layout.DVAE, layout.VOCOS)
        ]
        return cls(Checkpoint.open(folder).config, *files)

    def vocoder(
        self,
        precision: Precision = Precision.FP32,
        *,
        codes: bool = False,
        threads: int = 1,
        group: int = 1,
    ) -> Vocoder:
        """For hidden states, or for audio tokens."""
        build, blob = (
            (MelDecoder.from_dvae, self.dvae) if codes else (MelDecoder.from_decoder, self.decoder)
        )
        cpu = torch.device("cpu")
        projections = projections_create(cpu, precision, threads)
        exact = projections_create(cpu, Precision.FP32, threads)
        mel = build(blob, self.config, "cpu", projections)
        vocos = Vocos(self.vocos, self.config.vocos, "cpu", projections, exact)
        return Vocoder(mel, vocos, projections.torch_threads, group)

    def hidden(self, tokens: int, seed: int = 0) -> Floats:
        random = np.random.default_rng(seed)
        return random.standard_normal((tokens, self.config.gpt.hidden), np.float32)

    def codes(self, tokens: int, seed: int = 0) -> Ints:
        random = np.random.default_rng(seed)
        return random.integers(0, 625, (tokens, 4), np.int32)


def streamed(vocoder: Vocoder, plan: WindowPlan, rows: Rows, steps: Iterable[int]) -> Samples:
    """The joined audio of `rows` that come `steps` at a time, the rest at once."""
    stream = StreamingDecoder(plan)
    audio: list[Samples] = []
    position = 0
    for step in steps:
        stream.push(rows[position : position + step])
        position += step
        while (window := stream.due()) is not None:
            audio += vocoder.decode([window])
    stream.push(rows[position:])
    for window in stream.finish():
        audio += vocoder.decode([window])
    return np.concatenate(audio)


def native_projections(precision: Precision, threads: int = 1) -> NativeProjections:
    """Without matrices; the test is skipped where there is no native code."""
    native_require(precision)
    return NativeProjections(precision, threads)

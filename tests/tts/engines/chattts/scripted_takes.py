"""An engine whose takes last as long, and sound, as a test says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from tests.tts.engines.chattts.looping import Scripted
from tests.tts.engines.chattts.speaking import Bench
from tts.engine.request import Profile
from tts.engines.base import Device, Samples, Shards
from tts.engines.chattts import SAMPLE_RATE, TOKEN_SAMPLES, parts
from tts.engines.chattts.backend import CacheShape, Floats, Ints, Precision
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.vocoder import Vocoder
from tts.engines.chattts.windows import Window

Sound = Callable[[int], Samples]
"""So many samples."""


@dataclass
class Timed(Scripted):
    """The row in a slot ends after so many tokens as `lengths` says, at every attempt."""

    lengths: Mapping[int, int] = field(default_factory=dict)
    _firsts: dict[int, int] = field(default_factory=dict)

    def forward(
        self, inputs: Floats, slots: Ints, positions: Ints, heads: int
    ) -> tuple[Floats, Floats]:
        for slot, position in zip(slots.tolist(), positions.tolist(), strict=True):
            if position == 0:
                self._firsts.pop(slot, None)
                self.ends = {end for end in self.ends if end[0] != slot}
        for slot, position in zip(slots[:heads].tolist(), positions[:heads].tolist(), strict=True):
            first = self._firsts.setdefault(slot, position)
            if slot in self.lengths:
                self.ends.add((slot, first + self.lengths[slot]))
        return super().forward(inputs, slots, positions, heads)


def engine_scripted(
    folder: Path,
    profile: Profile,
    monkeypatch: pytest.MonkeyPatch,
    lengths: Mapping[int, int],
    sounds: Mapping[int, Sound],
) -> Bench:
    """The take in a slot has `lengths` tokens (without end if none), which sound as `sounds`."""

    def create(
        shards: Shards,
        config: GptConfig,
        cache: CacheShape,
        precision: Precision,
        device: Device,
        *,
        stable: bool,
    ) -> Timed:
        return Timed(cache, max_rows=64, config=config, lengths=lengths)

    def decode(vocoder: Vocoder, windows: Sequence[Window]) -> list[Samples]:
        return [
            sounds[int(window.rows[0, 0])](window.settled * TOKEN_SAMPLES) for window in windows
        ]

    monkeypatch.setattr(parts, "backend_create", create)
    monkeypatch.setattr(Vocoder, "decode", decode)
    return Bench.load(folder, profile)


def silence(count: int) -> Samples:
    return np.zeros(count, np.float32)


def hum(count: int) -> Samples:
    phases = np.arange(count) * (2 * np.pi * 200 / SAMPLE_RATE)
    samples: Samples = (0.3 * np.sin(phases)).astype(np.float32)
    return samples


def hiss(count: int) -> Samples:
    return np.random.default_rng(5).standard_normal(count).astype(np.float32) * 0.1

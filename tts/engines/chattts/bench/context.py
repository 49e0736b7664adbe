"""One decode step of a profile alone, at any number of rows and any length of context."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from tts.engine.request import Profile
from tts.engines.base import Device, Shards
from tts.engines.chattts.backend import CacheShape
from tts.engines.chattts.backends import backend_create
from tts.engines.chattts.config_json import config_from_json
from tts.engines.chattts.profile import profile_settings

CONTEXTS = (50, 100, 200, 400, 800)
"""Tokens that each row attends to."""
POSITIONS = 832
"""Of a slot: no less than the longest context."""
_LEAST_ROUNDS = 3
_SEED = 3


@dataclass(frozen=True, slots=True)
class Case:
    """`rows` utterances that take a step together, each after `context` - 1 tokens."""

    rows: int
    context: int


class DecodeStep:
    """A profile's decoder with room for `rows` utterances; sampling is no part of a step."""

    def __init__(self, shards: Shards, profile: Profile, device: Device, rows: int) -> None:
        """Load; raises VersionUnavailable, MemoryError."""
        self.precision = profile_settings(profile, device).precision
        self.config = config_from_json(json.loads(bytes(shards.read("config")))).gpt
        cache = CacheShape(rows, POSITIONS)
        self._backend = backend_create(shards, self.config, cache, self.precision, device)
        random = np.random.default_rng(_SEED)
        self._inputs = random.standard_normal((rows, self.config.hidden), np.float32)

    @property
    def token_bytes(self) -> float:
        """Memory of the cache for one token of one row."""
        cache = self._backend.cache
        return self._backend.cache_bytes / (cache.slots * cache.positions)

    def seconds(self, cases: Sequence[Case], seconds: float) -> list[float]:
        """The least that a step of each case takes within `seconds`, a few rounds at least.

        The cases take turns, so that whatever else the machine does hits all of them; it only
        ever adds to a time. What a slot holds has no influence, so nothing is computed before.
        """
        found = [float("inf")] * len(cases)
        end = perf_counter() + seconds
        for case in cases:
            self._step(case)
        rounds = 0
        while rounds < _LEAST_ROUNDS or perf_counter() < end:
            for place, case in enumerate(cases):
                found[place] = min(found[place], self._step(case))
            rounds += 1
        return found

    def close(self) -> None:
        """Free weights and cache."""
        self._backend.close()

    def _step(self, case: Case) -> float:
        rows = case.rows
        slots = np.arange(rows, dtype=np.int32)
        positions = np.full(rows, case.context - 1, np.int32)
        began = perf_counter()
        self._backend.forward(self._inputs[:rows], slots, positions, rows)
        return perf_counter() - began


def increase(
    steps: Sequence[float], contexts: Sequence[int], rows: int, token_bytes: float, bandwidth: float
) -> list[float]:
    """What each context but the first adds to a step, over the time of reading what it adds."""
    return [
        (step - steps[0]) / (rows * (context - contexts[0]) * token_bytes / bandwidth)
        for step, context in zip(steps[1:], contexts[1:], strict=True)
    ]

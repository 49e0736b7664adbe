"""A tone engine without a core: loaded by its settings, stepped by hand."""

import json
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from tts.engine.request import Profile, VoicePart, VoiceSpec
from tts.engines.base import Device, Samples, StepResult, SynthesisParams, Utterance
from tts.engines.tone.engine import ToneEngine
from tts.text.segment import Language, LanguageSpan, Segment

T = TypeVar("T")
LIMIT = 10.0
ADA = VoiceSpec("ada", "tone", (VoicePart("ada"),), ("en",))
BEI = VoiceSpec("bei", "tone", (VoicePart("bei"),), ("zh",))
BOTH = VoiceSpec("both", "tone", (VoicePart("ada"),), ("en",), companion=BEI)


class JsonShards:
    """The one shard of a tone version."""

    def __init__(self, config: bytes) -> None:
        self._config = config

    def read(self, name: str) -> bytes:
        assert name == "config"
        return self._config

    def resident(
        self,
        names: str | tuple[str, ...],
        transform: str,
        build: Callable[[], T],
        measure: Callable[[T], int] | None = None,
    ) -> T:
        return build()

    def account(self, name: str, size: int) -> None: ...


def text_segment(text: str, language: Language = Language.EN) -> Segment:
    return Segment(0, text, (LanguageSpan(language, text, 0, len(text)),), 0, len(text))


class ToneBench:
    """The engine, what it spent, and helpers to speak with it."""

    def __init__(self, **config: object) -> None:
        self.spent: list[float] = []
        self.arrived = threading.Semaphore(0)
        self.engine = ToneEngine(self.spent.append)
        shards = JsonShards(json.dumps(config).encode())
        self.engine.load(shards, Device(), Profile.STANDARD, self.arrived.release)

    def prepare(
        self, text: str = "hello", voice: VoiceSpec = ADA, seed: int = 1, style: str = ""
    ) -> Utterance:
        params = SynthesisParams(Profile.STANDARD, seed, style)
        return self.engine.prepare(text_segment(text), voice, params)

    def speak(self, *utterances: Utterance) -> dict[int, list[StepResult]]:
        """All results of these utterances, computed together, each to its end."""
        results: dict[int, list[StepResult]] = {u.utterance_id: [] for u in utterances}
        active = list(utterances)
        pooled = self.engine.traits.step_seconds == 0.0
        while active:
            for result in self.engine.step(active):
                results[result.utterance_id].append(result)
            ended = {key for key, rows in results.items() if rows and _ended(rows[-1])}
            active = [u for u in active if u.utterance_id not in ended]
            if active and pooled:
                assert self.arrived.acquire(timeout=LIMIT)
        return results

    def sound(self, *utterances: Utterance) -> list[Samples]:
        """The whole audio of each utterance."""
        results = self.speak(*utterances)
        return [joined(results[u.utterance_id]) for u in utterances]


def joined(results: Sequence[StepResult]) -> Samples:
    return np.concatenate([r.audio for r in results])


def _ended(result: StepResult) -> bool:
    return result.finished or result.error is not None

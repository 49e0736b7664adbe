"""Requests that are cancelled in every state, and what is left of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from pathlib import Path

import numpy as np

from tts.engine.config import BatchingConfig, CoreConfig
from tts.engine.core import EngineCore
from tts.engine.errors import SynthesisFailed
from tts.engine.event import AudioChunk, EngineEvent, FinishReason, SpeechFinished
from tts.engine.observer import NullObserver
from tts.engine.request import Priority, Profile, SpeechRequest, VoicePart, VoiceSpec
from tts.engines.base import Device, SynthesisParams, Utterance
from tts.engines.chattts.bench.memory import Memory, WatchedEngine, engine_load
from tts.engines.chattts.speaker import embedding_bytes
from tts.engines.chattts.voice import Embedding, material_pack
from tts.text.segment import Language, LanguageSpan, Segment

CANCELS, FIRST = 200, 20
"""Of the first, memory is allowed to grow: buffers get the size that they keep."""
_VERSION, _ATTEMPT = "bench", 1
_QUEUE = 4
"""Requests beyond those that the engine takes."""
_TEXTS = 3
_PATIENCE_SECONDS = 1e6
_MOST_TURNS = 400
"""Turns without a single cancel after which something is wrong."""


class State(StrEnum):
    """WAITING for the engine; PREFILL, without a token yet; DECODING, without audio yet;
    WINDOWS, there is audio and tokens wait for their window.
    """

    WAITING = "waiting"
    PREFILL = "prefill"
    DECODING = "decoding"
    WINDOWS = "windows pending"


@dataclass(frozen=True, slots=True)
class Left:
    """What was there after all had been cancelled: nothing but `growth`, it is hoped.

    `cancelled` counts by state. `slots`, `rows` and `utterances` are the engine's, `requests`
    says whether the core still has any. `growth`: bytes by which the process grew between the
    first few cancels and the last.
    """

    cancelled: dict[State, int]
    slots: int
    rows: int
    utterances: int
    requests: bool
    growth: int


class StatefulEngine(WatchedEngine):
    """Knows in which state the request of a seed is."""

    def __init__(self) -> None:
        super().__init__()
        self._keys: dict[int, int] = {}

    def prepare(self, segment: Segment, voice: VoiceSpec, params: SynthesisParams) -> Utterance:
        """Remember whose it is."""
        utterance = super().prepare(segment, voice, params)
        self._keys[params.seed or 0] = utterance.utterance_id
        return utterance

    def state(self, seed: int, heard: bool) -> State | None:
        """None between two states, as with audio that has left and no token after it."""
        speech = self._speeches.get(self._keys.get(seed, 0))
        if speech is None:
            return None if seed in self._keys else State.WAITING
        tokens = any(take.decoder.held for take in speech.takes)
        # Audio of takes that are compared is kept until all have ended.
        if heard or any(take.parts for take in speech.takes):
            return State.WINDOWS if tokens else None
        return State.DECODING if tokens else State.PREFILL

    def forget(self, seed: int) -> None:
        """The request of this seed is over."""
        self._keys.pop(seed, None)


@dataclass(slots=True)
class Cancels:
    """Drives a core by hand, so that everybody's state is known at every moment."""

    engine: StatefulEngine
    profile: Profile
    texts: Sequence[str]
    cancelled: Counter[State] = field(default_factory=Counter)
    _core: EngineCore = field(init=False)
    _numbers: "count[int]" = field(default_factory=lambda: count(1))
    _open: dict[int, bool] = field(default_factory=dict)
    """Whether audio has come, by request."""
    _failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._core = EngineCore(CoreConfig(), self._hear, NullObserver())
        slots = self.engine.slots
        self._core.engine_add(_VERSION, self.profile, self.engine, BatchingConfig(slots, slots))

    def run(self, cancels: int) -> None:
        """Cancel so many, the same number in each state, then all others.

        Raises SynthesisFailed where a state does not come about, or a request fails.
        """
        quota = {state: cancels // len(State) for state in State}
        idle = 0
        while any(quota.values()):
            self._fill()
            self._core.turn()
            if self._failures:
                raise SynthesisFailed(self._failures[0])
            victims = self._victims(quota)
            for state, number in victims.items():
                self._cancel(number)
                quota[state] -= 1
                self.cancelled[state] += 1
            idle = 0 if victims else idle + 1
            if idle > _MOST_TURNS:
                missing = ", ".join(state for state, wanted in quota.items() if wanted)
                raise SynthesisFailed(f"no request is in the state {missing}")
        for number in list(self._open):
            self._cancel(number)
        self._core.turn()

    def left(self, growth: int) -> Left:
        """What is still there."""
        engine = self.engine
        return Left(
            dict(self.cancelled),
            engine.slots - engine.free_slots,
            engine.rows,
            engine.utterances,
            not self._core.is_empty(),
            growth,
        )

    def close(self) -> None:
        """End the core, and with it the engine."""
        self._core.drain(0.0)
        self._core.turn()

    def _victims(self, quota: dict[State, int]) -> dict[State, int]:
        """The oldest request of each state of which some are still wanted."""
        found: dict[State, int] = {}
        for number, heard in self._open.items():
            state = self.engine.state(number, heard)
            if state is not None and quota[state]:
                found.setdefault(state, number)
        return found

    def _fill(self) -> None:
        while len(self._open) < self.engine.slots + _QUEUE:
            number = next(self._numbers)
            request_id = str(number)
            self._core.submit(_request(number, self.profile, self.engine.hidden))
            self._core.append(request_id, _ATTEMPT, _segment(self._text(number)))
            self._core.end_input(request_id, _ATTEMPT)
            self._open[number] = False

    def _text(self, number: int) -> str:
        """So long that a step beside others does not compute all of its prompt."""
        places = range(number, number + _TEXTS)
        return " ".join(self.texts[place % len(self.texts)] for place in places)

    def _cancel(self, number: int) -> None:
        self._core.cancel(str(number), _ATTEMPT)
        self._over(number)

    def _over(self, number: int) -> None:
        self._open.pop(number, None)
        self.engine.forget(number)

    def _hear(self, events: Sequence[EngineEvent]) -> None:
        for event in events:
            number = int(event.request_id)
            if isinstance(event, AudioChunk) and number in self._open:
                self._open[number] = True
            elif isinstance(event, SpeechFinished):
                self._over(number)
                if event.reason is FinishReason.ERROR:
                    self._failures.append(event.message)


def cancels_measure(
    folder: Path, profile: Profile, device: Device, texts: Sequence[str], cancels: int = CANCELS
) -> Left:
    """Cancel in this process and look what is left; raises SynthesisFailed."""
    engine = engine_load(StatefulEngine(), folder, profile, device)
    run = Cancels(engine, profile, texts)
    run.run(FIRST)
    before = Memory.read()
    run.run(cancels - FIRST)
    left = run.left(Memory.read().anonymous - before.anonymous)
    run.close()
    return left


def _request(number: int, profile: Profile, hidden: int) -> SpeechRequest:
    vector = np.random.default_rng(1).standard_normal(hidden).astype(np.float32)
    payload = material_pack(Embedding(embedding_bytes(vector)))
    voice = VoiceSpec("bench", "chattts", (VoicePart("bench", 1.0, payload),), ("en", "zh"))
    return SpeechRequest(
        request_id=str(number),
        tenant_id="bench",
        version=_VERSION,
        profile=profile,
        priority=Priority.STANDARD,
        voice=voice,
        seed=number,
        max_queue_seconds=_PATIENCE_SECONDS,
    )


def _segment(text: str) -> Segment:
    return Segment(0, text, (LanguageSpan(Language.EN, text, 0, len(text)),), 0, len(text))

"""A core driven by hand: a clock that only moves when told, a plain PCM stage, all events kept."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import count

import numpy as np

from tts.engine.config import BatchingConfig, CoreConfig
from tts.engine.core import EngineCore
from tts.engine.event import AudioChunk, EngineEvent, SpeechFinished
from tts.engine.observer import StepStats
from tts.engine.request import Priority, Profile, SpeechRequest, VoicePart, VoiceSpec
from tts.engine.stream import PostProcessorFactory
from tts.engines.base import (
    Device,
    EngineKind,
    EngineTraits,
    Samples,
    Shards,
    SpeechEngine,
    StepResult,
    SynthesisParams,
    Utterance,
)
from tts.text.segment import Language, LanguageSpan, Segment

RATE = 24_000
VOICE = VoiceSpec("ada", "fake", (VoicePart("ada"),), ("en", "zh"))


class Clock:
    """Time that moves when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class PlainPcm:
    """A post-processor that only converts; speed drops samples, so lengths are right."""

    def __init__(self, rate: int, speed: float, gain_db: float) -> None:
        self.peak = 0.0
        self.limited = 0
        self.position = 0
        self._speed = speed
        self._taken = 0.0

    def process(self, audio: Samples) -> bytes:
        before, self._taken = self._taken, self._taken + len(audio) / self._speed
        count = int(self._taken) - int(before)
        self.position += count
        self.peak = max(self.peak, float(np.abs(audio).max(initial=0.0)))
        kept = np.resize(audio, count) if self._speed != 1.0 else audio
        return (kept * 32767).astype("<i2").tobytes()

    def segment_end(self) -> bytes:
        return b""

    def finish(self) -> bytes:
        return b""


def segment(index: int, text: str = "abcdefghij") -> Segment:
    return Segment(index, text, (LanguageSpan(Language.EN, text, 0, len(text)),), 0, len(text))


def speech(request_id: str, **changes: object) -> SpeechRequest:
    values: dict[str, object] = {
        "tenant_id": "acme",
        "version": "v1",
        "profile": Profile.STANDARD,
        "priority": Priority.STANDARD,
        "voice": VOICE,
    }
    return SpeechRequest(request_id, **{**values, **changes})  # type: ignore[arg-type]  # a test's


class FakeEngine:
    """An engine on the test's clock.

    STEP: a step takes `fixed + per_row * rows` seconds of the clock and gives
    each row `step_seconds` of audio. UTTERANCE: a call takes `fixed + per_row *
    rows + rtf * audio`, and arrives when the clock has passed that. A character
    is `character_seconds` of audio; its samples are the segment's own constant.
    """

    def __init__(
        self,
        clock: Clock,
        kind: EngineKind = EngineKind.STEP,
        *,
        fixed: float = 0.0,
        per_row: float = 0.0,
        rtf: float = 0.0,
        step_seconds: float = 0.1,
        character_seconds: float = 0.1,
        batches: bool = False,
    ) -> None:
        steps = kind is EngineKind.STEP
        self.traits = EngineTraits(
            kind, RATE, ("en", "zh"), batches, step_seconds if steps else 0.0
        )
        self.clock = clock
        self.fixed, self.per_row, self.rtf = fixed, per_row, rtf
        self.character_seconds = character_seconds
        self.prepare_hook: Callable[[Segment], None] = lambda segment: None
        self.step_hook: Callable[[Sequence[Utterance]], None] = lambda active: None
        self.batches: list[list[int]] = []
        self.computing: dict[int, float] = {}
        self.made: dict[int, int] = {}
        self.released: list[int] = []
        self.closes = 0
        self._ids = count()

    def load(
        self,
        shards: Shards,
        device: Device,
        profile: Profile,
        notify: Callable[[], None],
        numbers: Profile | None = None,
    ) -> None:
        """Nothing to load."""

    def prepare(self, segment: Segment, voice: VoiceSpec, params: SynthesisParams) -> Utterance:
        self.prepare_hook(segment)
        seconds = len(segment.spoken) * self.character_seconds
        return Utterance(next(self._ids), segment.index, segment, seconds)

    def step(self, active: Sequence[Utterance]) -> list[StepResult]:
        self.step_hook(active)
        new = [u for u in active if u.utterance_id not in self.made]
        self.made.update((u.utterance_id, 0) for u in new)
        if self.traits.kind is EngineKind.STEP:
            return self._step(active)
        for call in [new] if self.traits.batches and new else [[u] for u in new]:
            self.batches.append([u.utterance_id for u in call])
            audio = sum(u.expected_seconds for u in call)
            took = self.fixed + self.per_row * len(call) + self.rtf * audio
            self.computing.update((u.utterance_id, self.clock.now + took) for u in call)
        due = [u for u in active if self.computing[u.utterance_id] <= self.clock.now + 1e-9]
        return [self._result(u, self._samples(u), finished=True) for u in due]

    def _step(self, active: Sequence[Utterance]) -> list[StepResult]:
        self.batches.append([u.utterance_id for u in active])
        self.clock.advance(self.fixed + self.per_row * len(active))
        step = round(self.traits.step_seconds * RATE)
        results = []
        for utterance in active:
            made = self.made[utterance.utterance_id] + step
            self.made[utterance.utterance_id] = made
            finished = made >= round(utterance.expected_seconds * RATE)
            results.append(self._result(utterance, step, finished=finished))
        return results

    def _result(self, utterance: Utterance, samples: int, *, finished: bool) -> StepResult:
        if finished:
            del self.made[utterance.utterance_id]
            self.computing.pop(utterance.utterance_id, None)
        level = 0.1 + 0.01 * utterance.segment_index
        audio = np.full(samples, level, dtype=np.float32)
        return StepResult(utterance.utterance_id, audio, finished, None, 0.001)

    def _samples(self, utterance: Utterance) -> int:
        return round(utterance.expected_seconds * RATE)

    def release(self, utterance: Utterance) -> None:
        self.released.append(utterance.utterance_id)
        self.made.pop(utterance.utterance_id, None)
        self.computing.pop(utterance.utterance_id, None)

    def close(self) -> None:
        self.closes += 1
        assert not self.made


class Recorder:
    """A core without its thread, and what came out of it."""

    def __init__(
        self, config: CoreConfig | None = None, *, factory: PostProcessorFactory = PlainPcm
    ) -> None:
        self.clock = Clock()
        self.sink_error: Exception | None = None
        self.turns: list[list[EngineEvent]] = []
        self.steps: list[StepStats] = []
        self.core = EngineCore(config or CoreConfig(), self._sink, self, self.clock, factory)

    def _sink(self, events: Sequence[EngineEvent]) -> None:
        if self.sink_error is not None:
            raise self.sink_error
        self.turns.append(list(events))

    def step_finished(self, stats: StepStats) -> None:
        self.steps.append(stats)

    @property
    def events(self) -> list[EngineEvent]:
        return [event for turn in self.turns for event in turn]

    def of(self, request_id: str) -> list[EngineEvent]:
        return [event for event in self.events if event.request_id == request_id]

    def end(self, request_id: str) -> SpeechFinished:
        ends = self.ends(request_id)
        assert len(ends) == 1, f"{request_id} ended {len(ends)} times"
        return ends[0]

    def ends(self, request_id: str) -> list[SpeechFinished]:
        return [e for e in self.of(request_id) if isinstance(e, SpeechFinished)]

    def ended(self, request_id: str) -> bool:
        return any(isinstance(e, SpeechFinished) for e in self.of(request_id))

    def pcm(self, request_id: str) -> bytes:
        return b"".join(e.pcm for e in self.of(request_id) if isinstance(e, AudioChunk))

    def started_order(self) -> list[str]:
        order: dict[str, None] = {}
        for event in self.events:
            if type(event).__name__ == "SpeechStarted":
                order.setdefault(event.request_id)
        return list(order)

    def ends_by_reason(self) -> dict[str, list[str]]:
        ends: dict[str, list[str]] = defaultdict(list)
        for event in self.events:
            if isinstance(event, SpeechFinished):
                ends[event.error_code or event.reason].append(event.request_id)
        return dict(ends)

    def add(
        self,
        engine: SpeechEngine,
        version: str = "v1",
        profile: Profile = Profile.STANDARD,
        batching: BatchingConfig | None = None,
    ) -> None:
        self.core.engine_add(version, profile, engine, batching or BatchingConfig())
        self.core.turn()

    def speak(self, request: SpeechRequest, *texts: str, end: bool = True) -> None:
        self.core.submit(request)
        for index, text in enumerate(texts or ("abcdefghij",)):
            self.core.append(request.request_id, request.attempt, segment(index, text))
        if end:
            self.core.end_input(request.request_id, request.attempt)

    def run(self, seconds: float = 60.0, tick: float = 0.01) -> None:
        """Turn until nothing is open or `seconds` have passed.

        The clock moves by the engines' own cost; when a turn has nothing more to
        do it moves on by `tick`, or less if the core wants to look again before.
        """
        until = self.clock.now + seconds
        while self.clock.now < until:
            wake = self.core.turn()
            if self.core.is_empty():
                return
            self.clock.now = max(self.clock.now, min(wake, self.clock.now + tick))

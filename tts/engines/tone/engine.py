"""The tone engine: a SpeechEngine whose cost, mode and failures are chosen by its user.

Failures are asked for by the style of a request, never by its text:
`fail:prepare`, `fail:row` (this request alone), `fail:step` (the whole step or
call), `silent` (an end without audio).
"""

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np

from tts.engine.errors import SynthesisFailed
from tts.engine.request import Profile, VoiceSpec
from tts.engines.base import (
    Device,
    EngineKind,
    EngineTraits,
    Samples,
    Shards,
    StepResult,
    SynthesisParams,
    Utterance,
)
from tts.engines.pool import CancelToken, Emit, UtterancePool
from tts.engines.tone.config import ToneConfig, parse
from tts.engines.tone.sound import LANGUAGES, pitches, render
from tts.text.segment import Segment

NO_AUDIO: Samples = np.zeros(0, dtype=np.float32)
_BLOCK = bytes(1 << 14)


def burn(seconds: float) -> None:
    """Use the processor for `seconds`, without the interpreter's lock, as an engine would."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        hashlib.sha256(_BLOCK)  # releases the lock for large input


@dataclass(frozen=True, slots=True)
class _Tones:
    """The payload of an utterance."""

    hertz: tuple[float, ...]
    seed: int | None
    style: str


@dataclass(frozen=True, slots=True)
class _Call:
    """What the pool computes at once; a batch leaves its sounds here, all at its end."""

    members: tuple[Utterance, ...]
    sounds: dict[int, Samples]

    @property
    def batch(self) -> bool:
        """Whether several utterances share it."""
        return len(self.members) > 1


class ToneEngine:
    """Tones in step mode, in utterance mode (a thread pool), or in batched calls.

    `spend` is called with the computing seconds that the settings ask for;
    simulations pass their clock's. Without it they are computed, or waited
    where the settings say so.
    """

    def __init__(self, spend: Callable[[float], None] | None = None) -> None:
        self.traits = EngineTraits(EngineKind.STEP, ToneConfig().sample_rate, LANGUAGES)
        self._given_spend = spend
        self._spend = spend or burn
        self._config = ToneConfig()
        self._ids = count()
        self._call_ids = count()
        self._pool: UtterancePool | None = None
        self._sound: dict[int, Samples] = {}
        self._position: dict[int, int] = {}
        self._calls: dict[int, _Call] = {}

    def load(
        self,
        shards: Shards,
        device: Device,
        profile: Profile,
        notify: Callable[[], None],
        numbers: Profile | None = None,
    ) -> None:
        """Read the shard "config"; every profile sounds the same."""
        del profile, numbers
        self._config = config = parse(bytes(shards.read("config")))
        if self._given_spend is None:
            self._spend = burn if config.busy else time.sleep
        kind = EngineKind(config.mode)
        self.traits = EngineTraits(
            kind,
            config.sample_rate,
            LANGUAGES,
            batches=config.batches,
            step_seconds=config.step_seconds if kind is EngineKind.STEP else 0.0,
        )
        if kind is EngineKind.UTTERANCE:
            self._pool = UtterancePool(device.threads, notify)

    def prepare(self, segment: Segment, voice: VoiceSpec, params: SynthesisParams) -> Utterance:
        """Find the pitches; raises VoiceUnavailable, NothingToSpeak."""
        hertz = pitches(segment, voice)
        if params.style == "fail:prepare":
            raise SynthesisFailed("asked to fail in prepare")
        payload = _Tones(hertz, params.seed, params.style)
        seconds = len(hertz) * self._config.character_seconds
        return Utterance(next(self._ids), segment.index, payload, seconds)

    def step(self, active: Sequence[Utterance]) -> list[StepResult]:
        """One step for all rows, or what the pool has computed since the last call."""
        if self._pool is None:
            return self._step(active)
        new = [u for u in active if u.utterance_id not in self._position]
        self._position.update((u.utterance_id, 0) for u in new)
        for group in [new] if self._config.batches and new else [[u] for u in new]:
            self._begin(self._pool, tuple(group))
        return self._collect(self._pool)

    def release(self, utterance: Utterance) -> None:
        """Forget it; a call is ended when nobody wants any of it."""
        self._forget(utterance.utterance_id)
        if self._pool is None:
            return
        for call_id, call in list(self._calls.items()):
            if not any(u.utterance_id in self._position for u in call.members):
                del self._calls[call_id]
                self._pool.cancel(call_id)

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.close()
        self._sound.clear()
        self._position.clear()
        self._calls.clear()

    def _step(self, active: Sequence[Utterance]) -> list[StepResult]:
        config = self._config
        began = time.perf_counter()
        gained = config.step_seconds * len(active)
        self._spend(self._cost(len(active), gained))
        if any(_tones(u).style == "fail:step" for u in active):
            raise RuntimeError("asked to fail in step")
        step = max(1, round(config.step_seconds * config.sample_rate))
        rows = [(u, *self._advance(u, step)) for u in active]
        share = (time.perf_counter() - began) / max(1, len(active))
        return [
            StepResult(u.utterance_id, audio, finished, error, share)
            for u, audio, finished, error in rows
        ]

    def _advance(
        self, utterance: Utterance, step: int
    ) -> tuple[Samples, bool, SynthesisFailed | None]:
        key, tones = utterance.utterance_id, _tones(utterance)
        if tones.style == "fail:row":
            self._forget(key)
            return NO_AUDIO, True, SynthesisFailed("asked to fail")
        if key not in self._sound:
            self._sound[key] = self._render(tones)
        sound, start = self._sound[key], self._position.get(key, 0)
        self._position[key] = start + step
        finished = start + step >= len(sound)
        if finished:
            self._forget(key)
        return sound[start : start + step], finished, None

    def _begin(self, pool: UtterancePool, members: tuple[Utterance, ...]) -> None:
        """Compute `members` in one call of the pool."""
        call_id, call = next(self._call_ids), _Call(members, {})
        self._calls[call_id] = call

        def run(emit: Emit, token: CancelToken) -> None:
            if any(_tones(u).style == "fail:step" for u in members):
                raise RuntimeError("asked to fail in a call")
            self._spend(self._cost(len(members), 0.0))
            for utterance in members:
                self._speak(utterance, call, emit, token)

        pool.submit(call_id, run)

    def _speak(self, utterance: Utterance, call: _Call, emit: Emit, token: CancelToken) -> None:
        config = self._config
        if _tones(utterance).style == "fail:row":
            if call.batch:
                return
            raise SynthesisFailed("asked to fail")
        sound = self._render(_tones(utterance))
        piece = max(1, round(config.piece_seconds * config.sample_rate))
        for start in range(0, len(sound), piece):
            part = sound[start : start + piece]
            self._spend(len(part) / config.sample_rate * config.audio_cost_ms / 1000.0)
            token.check()
            if not call.batch:
                emit(part)
        call.sounds[utterance.utterance_id] = sound

    def _collect(self, pool: UtterancePool) -> list[StepResult]:
        results: list[StepResult] = []
        for result in pool.collect():
            call = self._calls.get(result.utterance_id)
            if call is None:
                continue
            wanted = [u for u in call.members if u.utterance_id in self._position]
            results += [self._result(u, call, result) for u in wanted]
            if result.finished:
                del self._calls[result.utterance_id]
                for utterance in wanted:
                    self._forget(utterance.utterance_id)
        return results

    def _result(self, utterance: Utterance, call: _Call, result: StepResult) -> StepResult:
        """The share one utterance has in what its call returned."""
        key, audio, error = utterance.utterance_id, result.audio, result.error
        if call.batch and result.finished and error is None:
            audio = call.sounds.get(key, NO_AUDIO)
            if key not in call.sounds:
                error = SynthesisFailed("asked to fail")
        share = result.compute_seconds / len(call.members)
        return StepResult(key, audio, result.finished, error, share)

    def _render(self, tones: _Tones) -> Samples:
        if tones.style == "silent":
            return NO_AUDIO
        config = self._config
        return render(tones.hertz, config.character_seconds, config.sample_rate, tones.seed)

    def _cost(self, rows: int, audio_seconds: float) -> float:
        config = self._config
        milliseconds = (
            config.cost_ms + config.row_cost_ms * rows + config.audio_cost_ms * audio_seconds
        )
        return milliseconds / 1000.0

    def _forget(self, key: int) -> None:
        self._sound.pop(key, None)
        self._position.pop(key, None)


def _tones(utterance: Utterance) -> _Tones:
    payload = utterance.payload
    assert isinstance(payload, _Tones)  # noqa: S101 - made by this engine's own prepare
    return payload

"""The protocol that every speech engine stands behind."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from tts.engine.errors import EngineError
from tts.engine.request import Profile, VoiceSpec
from tts.text.segment import Segment

Samples = NDArray[np.float32]
T = TypeVar("T")
ShardBytes = bytes | memoryview
"""Read-only; `bytes` makes a copy of what may be mapped from a file."""


class EngineKind(StrEnum):
    """STEP: one step for all active rows at once. UTTERANCE: whole segments in a pool."""

    STEP = "step"
    UTTERANCE = "utterance"


@dataclass(frozen=True, slots=True)
class EngineTraits:
    """What the scheduler must know of an engine, constant once it is loaded.

    `batches`: whether an UTTERANCE engine computes several utterances in one
    call (only then is waiting for a fuller batch of use). `step_seconds`: audio
    seconds one STEP engine row gains by one step (0.0 for UTTERANCE engines).
    `max_utterances`: how many it can compute side by side, whatever its settings
    allow (None: as many as they do).
    """

    kind: EngineKind
    sample_rate: int
    languages: tuple[str, ...]
    batches: bool = False
    step_seconds: float = 0.0
    max_utterances: int | None = None


@dataclass(frozen=True, slots=True)
class SynthesisParams:
    """Per-request parameters an engine may use; speed is applied after the engine."""

    profile: Profile
    seed: int | None = None
    style: str = ""


@dataclass(frozen=True, slots=True)
class Utterance:
    """A prepared segment. `payload` is the engine's own; nobody else looks inside.

    `utterance_id` is unique for the life of the engine; `expected_seconds` a
    guess of its audio's length, for predictions. Utterances of one `cost_kind`
    cost an UTTERANCE engine about the same for a second of audio.
    """

    utterance_id: int
    segment_index: int
    payload: object
    expected_seconds: float
    cost_kind: str = ""


@dataclass(frozen=True, slots=True)
class StepResult:
    """What one step did for one utterance: float32 mono audio, an end, or an error.

    `audio` may be empty. `error` ends the utterance and concerns it alone.
    `compute_seconds` is this utterance's share of the computing time. `notice` is what
    operators should know of it, one line without the text: the core says whose it is.
    """

    utterance_id: int
    audio: Samples
    finished: bool = False
    error: EngineError | None = None
    compute_seconds: float = 0.0
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Device:
    """Where an engine computes: "cpu", "cuda:0", …; `threads` bounds its CPU use."""

    name: str = "cpu"
    threads: int = 2


class Shards(Protocol):
    """Access to a version's shards; the registry decides where they live."""

    def read(self, name: str) -> ShardBytes:
        """The verified bytes of shard `name`, read-only; raises VersionUnavailable."""

    def resident(
        self,
        names: str | tuple[str, ...],
        transform: str,
        build: Callable[[], T],
        measure: Callable[[T], int] | None = None,
    ) -> T:
        """An object derived from a shard, or several, built once (single-flight) and shared.

        It is keyed by (sha256 of each shard, transform), so versions and profiles
        with the same bytes share one: name every shard that goes into it, and let
        the transform tell whatever else does. `measure` tells the bytes of memory that
        it takes; without it the device's own figures are compared. Raises what `build`
        raises, and VersionUnavailable where there is no room for it.
        """

    def account(self, name: str, size: int) -> None:
        """Count bytes that this engine takes alone, until it is closed: caches, buffers.

        Raises VersionUnavailable where there is no room for them.
        """


class SpeechEngine(Protocol):
    """One loaded model version in one profile.

    All methods but `prepare` are called from the engine core's thread only,
    except `close`: it comes last, from any thread, and may wait;
    `prepare` is called from that thread too but must not touch running state.
    """

    traits: EngineTraits

    def load(
        self,
        shards: Shards,
        device: Device,
        profile: Profile,
        notify: Callable[[], None],
        numbers: Profile | None = None,
    ) -> None:
        """Make the engine ready to speak; raises VersionUnavailable.

        `notify` is thread-safe: UTTERANCE engines call it from their pool when
        `step` would have something new to return, STEP engines when a row can go on
        that waited for something else than a step. `numbers` is the profile in whose
        number formats to compute, where `profile` is not well understood in its own;
        engines without such formats pay it no attention.
        """

    def prepare(self, segment: Segment, voice: VoiceSpec, params: SynthesisParams) -> Utterance:
        """Tokenise one segment; raises VoiceUnavailable, NothingToSpeak."""

    def step(self, active: Sequence[Utterance]) -> list[StepResult]:
        """Advance exactly the utterances in `active` and return what is new.

        An utterance not seen before joins; one that is missing is paused (STEP)
        or goes on by itself (UTTERANCE, where a running call cannot pause). STEP
        engines compute one step and return; a row that took part has a result, if
        only an empty one, and one that waits for what `notify` will tell has none.
        UTTERANCE engines start what is new and return what has arrived since the
        last call, without waiting.
        """

    def release(self, utterance: Utterance) -> None:
        """Forget an utterance that did not finish: frees its slot, ends a running call."""

    def close(self) -> None:
        """Free everything; no other method is called afterwards."""

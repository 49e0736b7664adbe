"""A platform in miniature behind the ports of `tts.speech`, observable and without I/O."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Self, TypeVar

from coordination.holds import hold_name
from models_registry.errors import RouteNotFound
from models_registry.selectors import RoutedVersion
from tenants.choices import Scope, TierPriority, TierProfile
from tenants.errors import KeyMissing, KeyUnknown, LimitExceeded
from tenants.principal import Principal, TierSpec
from tenants.reservation import Rate, Rates, Reservation
from tts.engine.errors import EngineError
from tts.engine.event import (
    AudioChunk,
    EngineEvent,
    FinishReason,
    SegmentFinished,
    SpeechFinished,
    SpeechQueued,
    SpeechStarted,
    StageTimes,
)
from tts.engine.outcome import SpeechOutcome
from tts.engine.request import SpeechRequest, VoicePart, VoiceSpec
from tts.speech.order import SpeechOrder
from tts.speech.service import SpeechParts, SpeechService
from tts.text.errors import EmptyText, NoSpeakableText, TextTooLong
from tts.text.segment import Language, LanguageSpan, Segment
from tts.text.split_config import SplitConfig

T = TypeVar("T")
RATE = 24_000
SECRET = "vh_secret"
TOKEN = "short.lived.token"

STANDARD = TierSpec(
    name="standard",
    rank=20,
    priority=TierPriority.STANDARD,
    profile=TierProfile.STANDARD,
    concurrency=4,
    requests_per_minute=60,
    characters_per_minute=10_000,
    max_characters=5_000,
    max_queue_seconds=10.0,
)
REALTIME = replace(
    STANDARD, name="realtime", rank=10, priority=TierPriority.REALTIME,
    profile=TierProfile.REALTIME, allowed_models=("tone", "hidden"),
)  # fmt: skip
PRINCIPAL = Principal(
    tenant_id="tenant-1",
    tenant_slug="demo",
    key_id="key-1",
    key_prefix="vh_secret",
    tier=STANDARD,
    tiers=(REALTIME, STANDARD),
    scopes=frozenset({Scope.SPEECH, Scope.VOICES, Scope.TOKENS}),
    known_tiers=("realtime", "standard", "hq"),
)
ENGLISH = VoiceSpec("af_heart", "tone", (VoicePart("af_heart"),), ("en",))
MANDARIN = VoiceSpec("zf_xiaoxiao", "tone", (VoicePart("zf_xiaoxiao"),), ("zh",))
BOTH = replace(ENGLISH, name="both", companion=MANDARIN)
VOICES = {voice.name: voice for voice in (ENGLISH, MANDARIN, BOTH)}
OWNER = "web-1"
ORDER = SpeechOrder(model="tone", voice="both")


def held_by(request_id: str) -> str:
    """The name by which a service on fakes holds what a request needs."""
    return hold_name(OWNER, request_id)


class VoiceMissing(Exception):
    """Stands for the voices' own error."""


class FakeDirectory:
    """One key, three voices, one version `tone@1` for three models.

    `tone`, `other`, and `hidden`, which is not public: the tier realtime names it.
    """

    def __init__(self) -> None:
        self.configuration = "epoch-1"
        self.revoked = False
        self.principal = PRINCIPAL
        self.version = "tone@1"

    async def authenticate(self, secret: str) -> Principal:
        if not secret:
            raise KeyMissing
        if secret not in {SECRET, TOKEN}:
            raise KeyUnknown
        return PRINCIPAL

    async def authenticate_again(self, principal: Principal) -> Principal:
        if self.revoked:
            raise KeyUnknown
        return replace(self.principal, scopes=self.principal.scopes & principal.scopes)

    async def route(self, model: str, principal: Principal) -> RoutedVersion:
        if model not in {"tone", "other", "hidden"}:
            raise RouteNotFound(model, ["tone"])
        return RoutedVersion(
            route=model, is_public=model != "hidden", model="tone", version=self.version,
            engine="tone", sample_rate=RATE, languages=("zh", "en"), default_tier="",
        )  # fmt: skip

    async def voice(self, name: str, *, tenant_id: str, engine: str) -> VoiceSpec:
        try:
            return VOICES[name]
        except KeyError:
            raise VoiceMissing(name) from None

    async def voices_speaking(self, language: str, *, tenant_id: str, engine: str) -> Sequence[str]:
        return [voice.name for voice in VOICES.values() if voice.speaks(language)]

    async def epoch(self) -> str:
        return self.configuration


class FakeLimiter:
    """Remembers what is held, up to `slots`; the next reserve or extend raises `refusal`."""

    def __init__(self) -> None:
        self.slots = 1_000
        self.held: dict[str, int] = {}
        self.settled: list[tuple[str, int, int]] = []
        self.renewed: list[str] = []
        self.refusal: Exception | None = None

    async def reserve(
        self, *, principal: Principal, tier: TierSpec, request_id: str, characters: int
    ) -> Reservation:
        await asyncio.sleep(0)
        if self.refusal is not None:
            raise self.refusal
        if len(self.held) >= self.slots:
            raise LimitExceeded("full", limit="concurrency", scope="key", retry_after=1.0)
        self.held[request_id] = characters
        return Reservation(
            request_id, (), characters, tier.max_characters, tier.name, "epoch-1",  # type: ignore[arg-type] # the fake needs no scopes
            Rates(Rate(60, 59, 1.0), Rate(10_000, 9_990, 0.06), 3),
        )  # fmt: skip

    async def extend(self, reservation: Reservation, *, characters: int) -> Reservation:
        if self.refusal is not None:
            raise self.refusal
        self.held[reservation.request_id] += characters
        return replace(reservation, characters=reservation.characters + characters)

    async def renew(self, reservation: Reservation) -> bool:
        self.renewed.append(reservation.request_id)
        return True

    async def settle(self, reservation: Reservation, characters_spoken: int) -> bool:
        await asyncio.sleep(0)
        self.settled.append(
            (reservation.request_id, self.held.pop(reservation.request_id), characters_spoken)
        )
        return True


class FakeLeases:
    """Who holds which version; `lost` are reported as gone by the next renewal."""

    def __init__(self) -> None:
        self.held: set[tuple[str, str]] = set()
        self.acquired: list[tuple[str, str]] = []
        self.lost: frozenset[str] = frozenset()
        self.on_acquire: Callable[[], None] = lambda: None

    async def acquire(self, version: str, request_id: str) -> None:
        await asyncio.sleep(0)
        self.held.add((version, request_id))
        self.acquired.append((version, request_id))
        self.on_acquire()

    async def renew(self, version: str, request_ids: Collection[str]) -> frozenset[str]:
        return self.lost

    async def release(self, version: str, request_id: str) -> None:
        await asyncio.sleep(0)
        self.held.discard((version, request_id))


def segment_of(index: int, text: str, start: int) -> Segment:
    """A segment of one span; text with a Chinese letter is Chinese."""
    language = Language.ZH if any("一" <= letter <= "鿿" for letter in text) else Language.EN
    end = start + len(text)
    return Segment(index, text, (LanguageSpan(language, text, start, end),), start, end)


class FakeFeed:
    """A segment ends at a full stop or a flush."""

    def __init__(self) -> None:
        self._rest = ""
        self._start = 0
        self._index = 0

    def append(self, text: str) -> list[Segment]:
        self._rest += text
        found = []
        while "." in self._rest:
            found.append(self._cut(self._rest.index(".") + 1))
        return [segment for segment in found if segment is not None]

    def flush(self) -> list[Segment]:
        segment = self._cut(len(self._rest))
        return [] if segment is None else [segment]

    def flush_words(self) -> list[Segment]:
        segment = self._cut(self._rest.rfind(" ") + 1)
        return [] if segment is None else [segment]

    def _cut(self, length: int) -> Segment | None:
        text, self._rest = self._rest[:length], self._rest[length:]
        start, self._start = self._start, self._start + length
        if not any(letter.isalnum() for letter in text):
            return None
        self._index += 1
        return segment_of(self._index - 1, text, start)


class FakeSplitter:
    """Splits at full stops."""

    def check(self, text: str, max_characters: int) -> None:
        if not text.strip():
            raise EmptyText
        if len(text) > max_characters:
            raise TextTooLong(len(text), max_characters)
        if not any(letter.isalnum() for letter in text):
            raise NoSpeakableText

    def segments(
        self, text: str, language: str | None, split: SplitConfig | None, engine: str
    ) -> Iterator[Segment]:
        feed = FakeFeed()
        yield from feed.append(text)
        yield from feed.flush()

    def feed(self, language: str | None, split: SplitConfig | None, engine: str) -> FakeFeed:
        return FakeFeed()


@dataclass
class Script:
    """What the fake engine does with every segment."""

    chunks: int = 2
    chunk_samples: int = 2_400
    fail: EngineError | None = None
    fail_after_chunks: int = 0
    hang_before_chunk: int | None = None
    compute_seconds: float = 0.0


class FakeStream:
    """A worker that makes ramps of samples, within its credit; `idle` while it has no text."""

    worker_id = "worker-1"
    attempts = 1

    def __init__(
        self, request: SpeechRequest, segments: AsyncIterator[Segment], script: Script
    ) -> None:
        self.request = request
        self.closed = False
        self.idle = False
        self.sent = 0
        self.granted = 0
        self.spoken: list[Segment] = []
        self._segments = segments
        self._script = script
        self._cancelled = asyncio.Event()
        self._moved = asyncio.Event()
        self._resumed = asyncio.Event()

    def resume(self) -> None:
        """Hang no longer."""
        self._resumed.set()

    def __aiter__(self) -> AsyncIterator[EngineEvent]:
        return self._run()

    async def grant(self, samples: int) -> None:
        self.granted += samples
        self._moved.set()

    async def cancel(self) -> None:
        self._cancelled.set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await asyncio.sleep(0)
        self.closed = True

    async def _run(self) -> AsyncIterator[EngineEvent]:
        request_id = self.request.request_id
        yield SpeechQueued(request_id, 1, 0)
        yield SpeechStarted(request_id, 1, 0.002, RATE)
        sequence = 0
        while (segment := await self._next()) is not None:
            self.spoken.append(segment)
            start = self.sent
            for _ in range(self._script.chunks):
                if self._script.fail is not None and sequence >= self._script.fail_after_chunks:
                    yield self._finished(FinishReason.ERROR, self._script.fail)
                    return
                if self._script.hang_before_chunk == sequence:
                    await self._or_cancelled(self._resumed.wait())
                await self._credit()
                if self._cancelled.is_set():
                    break
                pcm = sequence.to_bytes(2, "little") * self._script.chunk_samples
                yield AudioChunk(request_id, 1, sequence, segment.index, self.sent, pcm, RATE)
                self.sent += self._script.chunk_samples
                sequence += 1
            if self._cancelled.is_set():
                break
            yield SegmentFinished(request_id, 1, segment.index, start, self.sent)
        cancelled = self._cancelled.is_set()
        yield self._finished(FinishReason.CANCELLED if cancelled else FinishReason.COMPLETED)

    def _finished(self, reason: FinishReason, error: EngineError | None = None) -> SpeechFinished:
        return SpeechFinished(
            self.request.request_id, 1, reason, len(self.spoken), self.sent,
            StageTimes(queue=0.002, compute=self._script.compute_seconds),
            error.code if error else None, error.message if error else "",
            error.retry_after if error else None,
        )  # fmt: skip

    async def _next(self) -> Segment | None:
        self.idle = True
        segment = await self._or_cancelled(anext(self._segments, None))
        self.idle = False
        return segment

    async def _credit(self) -> None:
        allowed = self.request.initial_credit_samples
        while self.sent + self._script.chunk_samples > allowed + self.granted:
            self._moved.clear()
            await self._or_cancelled(self._moved.wait())
            if self._cancelled.is_set():
                return

    async def _or_cancelled(self, awaitable: Awaitable[T]) -> T | None:
        work = asyncio.ensure_future(awaitable)
        stop = asyncio.ensure_future(self._cancelled.wait())
        try:
            await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
            return work.result() if work.done() else None
        finally:
            for task in (work, stop):
                task.cancel()
            await asyncio.gather(work, stop, return_exceptions=True)


class FakeGateway:
    """Opens fake streams and keeps them for the test to look at."""

    def __init__(self) -> None:
        self.script = Script()
        self.streams: list[FakeStream] = []
        self.started = False

    async def start(self) -> None:
        self.started = True

    async def stop(self) -> None:
        self.started = False

    def open(self, request: SpeechRequest, segments: AsyncIterator[Segment]) -> FakeStream:
        stream = FakeStream(request, segments, self.script)
        self.streams.append(stream)
        return stream

    async def ready_versions(self) -> frozenset[str]:
        return frozenset({"tone@1"})


@dataclass
class Outcomes:
    """An observer that keeps what it is told."""

    seen: list[SpeechOutcome] = field(default_factory=list)

    def speech_finished(self, outcome: SpeechOutcome) -> None:
        self.seen.append(outcome)

    @property
    def only(self) -> SpeechOutcome:
        """The one outcome; a second one fails the test."""
        (outcome,) = self.seen
        return outcome


@dataclass
class Platform:
    """A service on fakes."""

    service: SpeechService
    gateway: FakeGateway
    directory: FakeDirectory
    limiter: FakeLimiter
    leases: FakeLeases
    outcomes: Outcomes

    def assert_nothing_left(self) -> None:
        """No reservation, lease, stream or renewal survives a request."""
        assert self.limiter.held == {}
        assert self.leases.held == set()
        assert len(self.service.keeper) == 0
        assert all(stream.closed for stream in self.gateway.streams)


def platform_new(executor: ThreadPoolExecutor) -> Platform:
    """A fresh service on fakes, on the running event loop."""
    gateway, directory, limiter = FakeGateway(), FakeDirectory(), FakeLimiter()
    leases, outcomes = FakeLeases(), Outcomes()
    service = SpeechService(
        SpeechParts(
            owner=OWNER,
            gateway=gateway,
            directory=directory,
            limiter=limiter,
            leases=leases,
            splitter=FakeSplitter(),
            text_executor=executor,
            encode_executor=executor,
            observers=(outcomes,),
        )
    )
    return Platform(service, gateway, directory, limiter, leases, outcomes)

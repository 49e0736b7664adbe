"""Engine and platform, measured in turns so that the machine's noise hits both alike."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice

from tts.engine.request import Profile
from voicehost.bench.budget import Budget
from voicehost.bench.client import Address, Ask, HttpConnection, Spoken, http_speak
from voicehost.bench.engine_side import EngineSide, segments_of

CONCURRENCY = 8
MOST_PAIRS = 60
MOST_ROUNDS = 12

Speak = Callable[[str], Awaitable[Spoken]]


@dataclass(frozen=True, slots=True)
class Case:
    """One model, voice and profile; `tier` asks the platform for that profile."""

    model: str
    voice: str
    profile: Profile
    tier: str

    def ask(self, text: str) -> Ask:
        """The request that says `text`."""
        return Ask(self.model, self.voice, text, self.tier)


@dataclass(frozen=True, slots=True)
class Round:
    """One closed loop: its length, this process's processor time in it, and each request."""

    seconds: float
    processor: float
    spoken: tuple[Spoken, ...]

    @property
    def audio_seconds(self) -> float:
        """Seconds of audio."""
        return sum(each.audio_seconds for each in self.spoken)


@dataclass(slots=True)
class Rounds:
    """Rounds of one side."""

    rounds: list[Round] = field(default_factory=list)

    @property
    def audio_seconds(self) -> float:
        """Seconds of audio."""
        return sum(each.audio_seconds for each in self.rounds)

    @property
    def rate(self) -> float:
        """Seconds of audio a second."""
        return self.audio_seconds / sum(each.seconds for each in self.rounds)

    @property
    def processor(self) -> float:
        """This process's processor seconds for a second of audio."""
        return sum(each.processor for each in self.rounds) / self.audio_seconds

    @property
    def requests(self) -> int:
        """How many requests."""
        return sum(len(each.spoken) for each in self.rounds)


class Sides:
    """The two sides of a comparison."""

    def __init__(self, engine: EngineSide, address: Address) -> None:
        self._engine = engine
        self._address = address
        self._connections: list[HttpConnection] = []

    async def warm_up(self, case: Case, text: str) -> None:
        """Have both speak once, so that what is loaded at first use is loaded."""
        for side in await self.both(case, [text]):
            await side(text)

    async def both(self, case: Case, texts: Sequence[str]) -> tuple[Speak, Speak]:
        """Engine and platform as functions of a text out of `texts`; one connection each call."""
        segments = {text: await asyncio.to_thread(segments_of, text) for text in texts}
        free = await self._connect(CONCURRENCY)

        async def engine(text: str) -> Spoken:
            return await self._engine.speak(segments[text], case.voice, case.profile)

        async def platform(text: str) -> Spoken:
            connection = free.pop()
            try:
                return await http_speak(connection, case.ask(text))
            finally:
                free.append(connection)

        return engine, platform

    def close(self) -> None:
        """Disconnect."""
        for connection in self._connections:
            connection.close()

    async def _connect(self, count: int) -> list[HttpConnection]:
        connections = [HttpConnection(self._address) for _ in range(count)]
        self._connections += connections
        for connection in connections:
            await connection.open()
        return connections


async def pairs_speak(
    engine: Speak, platform: Speak, texts: Sequence[str], budget: Budget
) -> list[tuple[Spoken, Spoken]]:
    """One request at a time, engine and platform in turns, until the budget is spent.

    Every text as often as every other, at least once.
    """
    pairs: list[tuple[Spoken, Spoken]] = []
    while len(pairs) < MOST_PAIRS and (budget.left or not pairs):
        for text in texts:
            pairs.append((await engine(text), await platform(text)))
    return pairs


async def rounds_speak(
    sides: tuple[Speak, Speak],
    texts: Sequence[str],
    count: int,
    budget: Budget,
    meanwhile: Callable[[Callable[[], Awaitable[Round]]], Awaitable[Round]],
) -> tuple[Rounds, Rounds]:
    """Closed loops of `count` requests, the sides in turns, each first as often as the other.

    As many turns as the budget holds, at least one. The platform's rounds run
    inside `meanwhile`.
    """
    engine, platform = sides
    found = Rounds(), Rounds()

    async def ours() -> None:
        found[0].rounds.append(await round_speak(engine, texts, count))

    async def theirs() -> None:
        found[1].rounds.append(await meanwhile(lambda: round_speak(platform, texts, count)))

    last = 0.0
    while not found[0].rounds or (len(found[0].rounds) < MOST_ROUNDS and budget.left > last):
        left = budget.left
        turn = (ours, theirs) if len(found[0].rounds) % 2 == 0 else (theirs, ours)
        for work in turn:
            await work()
        last = left - budget.left
    return found


async def round_speak(speak: Speak, texts: Sequence[str], count: int) -> Round:
    """`count` requests over `texts`, `CONCURRENCY` at a time."""
    waiting = list(islice(cycle(texts), count))
    waiting.reverse()
    spoken: list[Spoken] = []

    async def place() -> None:
        while waiting:
            spoken.append(await speak(waiting.pop()))

    began, used = time.perf_counter(), time.process_time()
    async with asyncio.TaskGroup() as group:
        for _ in range(CONCURRENCY):
            group.create_task(place())
    return Round(time.perf_counter() - began, time.process_time() - used, tuple(spoken))

"""Engine and platform are measured in turns, and a closed loop keeps its concurrency."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

from voicehost.bench.budget import Budget
from voicehost.bench.client import Spoken
from voicehost.bench.sides import CONCURRENCY, Round, pairs_speak, round_speak, rounds_speak

TEXTS = ("one", "two", "three")
SPOKEN = Spoken(first_audio=0.1, total=0.5, audio_seconds=2.0, timings={})


class Side:
    """Speaks after as many turns of the loop as a text has letters, and takes notes."""

    def __init__(self, name: str, order: list[str]) -> None:
        self.name = name
        self.texts: list[str] = []
        self.at_once = self.most_at_once = 0
        self._order = order

    async def speak(self, text: str) -> Spoken:
        self._order.append(self.name)
        self.texts.append(text)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        for _ in text:
            await asyncio.sleep(0)
        self.at_once -= 1
        return SPOKEN


class Clock:
    """Moves on by a second each time it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


async def test_pairs_alternate_until_the_budget_is_spent() -> None:
    order: list[str] = []
    engine, platform = Side("engine", order), Side("platform", order)
    pairs = await pairs_speak(engine.speak, platform.speak, TEXTS, Budget(2.5, Clock()))
    assert len(pairs) == 6
    assert order == ["engine", "platform"] * 6
    assert engine.texts == platform.texts == [*TEXTS, *TEXTS]


async def test_every_text_is_spoken_once_without_any_budget() -> None:
    order: list[str] = []
    side = Side("either", order)
    assert len(await pairs_speak(side.speak, side.speak, TEXTS, Budget(1e-9, Clock()))) == 3


async def test_a_round_speaks_everything_and_no_more_at_once() -> None:
    side = Side("engine", [])
    found = await round_speak(side.speak, TEXTS, 30)
    assert side.most_at_once == CONCURRENCY
    assert Counter(side.texts) == {"one": 10, "two": 10, "three": 10}
    assert len(found.spoken) == 30
    assert found.audio_seconds == 60.0


async def test_rounds_change_sides_and_start() -> None:
    order: list[str] = []
    engine, platform = Side("engine", order), Side("platform", order)
    inside: list[bool] = []

    async def meanwhile(work: Callable[[], Awaitable[Round]]) -> Round:
        inside.append(True)
        return await work()

    ours, theirs = await rounds_speak(
        (engine.speak, platform.speak), TEXTS, CONCURRENCY, Budget(6.5, Clock()), meanwhile
    )
    turns = [name for name, before in zip(order, [None, *order], strict=False) if name != before]
    assert turns == ["engine", "platform", "engine"]
    assert ours.requests == theirs.requests == 2 * CONCURRENCY
    assert len(inside) == 2
    assert ours.rate > 0


async def test_one_turn_is_measured_without_any_budget() -> None:
    side = Side("either", [])

    async def meanwhile(work: Callable[[], Awaitable[Round]]) -> Round:
        return await work()

    ours, theirs = await rounds_speak(
        (side.speak, side.speak), TEXTS, CONCURRENCY, Budget(1e-9, Clock()), meanwhile
    )
    assert ours.requests == theirs.requests == CONCURRENCY

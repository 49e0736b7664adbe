"""The load generator, a process of its own: listeners at playback pace, and idle sockets.

`python -m voicehost.bench.listeners` reads a `Scene` as one JSON line from
standard input, opens the sockets and writes `{"sockets": N}`; after the next
line of input it lets the listeners in and in the end writes what they heard
(`Heard`). It states its own lateness, so that nobody takes it for the server's.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field

from voicehost.bench.client import BYTES_PER_SECOND, Address, Ask, HttpConnection
from voicehost.bench.errors import RequestFailed
from voicehost.bench.figures import median, percentile
from voicehost.bench.idle_socket import IdleSocket
from voicehost.bench.open_files import open_files_allow
from voicehost.bench.playback import Playback

READ_AHEAD = 2.0
"""Seconds of audio that a listener takes before it stops reading for a while."""
RECEIVE_BUFFER = 65_536
CONNECT_TOGETHER = 50
KEEP_ALIVE_SECONDS = 25.0
PROBES = 8
PROBE_SECONDS = 0.1
TICK_SECONDS = 0.01
SPARE_FILES = 200
SHOWN_FAILURES = 3


@dataclass(frozen=True, slots=True)
class Scene:
    """Who listens: `streams` begin within `ramp_seconds`; all is over after `most_seconds`."""

    address: Address
    ask: Ask
    streams: int
    idle_sockets: int
    ramp_seconds: float
    most_seconds: float

    @classmethod
    def from_json(cls, text: str) -> "Scene":
        """Read what `to_json` wrote."""
        values = json.loads(text)
        values["address"], values["ask"] = Address(**values["address"]), Ask(**values["ask"])
        return cls(**values)

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class Spread:
    """Middle, 99th percentile and largest of some seconds."""

    p50: float
    p99: float
    most: float

    @classmethod
    def of(cls, values: list[float]) -> "Spread":
        """The spread of a sample; NaN where it is empty."""
        return cls(median(values), percentile(values, 0.99), percentile(values, 1.0))


@dataclass(frozen=True, slots=True)
class Heard:
    """What the listeners heard.

    `dry_streams` ran dry at least once (see `Playback`). `shortest` and
    `longest` are bytes of audio of complete streams, which speak the same text.
    `own_lateness` is how late this process's own clock ticks came.
    """

    complete: int
    dry_streams: int
    lateness: Spread
    first_audio: Spread
    shortest: int
    longest: int
    sockets_lost: int
    echo: Spread
    own_lateness: Spread
    failures: list[str] = field(default_factory=list)

    @classmethod
    def from_json(cls, text: str) -> "Heard":
        """Read what the generator wrote."""
        values = json.loads(text)
        for name in ("lateness", "first_audio", "echo", "own_lateness"):
            values[name] = Spread(**values[name])
        return cls(**values)


class Listener:
    """One stream, read no faster than it is played (but for `READ_AHEAD` seconds)."""

    def __init__(self, address: Address, ask: Ask) -> None:
        self.playback = Playback(BYTES_PER_SECOND)
        self.first_audio: float | None = None
        self._ask = ask
        self._connection = HttpConnection(address)
        self._began = 0.0

    async def listen(self, delay: float) -> None:
        """Wait, ask, hear all of it; raises RequestFailed."""
        await asyncio.sleep(delay)
        try:
            await self._connection.open(receive_buffer=RECEIVE_BUFFER)
            self._began = time.perf_counter()
            await self._connection.request(self._ask.body(), self._heard)
        except OSError as error:
            raise RequestFailed(f"no connection: {error}") from error
        finally:
            self._connection.close()

    def _heard(self, count: int) -> None:
        now = time.perf_counter()
        if self.first_audio is None:
            self.first_audio = now - self._began
        self.playback.arrived(count, now)
        ahead = self.playback.ahead(now)
        transport = self._connection.transport
        if ahead > READ_AHEAD and transport is not None and transport.is_reading():
            transport.pause_reading()
            loop = asyncio.get_running_loop()
            loop.call_later(ahead - READ_AHEAD / 2, self._read_on)

    def _read_on(self) -> None:
        transport = self._connection.transport
        if transport is not None and not transport.is_closing() and not transport.is_reading():
            transport.resume_reading()


class Generator:
    """Plays a scene."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._sockets: list[IdleSocket] = []
        self._ticks: list[float] = []

    async def sockets_open(self) -> int:
        """Open the idle sockets; returns how many. Raises RequestFailed."""
        gate = asyncio.Semaphore(CONNECT_TOGETHER)

        async def one() -> None:
            async with gate:
                socket = IdleSocket(self._scene.address)
                await socket.connect()
                self._sockets.append(socket)

        async with asyncio.TaskGroup() as group:
            for _ in range(self._scene.idle_sockets):
                group.create_task(one())
        return len(self._sockets)

    async def play(self) -> Heard:
        """Let the listeners in and wait for their ends."""
        scene = self._scene
        listeners = [Listener(scene.address, scene.ask) for _ in range(scene.streams)]
        pause = scene.ramp_seconds / max(1, scene.streams)
        tasks = [
            asyncio.create_task(listener.listen(number * pause))
            for number, listener in enumerate(listeners)
        ]
        others = [asyncio.create_task(work()) for work in (self._tick, self._probe, self._keep)]
        await asyncio.wait(tasks, timeout=scene.most_seconds)
        for task in (*tasks, *others):
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*others, return_exceptions=True)
        return self._heard(listeners, ends)

    def _heard(self, listeners: list[Listener], ends: list[BaseException | None]) -> Heard:
        complete = [listener for listener, end in zip(listeners, ends, strict=True) if end is None]
        failures = [
            f"{_why(end)}, after {listener.playback.received:,} bytes"
            for listener, end in zip(listeners, ends, strict=True)
            if end is not None
        ]
        sizes = [listener.playback.received for listener in complete]
        return Heard(
            complete=len(complete),
            dry_streams=sum(listener.playback.underruns > 0 for listener in listeners),
            lateness=Spread.of([late for each in listeners for late in each.playback.lateness]),
            first_audio=Spread.of(
                [each.first_audio for each in listeners if each.first_audio is not None]
            ),
            shortest=min(sizes, default=0),
            longest=max(sizes, default=0),
            sockets_lost=sum(not socket.open for socket in self._sockets),
            echo=Spread.of([trip for socket in self._sockets for trip in socket.round_trips]),
            own_lateness=Spread.of(self._ticks),
            failures=failures[:SHOWN_FAILURES],
        )

    def close(self) -> None:
        """Break all sockets off."""
        for socket in self._sockets:
            socket.close()

    async def _tick(self) -> None:
        """Note how late this process wakes up."""
        while True:
            due = time.perf_counter() + TICK_SECONDS
            await asyncio.sleep(TICK_SECONDS)
            self._ticks.append(max(0.0, time.perf_counter() - due))

    async def _probe(self) -> None:
        """Have some idle sockets answer all the time."""
        probes = self._sockets[:PROBES]
        while probes:
            for socket in probes:
                socket.ping()
                await asyncio.sleep(PROBE_SECONDS / len(probes))

    async def _keep(self) -> None:
        """Say something on the others now and then, as clients do that want to stay."""
        others = self._sockets[PROBES:]
        while others:
            for socket in others:
                socket.ping()
                await asyncio.sleep(KEEP_ALIVE_SECONDS / len(others))


def _why(end: BaseException) -> str:
    return "not over in time" if isinstance(end, asyncio.CancelledError) else str(end) or repr(end)


async def _run(read: Callable[[], str], write: Callable[[str], None]) -> None:
    scene = Scene.from_json(await asyncio.to_thread(read))
    open_files_allow(scene.streams + scene.idle_sockets + SPARE_FILES)
    generator = Generator(scene)
    try:
        write(json.dumps({"sockets": await generator.sockets_open()}))
        await asyncio.to_thread(read)
        write(json.dumps(asdict(await generator.play())))
    finally:
        generator.close()


def main() -> None:
    """Play the scene of standard input; failures are one line on standard error."""

    def write(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(_run(sys.stdin.readline, write))
    except* RequestFailed as failures:
        sys.exit(str(failures.exceptions[0]))


if __name__ == "__main__":
    main()

"""Where every request for speech begins, for HTTP, WebSocket and jobs alike."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import structlog

from tenants.principal import Principal
from tts.engine.observer import OutcomeObserver
from tts.engine.outcome import SpeechOutcome
from tts.engine.traces import trace_of
from tts.gateway.base import SpeechGateway
from tts.speech.ask import SpeechAsk
from tts.speech.encoding import SpeechEncoder
from tts.speech.errors import ServerStopping
from tts.speech.keeper import RENEW_SECONDS, Keeper
from tts.speech.order import SpeechOrder
from tts.speech.plan import Planner
from tts.speech.ports import Directory, Limiter, RouteLeases, TextSplitter
from tts.speech.session import SpeechSession
from tts.speech.text import TextPiece
from tts.text.split_config import SplitConfig

log = structlog.get_logger(__name__)


def request_id_new() -> str:
    """A fresh request id."""
    return f"req_{secrets.token_hex(12)}"


@dataclass(frozen=True, slots=True)
class SpeechParts:
    """What a service is made of. Splitting and encoding run in the executors, never on the loop.

    `owner` is the process: what it holds in Redis ends with it.
    """

    gateway: SpeechGateway
    directory: Directory
    limiter: Limiter
    leases: RouteLeases
    splitter: TextSplitter
    text_executor: Executor
    encode_executor: Executor
    owner: str
    observers: Sequence[OutcomeObserver] = ()
    renew_seconds: float = RENEW_SECONDS
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time


class SpeechService:
    """Opens sessions; one instance a process and event loop."""

    def __init__(self, parts: SpeechParts) -> None:
        self.owner = parts.owner
        self.gateway = parts.gateway
        self.limiter = parts.limiter
        self.leases = parts.leases
        self.splitter = parts.splitter
        self.text_executor = parts.text_executor
        self.keeper = Keeper(parts.leases, interval=parts.renew_seconds)
        self.planner = Planner(parts.directory)
        self.clock = parts.clock
        self.wall = parts.wall
        self._directory = parts.directory
        self._encode_executor = parts.encode_executor
        self._observers = tuple(parts.observers)
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping = asyncio.Event()
        self._cutting = asyncio.Event()

    async def start(self) -> None:
        """Connect, on the event loop that will use it."""
        await self.gateway.start()
        self.keeper.start()

    def drain(self) -> None:
        """Take nothing new from now on; what runs goes on. Sockets watch `draining`."""
        self._stopping.set()

    @property
    def draining(self) -> asyncio.Event:
        """Set once this process takes nothing new."""
        return self._stopping

    def cut(self) -> None:
        """From now on whatever ends before its time is ended by the process, not by its client."""
        self.drain()
        self._cutting.set()

    @property
    def cutting(self) -> asyncio.Event:
        """Set once the process ends what still runs."""
        return self._cutting

    async def stop(self) -> None:
        """End what is left and disconnect."""
        self.cut()
        await self.gateway.stop()
        if self._tasks:
            await asyncio.wait(tuple(self._tasks))
        await self.keeper.stop()

    async def authenticate(self, secret: str) -> Principal:
        """Whose key or token `secret` is; raises an authentication error."""
        return await self._directory.authenticate(secret)

    async def authenticate_again(self, principal: Principal) -> Principal:
        """The same caller as things are now; raises once its key is no longer good."""
        return await self._directory.authenticate_again(principal)

    def session(
        self,
        principal: Principal,
        order: SpeechOrder,
        text: str | AsyncIterator[TextPiece],
        *,
        transport: str,
        request_id: str = "",
        received: float | None = None,
        split: SplitConfig | None = None,
    ) -> SpeechSession:
        """A session to be entered with `async with`.

        `text` is whole, or pieces as they arrive. `received` (on the service's
        clock) is when the request came, if that was before now. `split` says how
        the text is cut, where not as usual.
        """
        ask = SpeechAsk(
            principal=principal,
            order=order,
            request_id=request_id or request_id_new(),
            transport=transport,
            received=self.clock() if received is None else received,
            text=text,
            split=split,
        )
        return SpeechSession(self, ask)

    def encoder(self, order: SpeechOrder, input_rate: int) -> SpeechEncoder:
        """The encoder of one response for audio at the engine's `input_rate` Hz."""
        return SpeechEncoder(order.format, input_rate, order.output_rate, self._encode_executor)

    def check_open(self) -> None:
        """Raise ServerStopping once this process takes nothing new."""
        if self._stopping.is_set():
            raise ServerStopping

    def spawn(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        """Run `work` to its end, also when whoever asked for it is cancelled."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def report(self, outcome: SpeechOutcome) -> None:
        """Tell every observer how a request went; one that fails does not stop the others."""
        for observer in self._observers:
            try:
                observer.speech_finished(outcome)
            except Exception as error:  # noqa: BLE001 - an observer's own
                name = type(observer).__name__
                log.error("observer_failed", observer=name, trace=trace_of(error))

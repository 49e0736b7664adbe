"""The contexts of one socket: begun, looked up, ended, drained and cut."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from tenants.principal import Principal
from tts.consumers.context import SpeechContext
from tts.consumers.outbox import Outbox
from tts.consumers.protocol import AudioTransport
from tts.consumers.settings import ContextSettings, SessionSettings, SocketLimits
from tts.speech.errors import ContextEnded, ServerStopping, TooManyContexts
from tts.speech.service import SpeechService
from tts.speech.session import SETTLE_SECONDS

# Names of refused contexts that a socket remembers; beyond, the oldest is forgotten.
MAX_REFUSED = 100


class OpenContexts:
    """Each speaks in a task of its own; true while one is open.

    `caller` and `overflow` are as for a `SpeechContext`.
    """

    def __init__(
        self,
        service: SpeechService,
        caller: Callable[[], Awaitable[Principal]],
        outbox: Outbox,
        limits: SocketLimits,
        overflow: Callable[[], None],
    ) -> None:
        self._service = service
        self._caller = caller
        self._outbox = outbox
        self._limits = limits
        self._overflow = overflow
        self._named: dict[str, SpeechContext] = {}
        self._refused: dict[str, None] = {}
        self._tasks: dict[asyncio.Task[None], SpeechContext] = {}
        self._turns = {
            AudioTransport.BINARY: asyncio.Semaphore(1),
            AudioTransport.BASE64: asyncio.Semaphore(limits.parallel_contexts),
        }
        self._cancelling = asyncio.Lock()

    def __bool__(self) -> bool:
        return bool(self._tasks)

    # -- one of them -------------------------------------------------------------

    def named(self, context_id: str) -> SpeechContext | None:
        """The context of this name, also one that takes no more text."""
        return self._named.get(context_id)

    def taking(self, context_id: str) -> SpeechContext | None:
        """The context of this name that still takes text; raises ContextEnded after its end."""
        found = self._named.get(context_id)
        if found is not None and found.ended:
            raise ContextEnded(context_id, by_client=found.ended_by_client)
        return found

    def begin(self, context_id: str, session: SessionSettings) -> SpeechContext:
        """A new context; raises ServerStopping, TooManyContexts and what the settings raise."""
        self._service.check_open()
        if len(self._named) >= self._limits.contexts:
            raise TooManyContexts(self._limits.contexts)
        settings = ContextSettings(
            order=session.order(),
            transport=session.transport,
            max_buffer_delay=session.max_buffer_delay_ms / 1000,
            buffer_characters=self._limits.buffer_characters,
            idle_seconds=self._limits.idle_seconds,
            split=session.split,
        )
        context = SpeechContext(
            context_id,
            settings,
            self._service,
            self._caller,
            self._outbox,
            self._turns[settings.transport],
            over=self._over,
            overflow=self._overflow,
        )
        self._named[context_id] = context
        self.refusal_forget(context_id)
        task = asyncio.create_task(context.run(), name=f"context {context_id}")
        self._tasks[task] = context
        task.add_done_callback(partial(self._task_over, context))
        return context

    def refuse(self, context_id: str) -> None:
        """Remember that text was refused; nothing where a context of this name is open."""
        if context_id in self._named:
            return
        self._refused[context_id] = None
        if len(self._refused) > MAX_REFUSED:
            del self._refused[next(iter(self._refused))]

    def refusal_forget(self, context_id: str) -> bool:
        """The client is done with that name; returns whether it had been refused last."""
        found = context_id in self._refused
        self._refused.pop(context_id, None)
        return found

    def _over(self, context: SpeechContext) -> None:
        """Its name is free: the next text of that name begins a new context."""
        if self._named.get(context.context_id) is context:
            del self._named[context.context_id]

    def _task_over(self, context: SpeechContext, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        self._over(context)

    # -- their end ---------------------------------------------------------------

    async def cancel(self, context_id: str, answer: Callable[[str, dict[str, Any]], None]) -> None:
        """Stop one ("*": all); `answer` gets each name and what was sent, once it is free."""
        every = context_id == "*"
        # Without any, the answer is to the "*" itself: whoever cancels waits for one.
        names = (every and list(self._named)) or [context_id]
        for name in list(self._refused) if every else names:
            self.refusal_forget(name)
        # Cancelling what is already over is no error: the two cross on the wire.
        sent = {name: {"audio_sent_ms": 0.0, "chars_spoken": 0} for name in names}
        found = [self._named.pop(name) for name in names if name in self._named]
        for context in found:
            sent[context.context_id] = context.break_off()
        tasks = {task for task, owner in self._tasks.items() if owner in found}
        async with self._cancelling:
            for task in tasks:
                task.cancel()
            if tasks:
                # Whoever hears of it may begin anew at once, and needs the slots for that.
                await asyncio.wait(tasks, timeout=SETTLE_SECONDS)
            for name in names:
                answer(name, sent[name])

    def end(self) -> None:
        """No more text for any."""
        for context in self._named.values():
            if not context.ended:
                context.end()

    def drain(self) -> None:
        """Let those that speak go on, until nothing more comes; refuse those that wait to."""
        for context in list(self._named.values()):
            if context.begun:
                context.hurry()
            else:
                self._refuse(context, fatal=False)

    def fall(self) -> None:
        """Tell of each that it ends in an error of the whole socket, and send no more of it."""
        for context in list(self._named.values()):
            context.fall()

    def cut(self) -> None:
        """Tell each that is left that the server stops, and stop it."""
        for context in list(self._named.values()):
            self._refuse(context, fatal=True)

    def _refuse(self, context: SpeechContext, *, fatal: bool) -> None:
        context.fail(ServerStopping(), fatal=fatal)
        for task, owner in self._tasks.items():
            if owner is context:
                task.cancel()

    async def finish(self) -> None:
        """Wait until every context is over and every cancel answered."""
        if self._tasks:
            await asyncio.wait(set(self._tasks))
        # A cancel is answered a moment after its contexts have ended.
        async with self._cancelling:
            pass

    def break_off(self, cause: str = "") -> None:
        """Stop every context now; `cause` is why, where neither the client nor the server left."""
        for task, context in self._tasks.items():
            if cause:
                context.break_off(cause)
            context.mute()
            task.cancel()

    async def abandon(self, cause: str = "") -> None:
        """As `break_off`, and wait until all is free."""
        self.break_off(cause)
        await asyncio.gather(*self._tasks, return_exceptions=True)

"""What the HTTP and the WebSocket consumer share."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from channels.consumer import AsyncConsumer, get_handler_name
from channels.exceptions import StopConsumer
from channels.utils import await_many_dispatch

from tts.engine.traces import trace_of
from tts.headers import bearer_of, header_of
from tts.runtime import runtime_get
from tts.speech.problem import Problem, problem_of
from tts.speech.service import SpeechService

log = structlog.get_logger(__name__)
Message = dict[str, Any]
Send = Callable[[Message], Awaitable[None]]
Receive = Callable[[], Awaitable[Message]]
STALL_SECONDS = 30.0
# No text has this form; a key (vh_…) or a token (three parts) may stand there by mistake.
_CLIENT_ID = re.compile(r"(?!.*vh_)(?!.*\..*\.)[A-Za-z0-9_.:/+=-]{1,128}")


async def service_of_process() -> SpeechService:
    return (await runtime_get()).service


def problem_logged(error: Exception, event: str) -> Problem:
    """What a client is told about `error`; one that nobody foresaw is logged with its stack."""
    problem = problem_of(error)
    if problem.status == 500:
        log.error(event, code=problem.code, trace=trace_of(error))
    return problem


class SpeechConsumer(AsyncConsumer):
    """A consumer that speaks through the process's `SpeechService`.

    It listens to no channel layer, since requests and audio do not travel by
    it, and touches no database connection of its own, so that a message costs
    neither a Redis call nor a hop to a thread.
    """

    connection: Message
    """The ASGI scope: Channels types its own as a WebSocket's."""

    def __init__(
        self, service: Callable[[], Awaitable[SpeechService]] = service_of_process
    ) -> None:
        self._service = service

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Run the connection: dispatch what `sources` yield until a handler stops it."""
        self.scope = self.connection = scope
        self.base_send = send
        try:
            await await_many_dispatch(
                self.sources(receive),  # type: ignore[arg-type]  # the stub means the messages
                self.dispatch,
            )
        except StopConsumer:
            pass
        finally:
            await self.closed()

    def sources(self, receive: Receive) -> list[Receive]:
        """Where messages come from."""
        return [receive]

    async def closed(self) -> None:
        """The connection is over, whatever happened: free what it held."""

    async def dispatch(self, message: Message) -> None:
        """Call the handler named after the message's type."""
        handler = getattr(self, get_handler_name(message), None)
        if handler is None:
            raise ValueError(f"no handler for the message type {message['type']!r}")
        await handler(message)

    def header(self, name: str) -> str:
        """The first header of this name (lower case), or an empty string."""
        return header_of(self.connection, name)

    @property
    def bearer(self) -> str:
        """The secret of the Authorization header, or an empty string."""
        return bearer_of(self.header("authorization"))

    @property
    def client_request_id(self) -> str:
        """The client's own id of this request, for logs only; empty unless it looks like one."""
        given = self.header("x-request-id")
        return given if _CLIENT_ID.fullmatch(given) else ""

"""One HTTP exchange with an ASGI application, without a server."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

Application = Callable[[Any, Any, Any], Awaitable[None]]


class Exchange:
    """What the application sent; `complete` says whether it ended the response itself."""

    def __init__(self, application: Application, scope: dict[str, Any]) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.chunks: list[bytes] = []
        self.complete = False
        self.begun = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()
        self._received: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._task = asyncio.ensure_future(application(scope, self._received.get, self._send))

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    @property
    def error(self) -> dict[str, Any]:
        """The error of the envelope."""
        envelope = json.loads(self.body)
        assert set(envelope) == {"error"}
        error = envelope["error"]
        assert set(error) == {"message", "type", "param", "code"}
        return dict(error)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The server-sent events, without comments."""
        blocks = self.body.decode().split("\n\n")
        assert blocks.pop() == ""
        return [json.loads(block.removeprefix("data: ")) for block in blocks if block[0] != ":"]

    def give(self, body: bytes, *, more: bool = False) -> None:
        """Send (a part of) the request's body."""
        self._received.put_nowait({"type": "http.request", "body": body, "more_body": more})

    def disconnect(self) -> None:
        self._received.put_nowait({"type": "http.disconnect"})

    async def done(self) -> "Exchange":
        """Wait until the application has returned."""
        await asyncio.wait_for(self._task, 10)
        return self

    async def _send(self, message: dict[str, Any]) -> None:
        await self.open.wait()
        assert not self.complete
        if message["type"] == "http.response.start":
            assert not self.status
            self.status = message["status"]
            for name, value in message["headers"]:
                assert name == name.lower()
                assert name.decode() not in self.headers
                self.headers[name.decode()] = value.decode()
        else:
            assert message["type"] == "http.response.body"
            assert self.status
            self.chunks.append(message["body"])
            self.complete = not message["more_body"]
            self.begun.set()


def begin(
    application: Application, *, method: str = "POST", headers: dict[str, str] | None = None
) -> Exchange:
    """An exchange whose body is still to be given."""
    scope = {
        "type": "http",
        "method": method,
        "path": "/v1/audio/speech",
        "headers": [(name.encode(), value.encode()) for name, value in (headers or {}).items()],
    }
    return Exchange(application, scope)

"""The body of a speech response: audio as it is, or server-sent events.

Nothing is sent before the first audio, so that whatever fails earlier is an
ordinary HTTP error.
"""

import asyncio
import base64
import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from tts.consumers.base import STALL_SECONDS, Send
from tts.speech.account import SpeechAccount
from tts.speech.errors import ListenerStalled
from tts.speech.order import SpeechOrder, StreamFormat
from tts.speech.problem import Problem

KEEPALIVE_SECONDS = 15.0
# An output token is 20 ms of audio: the unit that clients' usage figures expect is
# the model's, and engines without tokens have none.
TOKENS_PER_SECOND = 50


class SpeechBody(Protocol):
    """How encoded audio becomes a response body."""

    content_type: str

    async def audio(self, data: bytes) -> float:
        """Send audio, the headers first; returns the seconds that the transport took."""

    async def finish(self, account: SpeechAccount, characters: int) -> None:
        """End the body."""

    async def fail(self, problem: Problem) -> bool:
        """Tell of an error after the first byte; False: only a broken transfer can."""

    async def close(self) -> None:
        """Free what the body holds."""


class ResponseSender:
    """Sends one HTTP response, head first; a write that takes too long raises ListenerStalled."""

    def __init__(
        self, send: Send, head: Callable[[], dict[str, Any]], stall_seconds: float = STALL_SECONDS
    ) -> None:
        self.started = False
        self._send = send
        self._head = head
        self._stall_seconds = stall_seconds

    async def write(self, data: bytes, *, last: bool = False) -> float:
        """Send `data`; returns the seconds until the transport had taken it."""
        begun = time.monotonic()
        try:
            async with asyncio.timeout(self._stall_seconds):
                if not self.started:
                    self.started = True
                    await self._send(self._head())
                if data or last:
                    await self._send(
                        {"type": "http.response.body", "body": data, "more_body": not last}
                    )
        except TimeoutError as error:
            raise ListenerStalled(self._stall_seconds) from error
        return time.monotonic() - begun


class AudioBody:
    """The bytes of the encoder, as they are."""

    def __init__(self, sender: ResponseSender, order: SpeechOrder) -> None:
        self.content_type = order.format.content_type(order.output_rate)
        self._sender = sender

    async def audio(self, data: bytes) -> float:
        """Send encoded audio."""
        return await self._sender.write(data)

    async def finish(self, account: SpeechAccount, characters: int) -> None:
        """End the body."""
        await self._sender.write(b"", last=True)

    async def fail(self, problem: Problem) -> bool:
        """There is no place for an error among audio bytes."""
        return False

    async def close(self) -> None:
        """Nothing is held."""


class EventBody:
    """Server-sent events, with a comment every 15 s in which nothing else was sent."""

    content_type = "text/event-stream; charset=utf-8"

    def __init__(self, sender: ResponseSender, keepalive: float = KEEPALIVE_SECONDS) -> None:
        self._sender = sender
        self._keepalive = keepalive
        self._lock = asyncio.Lock()
        self._sent = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def audio(self, data: bytes) -> float:
        """Send a `speech.audio.delta`; its field is `audio`."""
        if not data:
            return await self._write(b"")
        text = base64.b64encode(data).decode("ascii")
        seconds = await self._write(_event({"type": "speech.audio.delta", "audio": text}))
        if self._task is None:
            self._task = asyncio.create_task(self._keep_alive(), name="speech-keepalive")
        return seconds

    async def finish(self, account: SpeechAccount, characters: int) -> None:
        """Send `speech.audio.done` with what was used: code points in, 20 ms of audio out."""
        await self.close()
        rate = account.sample_rate or 1
        spoken = round(account.samples_received * TOKENS_PER_SECOND / rate)
        usage = {
            "input_tokens": characters,
            "output_tokens": spoken,
            "total_tokens": characters + spoken,
        }
        await self._write(_event({"type": "speech.audio.done", "usage": usage}), last=True)

    async def fail(self, problem: Problem) -> bool:
        """Send an `error` event and end the body."""
        await self.close()
        await self._write(_event({"type": "error", **problem.envelope()}), last=True)
        return True

    async def close(self) -> None:
        """End the keep-alive."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _keep_alive(self) -> None:
        while True:
            self._sent.clear()
            try:
                async with asyncio.timeout(self._keepalive):
                    await self._sent.wait()
            except TimeoutError:
                with suppress(ListenerStalled):
                    await self._write(b": keepalive\n\n")

    async def _write(self, data: bytes, *, last: bool = False) -> float:
        async with self._lock:
            seconds = await self._sender.write(data, last=last)
        self._sent.set()
        return seconds


def body_for(order: SpeechOrder, sender: ResponseSender) -> SpeechBody:
    """The body that the order asks for."""
    if order.stream_format is StreamFormat.SSE:
        return EventBody(sender)
    return AudioBody(sender, order)


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value, separators=(",", ":")).encode() + b"\n\n"

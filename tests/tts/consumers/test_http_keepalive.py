"""A comment keeps a quiet stream of events alive."""

import asyncio
from typing import Any

from tts.consumers.response import EventBody, ResponseSender


async def test_comment_after_silence_and_none_after_the_end() -> None:
    sent: list[bytes] = []
    commented = asyncio.Event()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message.get("body", b""))
        if message.get("body") == b": keepalive\n\n":
            commented.set()

    body = EventBody(ResponseSender(send, lambda: {"type": "http.response.start"}), keepalive=0.01)
    assert sent == []
    await body.audio(b"x")
    await asyncio.wait_for(commented.wait(), 5)
    await body.close()
    assert "speech-keepalive" not in {task.get_name() for task in asyncio.all_tasks()}

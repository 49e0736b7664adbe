"""A gateway process that opens requests and reads none of them, until it is killed."""

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import replace

from coordination.connection import redis_async_for
from tests.scripted_core import speech_request, text_segments
from tts.gateway.redis import RedisGateway
from tts.text.segment import Segment

HELD_REQUESTS = 4


async def hold(url: str, version: str) -> None:
    """Open the requests and wait."""
    client = redis_async_for(url)
    gateway = RedisGateway("held", client)
    await gateway.start()
    while version not in await gateway.ready_versions():
        await asyncio.sleep(0.05)
    request = replace(speech_request(), version=version, max_queue_seconds=120.0)
    streams = [
        gateway.open(replace(request, request_id=f"held{number}"), _text())
        for number in range(HELD_REQUESTS)
    ]
    await asyncio.Event().wait()
    del streams


async def _text() -> AsyncIterator[Segment]:
    for segment in text_segments("a sentence that goes on and on and on and on " * 20):
        yield segment


if __name__ == "__main__":
    asyncio.run(hold(*sys.argv[1:]))

"""Speak many times through the service that web processes use; run as a module.

`python -m tests.e2e.many_sessions KEY COUNT TEXT` prints how the requests ended, as JSON.
"""

import asyncio
import json
import os
import sys
from collections import Counter

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "voicehost.settings.dev")
django.setup()

from tts.engine.event import SpeechFinished  # noqa: E402
from tts.speech.order import order_from_json  # noqa: E402
from tts.speech.service import SpeechService  # noqa: E402
from voicehost.wiring import runtime_build  # noqa: E402

AT_ONCE = 64


async def speak_all(secret: str, count: int, text: str) -> Counter[str]:
    """Speak `text` `count` times, 64 at once."""
    runtime = runtime_build()
    ends: Counter[str] = Counter()
    left = iter(range(count))

    async def speak(service: SpeechService) -> None:
        body = json.dumps({"model": "tone", "voice": "alloy", "input": text}).encode()
        for _ in left:
            principal = await service.authenticate(secret)
            order = order_from_json(body)
            async with service.session(principal, order, order.input, transport="test") as session:
                async for event in session.events():
                    if isinstance(event, SpeechFinished):
                        ends[str(event.reason)] += 1

    await runtime.service.start()
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(speak(runtime.service))
    finally:
        await runtime.service.stop()
        await runtime.close()
    return ends


if __name__ == "__main__":
    print(json.dumps(asyncio.run(speak_all(sys.argv[1], int(sys.argv[2]), sys.argv[3]))))  # noqa: T201

"""What the web server runs: speech by Channels consumers, everything else by Django."""

import os
from contextlib import suppress
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "voicehost.settings.dev")

from django.core.asgi import get_asgi_application

django_application = get_asgi_application()

# Models can be imported only once Django is set up.
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.urls import path, re_path  # noqa: E402

from tts.consumers.http import SpeechHttpConsumer  # noqa: E402
from tts.consumers.missing import socket_missing  # noqa: E402
from tts.consumers.socket import SpeechSocketConsumer  # noqa: E402
from tts.runtime import runtime_configure, runtime_drain, runtime_get, runtime_stop  # noqa: E402
from voicehost.wiring import runtime_build  # noqa: E402

runtime_configure(runtime_build)


async def lifespan(scope: Any, receive: Any, send: Any) -> None:
    """Servers that tell of their end (uvicorn; Daphne does not) end the runtime by it."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            # What is missing now may be there by the first request.
            with suppress(Exception):
                await runtime_get()
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            runtime_drain()
            await runtime_stop()
            await send({"type": "lifespan.shutdown.complete"})
            return


# URLRouter takes ASGI applications where Django's types know views only.
http_speech: Any = SpeechHttpConsumer.as_asgi()
http_rest: Any = django_application
socket_speech: Any = SpeechSocketConsumer.as_asgi()
socket_rest: Any = socket_missing
http_routes: list[Any] = [path("v1/audio/speech", http_speech), re_path(r"", http_rest)]
websocket_routes: list[Any] = [
    path("v1/audio/speech/stream", socket_speech),
    re_path(r"", socket_rest),
]
application = ProtocolTypeRouter(
    {
        "http": URLRouter(http_routes),
        "websocket": URLRouter(websocket_routes),
        "lifespan": lifespan,
    }
)

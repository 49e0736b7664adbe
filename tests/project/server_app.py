"""A web server with misbehaving applications, run as a process of its own by the tests.

Arguments: stall seconds, grace seconds, an inherited socket's descriptor or -1,
"speech" to serve the speech endpoint on a fake platform, too, and "uvicorn" for that
server in place of our own. It prints its address as its first line.
"""

import asyncio
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from socket import socket as socket_of
from typing import Any

from voicehost.logs import logging_config
from voicehost.server.config import WebConfig
from voicehost.server.listener import listener_open

BLOCK = b"x" * 10_000
LARGE = 5_000_000
REQUEST_SECONDS = 2.0
MAX_BODY = 1_000_000
state: dict[str, Any] = {"sent": 0, "events": []}
platform: Any = None
speech: Any = None


def speech_prepare() -> None:
    """Everything that only the speech endpoint needs, which takes seconds to import."""
    global platform, speech
    os.environ["DJANGO_SETTINGS_MODULE"] = "voicehost.settings.test"
    import django

    django.setup()
    from tests.tts.speech.speech_fakes import Script, platform_new
    from tts.consumers.http import SpeechHttpConsumer

    platform = platform_new(ThreadPoolExecutor(1))
    platform.gateway.script = Script(chunks=1_000_000, chunk_samples=24_000)

    async def service() -> Any:
        return platform.service

    speech = SpeechHttpConsumer.as_asgi(service=service, stall_seconds=float(sys.argv[1]))


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        await lifespan(receive, send)
    elif scope["type"] == "websocket" and scope["path"] == "/denied":
        await deny(scope, receive, send)
    elif scope["type"] == "websocket":
        await socket(scope["path"], receive, send)
    elif scope["path"] == "/v1/audio/speech":
        await speech(scope, receive, send)
    elif scope["path"] == "/blind":
        await blind(send)
    else:
        if scope["path"] == "/stop":
            state["events"].append("stop")
        state["host"] = dict(scope["headers"]).get(b"host", b"").decode()
        await http(scope["path"], receive, send)


async def lifespan(receive: Any, send: Any) -> None:
    """What uvicorn tells, and Daphne does not."""
    await receive()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await send({"type": "lifespan.shutdown.complete"})


async def http(path: str, receive: Any, send: Any) -> None:
    if path == "/silent":
        return
    length = 0
    # uvicorn gives a body in parts.
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        length += len(message["body"])
        more = message.get("more_body", False)
    if path == "/await":
        await gone(receive)
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    if path == "/begun":
        await send({"type": "http.response.body", "body": b"begun ", "more_body": True})
        await gone(receive)
        return
    if path == "/flood":
        await flood({"type": "http.response.body", "body": BLOCK, "more_body": True}, receive, send)
        return
    if path == "/large":
        await send({"type": "http.response.body", "body": bytes(LARGE)})
        state["events"].append("large was sent")
        return
    if path in {"/break", "/raise"}:
        await send({"type": "http.response.body", "body": b"part", "more_body": True})
        if path == "/raise":
            raise RuntimeError("as the test wants it")
        return
    if path == "/slow":
        await send({"type": "http.response.body", "body": b"begun ", "more_body": True})
        await asyncio.sleep(1.0)
    if path == "/hang":
        await send({"type": "http.response.body", "body": b"begun ", "more_body": True})
        await asyncio.Event().wait()
    body = json.dumps(
        {**state, "length": length, "path": path, "pid": os.getpid(), "rss": rss()} | spoken()
    )
    await send({"type": "http.response.body", "body": body.encode()})


async def gone(receive: Any) -> None:
    """Wait until the client is gone, and tell."""
    while (await receive())["type"] != "http.disconnect":
        pass
    state["events"].append("gone")


async def flood(message: dict[str, Any], receive: Any, send: Any) -> None:
    state["sent"] = 0
    gone = asyncio.ensure_future(receive())
    # Daphne says that it waited too long, uvicorn that the client is gone.
    with suppress(OSError):
        while not gone.done():
            await send(message)
            state["sent"] += len(BLOCK)
    state["events"].append("flood ended")


async def blind(send: Any) -> None:
    """Send until `/stop`, without a look at whether anybody is there."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    while "stop" not in state["events"]:
        await send({"type": "http.response.body", "body": BLOCK, "more_body": True})
    state["events"].append("blind ended")


async def deny(scope: dict[str, Any], receive: Any, send: Any) -> None:
    await receive()
    extension = "websocket.http.response"
    assert extension in scope["extensions"]
    await send({"type": f"{extension}.start", "status": 404, "headers": [(b"x-why", b"so")]})
    await send({"type": f"{extension}.body", "body": b"no ", "more_body": True})
    await send({"type": f"{extension}.body", "body": b"such address"})


async def socket(path: str, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    if path == "/flood":
        await flood({"type": "websocket.send", "bytes": BLOCK}, receive, send)
        return
    quiet = 0
    while (message := await receive())["type"] == "websocket.receive":
        text = message.get("text") or ""
        if text == "flood":
            await flood({"type": "websocket.send", "bytes": BLOCK}, receive, send)
            return
        if text == "raise":
            raise RuntimeError("as the test wants it")
        if text == "return":
            return
        if text.startswith("close"):
            await send({"type": "websocket.close", "code": int(text[5:]), "reason": "so"})
            return
        if text.startswith("quiet"):
            quiet += 1
            continue
        if text == "count":
            text = str(quiet)
        if text == "hold":
            await asyncio.sleep(1.0)
        await send({"type": "websocket.send", "text": text})


def rss() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def spoken() -> dict[str, Any]:
    if platform is None:
        return {}
    streams = platform.gateway.streams
    return {
        "samples": [stream.sent for stream in streams],
        "closed": [stream.closed for stream in streams],
        "outcomes": [outcome.error_code for outcome in platform.outcomes.seen],
    }


def drained() -> None:
    state["events"].append("drain")


def announce(port: int) -> None:
    sys.stdout.write(f"http://127.0.0.1:{port}\n")
    sys.stdout.flush()


def daphne_run(config: WebConfig, port: int) -> None:
    from voicehost.server.server import WebServer

    async def started() -> None:
        announce(port)

    WebServer(application, config, on_start=started, on_drain=drained).run()


def uvicorn_run(config: WebConfig, port: int) -> None:
    from voicehost.server.draining import DrainingServer

    server = DrainingServer(application, config, on_drain=drained, on_cut=lambda: None)
    announce(port)
    server.run(sockets=[socket_of(fileno=config.fd)])


if __name__ == "__main__":
    logging_config(level="INFO", json=False)
    fd = int(sys.argv[3])
    if "speech" in sys.argv:
        speech_prepare()
    listening = socket_of(fileno=fd) if fd >= 0 else listener_open("127.0.0.1", 0)
    port = listening.getsockname()[1]
    limits = WebConfig(
        fd=listening.detach(),
        stall_seconds=float(sys.argv[1]),
        grace_seconds=float(sys.argv[2]),
        max_body=MAX_BODY,
        request_seconds=REQUEST_SECONDS,
    )
    (uvicorn_run if "uvicorn" in sys.argv else daphne_run)(limits, port)

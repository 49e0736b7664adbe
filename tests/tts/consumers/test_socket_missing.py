"""A WebSocket where there is none: 404 and the envelope, or a close code that says it."""

import asyncio
import json
import socket
from typing import Any

import pytest
import uvicorn
from channels.testing import WebsocketCommunicator
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from tests.redis_server import eventually
from tts.consumers.missing import socket_missing
from tts.denial import DENIAL

PATH = "/v1/audio/speak"


def envelope_check(error: dict[str, Any]) -> None:
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["type"], error["code"]) == ("not_found_error", "unknown_url")
    assert PATH in error["message"]


async def test_a_server_that_can_answers_404() -> None:
    application: Any = socket_missing
    communicator = WebsocketCommunicator(application, PATH)
    communicator.scope["extensions"] = {DENIAL: {}}
    await communicator.send_input({"type": "websocket.connect"})
    start = await communicator.receive_output()
    assert (start["type"], start["status"]) == ("websocket.http.response.start", 404)
    headers = dict(start["headers"])
    assert headers[b"content-type"] == b"application/json"
    assert headers[b"x-request-id"].startswith(b"req_")
    body = await communicator.receive_output()
    assert int(headers[b"content-length"]) == len(body["body"])
    envelope_check(json.loads(body["body"])["error"])


async def test_another_server_accepts_says_so_and_closes() -> None:
    application: Any = socket_missing
    communicator = WebsocketCommunicator(application, PATH, subprotocols=["tts.v1"])
    assert await communicator.connect() == (True, "tts.v1")
    message = json.loads(await communicator.receive_from())
    assert (message["type"], message["fatal"]) == ("error", True)
    envelope_check(message["error"])
    assert (await communicator.receive_output())["code"] == 4404


async def test_uvicorn_can() -> None:
    application: Any = socket_missing
    config = uvicorn.Config(
        application, lifespan="off", ws=WebSocketsSansIOProtocol, log_config=None,
        log_level="critical",
    )  # fmt: skip
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        serving = asyncio.create_task(server._serve([listening]))
        await eventually(lambda: server.started)
        with pytest.raises(InvalidStatus) as caught:
            async with connect(f"ws://127.0.0.1:{port}{PATH}", proxy=None):
                pytest.fail("accepted")
        server.should_exit = True
        await serving
    response = caught.value.response
    assert response.status_code == 404
    envelope_check(json.loads(response.body)["error"])

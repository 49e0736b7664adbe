"""The other server: a whole response, one that breaks off, and a client that leaves."""

import asyncio
import socket
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import uvicorn

from tests.redis_server import eventually
from tests.tts.consumers.test_http_speech import BODY, HEADERS
from tests.tts.speech.speech_fakes import Platform, Script
from tts.consumers.http import SpeechHttpConsumer
from tts.engine.errors import WorkerLost

PCM = {**BODY, "response_format": "pcm"}


@pytest.fixture
async def client(speech_platform: Platform) -> AsyncIterator[httpx.AsyncClient]:
    async def service() -> Any:
        return speech_platform.service

    application: Any = SpeechHttpConsumer.as_asgi(service=service)
    config = uvicorn.Config(
        application, lifespan="off", ws="none", log_config=None, log_level="critical"
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        serving = asyncio.create_task(server._serve([listening]))
        await eventually(lambda: server.started)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as made:
            yield made
        server.should_exit = True
        await serving


async def test_whole_response(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/audio/speech", json=PCM, headers=HEADERS)
    assert response.status_code == 200
    assert len(response.content) == 4 * 2_400 * 2


async def test_failure_after_audio_breaks_the_transfer(
    client: httpx.AsyncClient, speech_platform: Platform
) -> None:
    speech_platform.gateway.script = Script(fail=WorkerLost("gone"), fail_after_chunks=1)
    with pytest.raises(httpx.RemoteProtocolError):
        await client.post("/v1/audio/speech", json=PCM, headers=HEADERS)
    speech_platform.assert_nothing_left()


async def test_client_that_leaves_cancels(
    client: httpx.AsyncClient, speech_platform: Platform
) -> None:
    speech_platform.gateway.script = Script(hang_before_chunk=1)
    async with client.stream("POST", "/v1/audio/speech", json=PCM, headers=HEADERS) as response:
        assert response.status_code == 200
    await eventually(lambda: bool(speech_platform.outcomes.seen))
    assert speech_platform.outcomes.only.error_code == "client_disconnected"
    speech_platform.assert_nothing_left()

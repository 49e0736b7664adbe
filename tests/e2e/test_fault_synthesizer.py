"""A synthesis worker that is killed: before the first audio nobody notices, after it it is said."""

import asyncio
import base64
import json
import os
import re
import signal
import time
from datetime import datetime

import httpx
import pytest

from tests.e2e.pair import LONG_CHARACTER_SECONDS, Pair, speech_body, until
from tests.e2e.speaking import SLACK, client_of, drained, message, socket_of, socket_speak
from tts.gateway.heartbeat import BEAT_SECONDS

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("pair"), pytest.mark.timeout(120)]

LONG_TEXT = "this is spoken for a long while " * 4
RATE = 24_000
SEEN_SECONDS = 3 * BEAT_SECONDS
"""A web process looks at the beats as often as they are made."""


async def busy_worker(pair: Pair) -> int:
    """The process id of the worker that has the one request there is."""
    return (await asyncio.to_thread(until, pair.busy)).pid


async def test_killed_before_the_first_audio_the_caller_notices_nothing(pair: Pair) -> None:
    body = speech_body("late", "taken over by another", seed=7)
    async with client_of(pair) as client:
        undisturbed = await client.post("/v1/audio/speech", content=body)
        assert undisturbed.status_code == 200
        assert undisturbed.content.strip(b"\0")
        speaking = asyncio.create_task(client.post("/v1/audio/speech", content=body))
        os.kill(await busy_worker(pair), signal.SIGKILL)
        response = await speaking
    assert response.status_code == 200
    assert response.content == undisturbed.content


async def test_killed_after_it_the_transfer_breaks(pair: Pair) -> None:
    async with client_of(pair) as client:
        body = speech_body("long", LONG_TEXT)
        async with client.stream("POST", "/v1/audio/speech", content=body) as response:
            assert response.status_code == 200
            received = response.aiter_raw()
            await anext(received)
            os.kill(await busy_worker(pair), signal.SIGKILL)
            killed = time.monotonic()
            with pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked"):
                await drained(received)
    assert time.monotonic() - killed < 1.0 + SLACK


async def test_killed_after_it_server_sent_events_end_with_an_error(pair: Pair) -> None:
    async with client_of(pair) as client:
        body = speech_body("long", LONG_TEXT, stream_format="sse")
        async with client.stream("POST", "/v1/audio/speech", content=body) as response:
            events = (
                json.loads(line.removeprefix("data: "))
                async for line in response.aiter_lines()
                if line.startswith("data: ")
            )
            first = await anext(events)
            assert base64.b64decode(first["audio"])
            os.kill(await busy_worker(pair), signal.SIGKILL)
            killed = time.monotonic()
            rest = [event async for event in events]
    assert time.monotonic() - killed < 1.0 + SLACK
    assert rest[-1]["type"] == "error"
    assert rest[-1]["error"]["code"] == "worker_lost"
    assert {event["type"] for event in rest[:-1]} <= {"speech.audio.delta"}


async def test_killed_after_it_a_socket_gets_an_error_and_speaks_on(pair: Pair) -> None:
    async with socket_of(pair) as socket:
        await socket_speak(socket, "long", LONG_TEXT, context="a")
        await message(socket, "speech.started")
        assert isinstance(await socket.recv(), bytes)
        os.kill(await busy_worker(pair), signal.SIGKILL)
        killed = time.monotonic()
        error = await message(socket, "error")
        assert time.monotonic() - killed < 1.0 + SLACK
        assert error["context_id"] == "a"
        assert error["fatal"] is False
        assert "worker_lost" in json.dumps(error)
        assert (await message(socket, "speech.done"))["reason"] == "error"

        await socket_speak(socket, "tone", "and on it goes", context="b")
        done = await message(socket, "speech.done")
        assert (done["context_id"], done["reason"]) == ("b", "completed")


async def test_a_killed_worker_is_started_again_with_back_off_and_serves(pair: Pair) -> None:
    before = {beat.worker_id: beat.pid for beat in pair.beats()}
    worker_id, pid = next(iter(before.items()))
    name = worker_id.rsplit("-", 1)[0]
    logged = len(pair.log())
    os.kill(pid, signal.SIGKILL)
    await asyncio.to_thread(
        until, lambda: {b.pid for b in pair.beats()} == {*before.values()} - {pid}
    )
    await asyncio.to_thread(until, pair.is_whole, seconds=60)
    after = {beat.worker_id: beat.pid for beat in pair.beats()}
    assert after.keys() == before.keys()
    assert after[worker_id] != pid
    ended, started = _times(pair.log()[logged:], name)
    assert 0.2 <= (started - ended).total_seconds() < 30.0 + SLACK
    async with client_of(pair) as client:
        await _speak_together(client)


async def test_two_workers_share_the_load(pair: Pair) -> None:
    # Web processes see the workers as the fixture did once they have read their beats.
    await asyncio.sleep(SEEN_SECONDS)
    async with client_of(pair) as client:
        asked = await _speak_together(client)
    # From the outcomes, which say who spoke: a heartbeat shows a moment only.
    await asyncio.to_thread(until, lambda: len(_outcomes(pair, asked)) == len(asked))
    assert len(set(_outcomes(pair, asked).values())) == 2


async def _speak_together(client: httpx.AsyncClient) -> set[str]:
    """Eight requests at once, all of which are spoken: their ids."""
    text = "shared by two workers"
    body = speech_body("long", text)
    speaking = [
        asyncio.create_task(client.post("/v1/audio/speech", content=body)) for _ in range(8)
    ]
    responses = await asyncio.gather(*speaking)
    for response in responses:
        assert response.status_code == 200
        seconds = len(response.content) / 2 / RATE
        assert seconds == pytest.approx(len(text) * LONG_CHARACTER_SECONDS, abs=1.0)
    return {response.headers["x-request-id"] for response in responses}


def _outcomes(pair: Pair, request_ids: set[str]) -> dict[str, str]:
    """Which worker spoke each of these requests, as far as that is known."""
    lines = (line for line in pair.log().splitlines() if "speech_finished" in line)
    outcomes = (dict(re.findall(r"(\w+)=(\S*)", line)) for line in lines)
    return {
        outcome["request_id"]: outcome["worker"]
        for outcome in outcomes
        if outcome["request_id"] in request_ids
    }


def _times(log: str, name: str) -> tuple[datetime, datetime]:
    """When the process ended and when it was started again."""
    moments = []
    for event in ("process_ended", "process_started"):
        found = re.search(rf"^(\S+)Z .*{event}.*process={name}\b", log, re.MULTILINE)
        assert found is not None, event
        moments.append(datetime.fromisoformat(found.group(1)))
    return moments[0], moments[1]

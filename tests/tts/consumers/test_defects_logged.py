"""What nobody foresaw is logged with its stack, and without its message: it may hold a text."""

import pytest
import redis.asyncio

from tests.tts.consumers.http_exchange import begin
from tests.tts.consumers.socket_client import connected
from tests.tts.speech.speech_fakes import ORDER, PRINCIPAL, SECRET, Platform
from tts.consumers.http import SpeechHttpConsumer
from tts.gateway.transport import StreamReader
from tts.gateway.wire import FRAME_FIELD, frames_encode
from tts.speech.service import SpeechService

TEXT = "what the tenant said"
BODY = b'{"input": "Hi.", "model": "tone", "voice": "both"}'
HEADERS = {"authorization": f"Bearer {SECRET}", "content-type": "application/json"}


def broken(*args: object, **named: object) -> None:
    """Stands for any function with a defect."""
    raise RuntimeError(TEXT)


async def broken_later(*args: object, **named: object) -> None:
    """The same for one that is awaited."""
    broken()


def check(caplog: pytest.LogCaptureFixture, event: str) -> None:
    """The event is logged with the defect's place."""
    assert event in caplog.text
    assert "builtins.RuntimeError" in caplog.text
    assert "in broken" in caplog.text
    assert TEXT not in caplog.text


async def test_http_request(speech_platform: Platform, caplog: pytest.LogCaptureFixture) -> None:
    async def service() -> SpeechService:
        return speech_platform.service

    speech_platform.gateway.open = broken  # type: ignore[method-assign, assignment]
    exchange = begin(SpeechHttpConsumer.as_asgi(service=service), method="POST", headers=HEADERS)
    exchange.give(BODY)
    await exchange.done()
    assert exchange.error["code"] == "internal_error"
    check(caplog, "speech_refused")


async def test_context_of_a_socket(
    speech_platform: Platform, caplog: pytest.LogCaptureFixture
) -> None:
    speech_platform.gateway.open = broken  # type: ignore[method-assign, assignment]
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="Hi.")
        await client.send("input_text.end")
        _, error = await client.until("error")
        assert error["error"]["code"] == "internal_error"
    check(caplog, "context_failed")


async def test_message_of_a_socket(
    speech_platform: Platform, caplog: pytest.LogCaptureFixture
) -> None:
    speech_platform.directory.authenticate_again = broken_later  # type: ignore[method-assign, assignment]
    async with connected(speech_platform) as client:
        await client.send("input_text.append", text="Hi.")
        _, error = await client.until("error")
        assert error["error"]["code"] == "internal_error"
    check(caplog, "socket_message_failed")


async def test_handshake_of_a_socket(
    speech_platform: Platform, caplog: pytest.LogCaptureFixture
) -> None:
    speech_platform.directory.authenticate = broken_later  # type: ignore[method-assign, assignment]
    async with connected(speech_platform, greeted=False) as client:
        _, error = await client.until("error")
        assert error["error"]["code"] == "internal_error"
        assert await client.close_code() == 1011
    check(caplog, "socket_not_opened")


@pytest.mark.parametrize(
    ("part", "name", "event"),
    [
        ("limiter", "settle", "settle_failed"),
        ("leases", "release", "lease_release_failed"),
        ("limiter", "renew", "renewal_failed"),
    ],
)
async def test_what_a_request_holds(
    speech_platform: Platform,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    part: str,
    name: str,
    event: str,
) -> None:
    monkeypatch.setattr(getattr(speech_platform, part), name, broken_later)
    service = speech_platform.service
    async with service.session(PRINCIPAL, ORDER, "Hi.", transport="test"):
        await service.keeper.renew_all()
    check(caplog, event)


async def test_observer(speech_platform: Platform, caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        speech_finished = broken

    speech_platform.service._observers = (Broken(), speech_platform.outcomes)
    async with speech_platform.service.session(PRINCIPAL, ORDER, "Hi.", transport="test"):
        pass
    assert speech_platform.outcomes.only.request_id
    check(caplog, "observer_failed")


async def test_message_of_a_stream(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[bytes] = []

    def handle(message: bytes) -> None:
        seen.append(message)
        broken()

    reader = StreamReader(redis.asyncio.Redis(), "stream", handle)
    frame = frames_encode([b"\x01", b"\x02"])[0]
    reader._dispatch([(b"1-0", {FRAME_FIELD: frame})])
    assert seen == [b"\x01", b"\x02"]
    check(caplog, "message_handler_failed")

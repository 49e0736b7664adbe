"""Errors of the client's own making end a socket, if little else comes."""

from tenants.errors import LimitExceeded
from tests.tts.consumers.socket_client import connected
from tests.tts.speech.speech_fakes import Platform
from tts.consumers.settings import SocketLimits


async def test_too_many_errors_are_closed_1008(speech_platform: Platform) -> None:
    async with connected(speech_platform, limits=SocketLimits(errors=3)) as client:
        for _ in range(3):
            await client.send_raw(text_data="{")
        await client.until("session.closing", reason="too_many_errors")
        assert await client.close_code() == 1008


async def test_contexts_beyond_the_limit_are_closed_1008(speech_platform: Platform) -> None:
    async with connected(speech_platform, limits=SocketLimits(contexts=2, errors=3)) as client:
        for number in range(6):
            await client.send("input_text.append", context_id=f"c{number}", text="a")
        fatal = []
        for _ in range(3):
            _, error = await client.until("error")
            assert error["error"]["code"] == "too_many_contexts"
            fatal.append(error["fatal"])
        assert fatal == [False, False, True]
        await client.until("session.closing", reason="too_many_errors")
        assert await client.close_code() == 1008
    speech_platform.assert_nothing_left()


async def test_text_after_the_end_counts(speech_platform: Platform) -> None:
    speech_platform.gateway.script.hang_before_chunk = 0
    async with connected(speech_platform, limits=SocketLimits(errors=3)) as client:
        await client.send("input_text.append", text="One.")
        await client.send("input_text.end")
        for _ in range(4):
            await client.send("input_text.append", text="Two.")
        await client.until("error", fatal=True)
        assert (await client.until("session.closing"))[1]["reason"] == "too_many_errors"
        assert await client.close_code() == 1008


async def test_good_messages_make_up_for_bad_ones(speech_platform: Platform) -> None:
    async with connected(speech_platform, limits=SocketLimits(errors=3)) as client:
        for turn in range(10):
            await client.send_raw(text_data="{")
            _, error = await client.until("error")
            assert (turn, error["fatal"]) == (turn, False)
            await client.send("ping")
            await client.until("pong")


async def test_refusals_of_well_formed_messages_never_close_the_socket(
    speech_platform: Platform,
) -> None:
    limits = SocketLimits(errors=3, buffer_characters=20)
    async with connected(speech_platform, limits=limits) as client:
        for _ in range(10):
            await client.send("input_text.append", text="x" * 21)
            _, error = await client.until("error")
            assert (error["error"]["code"], error["fatal"]) == ("buffer_full", False)
        speech_platform.limiter.refusal = LimitExceeded(
            "too many", limit="requests", scope="key", retry_after=3.5
        )
        for _ in range(10):
            await client.send("input_text.append", text="One.")
            _, error = await client.until("error")
            assert (error["error"]["code"], error["fatal"]) == ("rate_limit_exceeded", False)

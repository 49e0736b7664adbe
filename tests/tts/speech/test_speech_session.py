"""A request from admission to outcome: what it yields, and what it leaves behind (nothing)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from tenants.errors import LimitExceeded, ModelNotAllowed, TierNotAllowed
from tests.tts.speech.speech_fakes import ORDER, PRINCIPAL, RATE, Platform, Script, held_by
from tts.engine.errors import QueueFull, SynthesisFailed, WorkerLost
from tts.engine.event import AudioChunk, FinishReason, SegmentFinished, SpeechFinished
from tts.speech import session as speech_session
from tts.speech.errors import LanguageNotSpoken, ServerStopping
from tts.speech.flush import FlushReached
from tts.speech.merge import SpeechEvent
from tts.speech.order import SpeechOrder
from tts.speech.session import DISCONNECTED, SpeechSession
from tts.speech.text import TextPiece
from tts.text.errors import EmptyText, NoSpeakableText, TextTooLong


def session(
    platform: Platform, text: str | AsyncIterator[TextPiece], order: SpeechOrder = ORDER
) -> SpeechSession:
    return platform.service.session(PRINCIPAL, order, text, transport="test")


async def listen(speech: SpeechSession) -> list[SpeechEvent]:
    seen = []
    async for event in speech.events():
        seen.append(event)
        if isinstance(event, AudioChunk):
            await speech.delivered(event.samples, 0.001)
    return seen


async def test_speaks_a_text(platform: Platform) -> None:
    async with session(platform, "One two. Three.") as speech:
        assert platform.limiter.held == {held_by(speech.request_id): 15}
        assert platform.leases.held == {("tone@1", held_by(speech.request_id))}
        seen = await listen(speech)
    assert [event.samples for event in seen if isinstance(event, AudioChunk)] == [2_400] * 4
    assert isinstance(seen[-1], SpeechFinished)
    outcome = platform.outcomes.only
    assert outcome.reason is FinishReason.COMPLETED
    assert (outcome.characters_asked, outcome.characters_spoken) == (15, 15)
    assert outcome.audio_seconds == pytest.approx(4 * 2_400 / RATE)
    assert outcome.first_audio_seconds is not None
    assert (outcome.model, outcome.version, outcome.tier) == ("tone", "tone@1", "standard")
    assert (outcome.voice, outcome.worker_id, outcome.transport) == ("both", "worker-1", "test")
    assert outcome.send_seconds == pytest.approx(0.004)
    assert platform.limiter.settled == [(held_by(speech.request_id), 15, 15)]
    platform.assert_nothing_left()


async def test_request_carries_tier_voice_and_parameters(platform: Platform) -> None:
    order = replace(ORDER, quality_tier="realtime", speed=1.5, seed=7, instructions="calmly")
    async with session(platform, "Hi.", order) as speech:
        await listen(speech)
    request = platform.gateway.streams[0].request
    assert (request.profile, request.priority.name) == ("realtime", "REALTIME")
    assert (request.speed, request.seed, request.style) == (1.5, 7, "calmly")
    assert request.initial_credit_samples == 30 * RATE
    assert (request.tenant_id, request.version) == ("tenant-1", "tone@1")


@pytest.mark.parametrize(
    ("text", "order", "expected"),
    [
        ("", ORDER, EmptyText),
        (" \t\n", ORDER, EmptyText),
        ("...", ORDER, NoSpeakableText),
        ("a" * 5_001, ORDER, TextTooLong),
        ("Hi.", replace(ORDER, quality_tier="hq"), TierNotAllowed),
        ("Hi.", replace(ORDER, model="other", quality_tier="realtime"), ModelNotAllowed),
        ("Hi.", replace(ORDER, model="hidden"), ModelNotAllowed),
        ("Hi.", replace(ORDER, model="hidden", quality_tier="standard"), ModelNotAllowed),
        ("Hi.", replace(ORDER, voice="af_heart", language="zh"), LanguageNotSpoken),
    ],
)
async def test_refused_before_anything_is_reserved(
    platform: Platform, text: str, order: SpeechOrder, expected: type[Exception]
) -> None:
    with pytest.raises(expected):
        async with session(platform, text, order):
            pytest.fail("admitted")
    assert platform.limiter.settled == []
    outcome = platform.outcomes.only
    assert outcome.reason is FinishReason.ERROR
    assert outcome.error_code
    platform.assert_nothing_left()


async def test_hidden_model_speaks_in_the_tier_that_names_it(platform: Platform) -> None:
    order = replace(ORDER, model="hidden", quality_tier="realtime")
    async with session(platform, "Hi.", order) as speech:
        await listen(speech)
    assert platform.outcomes.only.reason is FinishReason.COMPLETED
    platform.assert_nothing_left()


async def test_tenant_limit_is_raised_and_reported(platform: Platform) -> None:
    platform.limiter.refusal = LimitExceeded("slow", limit="requests", scope="key", retry_after=2.0)
    with pytest.raises(LimitExceeded):
        async with session(platform, "Hi."):
            pytest.fail("admitted")
    assert platform.outcomes.only.error_code == "rate_limit_exceeded"
    platform.assert_nothing_left()


async def test_language_beyond_the_voice_names_voices_before_any_audio(platform: Platform) -> None:
    order = replace(ORDER, voice="af_heart")
    async with session(platform, "Hello. 你好.", order) as speech:
        with pytest.raises(LanguageNotSpoken, match="zf_xiaoxiao") as caught:
            await listen(speech)
    assert caught.value.language == "zh"
    assert platform.gateway.streams == []
    platform.assert_nothing_left()


async def test_engine_error_is_raised_with_its_type(platform: Platform) -> None:
    platform.gateway.script = Script(fail=QueueFull("no room", retry_after=3.0))
    with pytest.raises(QueueFull) as caught:
        async with session(platform, "Hi.") as speech:
            await listen(speech)
    assert caught.value.retry_after == 3.0
    outcome = platform.outcomes.only
    assert (outcome.reason, outcome.error_code) == (FinishReason.ERROR, "queue_full")
    assert outcome.first_audio_seconds is None
    assert platform.limiter.settled[0][2] == 0
    platform.assert_nothing_left()


async def test_worker_lost_after_audio_charges_only_what_was_finished(platform: Platform) -> None:
    platform.gateway.script = Script(fail=WorkerLost("gone"), fail_after_chunks=3)
    with pytest.raises(WorkerLost):
        async with session(platform, "One two. Three.") as speech:
            await listen(speech)
    assert platform.limiter.settled[0][1:] == (15, 8)
    assert platform.outcomes.only.first_audio_seconds is not None


async def test_cancel_ends_with_cancelled(platform: Platform) -> None:
    platform.gateway.script = Script(hang_before_chunk=1)
    async with session(platform, "One. Two.") as speech:
        seen = []
        async for event in speech.events():
            seen.append(event)
            if isinstance(event, AudioChunk):
                await speech.cancel()
    assert isinstance(seen[-1], SpeechFinished)
    assert seen[-1].reason is FinishReason.CANCELLED
    assert platform.outcomes.only.reason is FinishReason.CANCELLED
    platform.assert_nothing_left()


async def test_cancelled_task_leaves_nothing_and_is_a_disconnect(platform: Platform) -> None:
    platform.gateway.script = Script(hang_before_chunk=1)
    first = asyncio.Event()

    async def run() -> None:
        async with session(platform, "One. Two.") as speech:
            async for event in speech.events():
                if isinstance(event, AudioChunk):
                    await speech.delivered(event.samples)
                    first.set()

    task = asyncio.create_task(run())
    await first.wait()
    task.cancel()
    # A second cancellation in the middle of the clean-up must not break it.
    asyncio.get_running_loop().call_soon(task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(_until(lambda: bool(platform.outcomes.seen)), 5)
    outcome = platform.outcomes.only
    assert (outcome.reason, outcome.error_code) == (FinishReason.CANCELLED, DISCONNECTED)
    platform.assert_nothing_left()


async def test_a_task_that_the_stopping_process_cancels_is_no_disconnect(
    platform: Platform,
) -> None:
    platform.gateway.script = Script(hang_before_chunk=1)
    first = asyncio.Event()

    async def run() -> None:
        async with session(platform, "One. Two.") as speech:
            async for event in speech.events():
                if isinstance(event, AudioChunk):
                    first.set()

    task = asyncio.create_task(run())
    await first.wait()
    platform.service.cut()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    outcome = platform.outcomes.only
    assert (outcome.reason, outcome.error_code) == (FinishReason.ERROR, "server_stopping")
    platform.assert_nothing_left()


async def test_a_stream_that_ends_with_the_process_raises(platform: Platform) -> None:
    platform.gateway.script = Script(hang_before_chunk=1)

    async def run() -> None:
        async with session(platform, "One. Two.") as speech:
            async for event in speech.events():
                if isinstance(event, AudioChunk):
                    await platform.gateway.streams[0].cancel()

    with pytest.raises(ServerStopping):
        await run()
    assert platform.outcomes.only.error_code == "server_stopping"
    platform.assert_nothing_left()


async def test_settled_early_it_is_settled_once(platform: Platform) -> None:
    async with session(platform, "One two.") as speech:
        await listen(speech)
        await asyncio.gather(speech.settle(), speech.settle())
        assert platform.limiter.held == {}
        assert platform.leases.held == set()
        assert platform.outcomes.seen == []
    assert platform.limiter.settled == [(held_by(speech.request_id), 8, 8)]
    assert platform.outcomes.only.characters_spoken == 8
    platform.assert_nothing_left()


async def test_settling_waits_for_nobody_that_does_not_answer(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = asyncio.Event()

    async def settle(*_: object) -> bool:
        return await answer.wait()

    monkeypatch.setattr(platform.limiter, "settle", settle)
    monkeypatch.setattr(speech_session, "SETTLE_SECONDS", 0.01)
    async with session(platform, "One two.") as speech:
        await listen(speech)
        await speech.settle()
        answer.set()
    assert platform.outcomes.only.reason is FinishReason.COMPLETED


@pytest.mark.parametrize("turns", range(8))
async def test_cancelled_at_any_moment_of_admission_leaves_nothing(
    platform: Platform, turns: int
) -> None:
    async def run() -> None:
        async with session(platform, "One. Two.") as speech:
            await listen(speech)

    task = asyncio.create_task(run())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await asyncio.wait_for(_until(lambda: len(platform.outcomes.seen) == (turns > 0)), 5)
    platform.assert_nothing_left()


async def test_error_of_the_transport_ends_the_stream(platform: Platform) -> None:
    async def run() -> None:
        async with session(platform, "One. Two.") as speech:
            async for event in speech.events():
                if isinstance(event, AudioChunk):
                    raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await run()
    assert platform.outcomes.only.reason is FinishReason.ERROR
    platform.assert_nothing_left()


async def test_without_delivery_the_worker_stops_at_thirty_seconds(platform: Platform) -> None:
    platform.gateway.script = Script(chunks=1_000, chunk_samples=RATE)
    async with session(platform, "One.") as speech:
        events = speech.events()

        async def read() -> None:
            async for _ in events:
                pass

        reading = asyncio.create_task(read())
        await _until(lambda: bool(platform.gateway.streams))
        stream = platform.gateway.streams[0]
        await _until(lambda: stream.sent == 30 * RATE)
        for _ in range(20):
            await asyncio.sleep(0)
        assert stream.sent == 30 * RATE
        await speech.delivered(RATE)
        await _until(lambda: stream.sent == 31 * RATE)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    platform.assert_nothing_left()


async def test_credit_goes_back_in_steps(platform: Platform) -> None:
    platform.gateway.script = Script(chunks=10, chunk_samples=1_200)
    async with session(platform, "One.") as speech:
        await listen(speech)
    assert platform.gateway.streams[0].granted == 12_000


async def test_lease_is_taken_again_when_the_configuration_moved_on(platform: Platform) -> None:
    def switch() -> None:
        platform.directory.configuration, platform.directory.version = "epoch-2", "tone@2"

    platform.leases.on_acquire = switch
    async with session(platform, "Hi.") as speech:
        assert platform.leases.held == {("tone@2", held_by(speech.request_id))}
        await listen(speech)
    assert platform.gateway.streams[0].request.version == "tone@2"
    platform.assert_nothing_left()


async def test_stopping_process_takes_nothing_new(platform: Platform) -> None:
    platform.service.drain()
    with pytest.raises(ServerStopping):
        async with session(platform, "Hi."):
            pytest.fail("admitted")


async def test_failing_observer_does_not_keep_the_others_from_it(platform: Platform) -> None:
    class Broken:
        def speech_finished(self, outcome: object) -> None:
            raise SynthesisFailed("observer")

    platform.service._observers = (Broken(), platform.outcomes)
    async with session(platform, "Hi.") as speech:
        await listen(speech)
    assert platform.outcomes.only.reason is FinishReason.COMPLETED


async def test_segments_keep_their_place_in_the_original(platform: Platform) -> None:
    async with session(platform, "One. Two.") as speech:
        seen = await listen(speech)
    last = [event for event in seen if isinstance(event, SegmentFinished)][-1]
    assert speech.account.segments[last.segment_index].source == " Two."


async def _pieces(*pieces: TextPiece) -> AsyncIterator[TextPiece]:
    for piece in pieces:
        yield piece


async def test_text_in_pieces_is_spoken_as_it_comes(platform: Platform) -> None:
    text = _pieces(TextPiece("One tw"), TextPiece("o. Thr"), TextPiece("ee"))
    async with session(platform, text) as speech:
        seen = await listen(speech)
    assert [segment.source for segment in platform.gateway.streams[0].spoken] == [
        "One two.", " Three",
    ]  # fmt: skip
    assert isinstance(seen[-1], SpeechFinished)
    outcome = platform.outcomes.only
    assert (outcome.characters_asked, outcome.characters_spoken) == (14, 14)
    assert platform.limiter.settled == [(held_by(speech.request_id), 14, 14)]
    platform.assert_nothing_left()


async def test_flush_is_answered_after_its_audio(platform: Platform) -> None:
    text = _pieces(TextPiece("One", flush=True, flush_id="a"), TextPiece("Two", flush=True))
    async with session(platform, text) as speech:
        seen = await listen(speech)
    kinds = [type(event).__name__ for event in seen if not hasattr(event, "position")]
    assert kinds == [
        "SpeechStarted",
        "AudioChunk", "AudioChunk", "SegmentFinished", "FlushReached",
        "AudioChunk", "AudioChunk", "SegmentFinished", "FlushReached",
        "SpeechFinished",
    ]  # fmt: skip
    flushes = [event for event in seen if isinstance(event, FlushReached)]
    assert flushes[0] == FlushReached("a", 1, 4_800, 3)
    assert flushes[1] == FlushReached("", 2, 9_600, 6)


async def test_flush_with_nothing_to_speak_is_answered_at_once(platform: Platform) -> None:
    text = _pieces(TextPiece("...", flush=True, flush_id="quiet"))
    async with session(platform, text) as speech:
        seen = await listen(speech)
    assert seen[0] == FlushReached("quiet", 0, 0, 0)
    assert isinstance(seen[-1], SpeechFinished)
    assert seen[-1].reason is FinishReason.COMPLETED
    assert platform.gateway.streams == []
    platform.assert_nothing_left()


async def test_cancel_while_no_text_has_come(platform: Platform) -> None:
    async def never() -> AsyncIterator[TextPiece]:
        await asyncio.Event().wait()
        yield TextPiece("")

    async with session(platform, never()) as speech:
        events = speech.events()
        asyncio.get_running_loop().call_soon(lambda: asyncio.ensure_future(speech.cancel()))
        (event,) = [event async for event in events]
    assert isinstance(event, SpeechFinished)
    assert event.reason is FinishReason.CANCELLED
    platform.assert_nothing_left()


async def test_too_much_text_in_pieces_ends_with_an_error(platform: Platform) -> None:
    text = _pieces(TextPiece("One."), TextPiece("a" * 5_000))
    with pytest.raises(TextTooLong):
        async with session(platform, text) as speech:
            await listen(speech)
    # What came before the error was spoken and is charged.
    assert platform.limiter.settled[0][2] == 4
    platform.assert_nothing_left()


async def test_limit_reached_by_later_text(platform: Platform) -> None:
    async def text() -> AsyncIterator[TextPiece]:
        yield TextPiece("One.")
        platform.limiter.refusal = LimitExceeded(
            "slow", limit="characters", scope="key", retry_after=2.0
        )
        yield TextPiece("Two.")

    with pytest.raises(LimitExceeded):
        async with session(platform, text()) as speech:
            await listen(speech)
    platform.assert_nothing_left()


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.001)

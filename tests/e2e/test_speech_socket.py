"""A conversation over the WebSocket: the same samples as over HTTP, flushes, barge-in."""

import re
import time

import numpy as np
import pytest

from tests.e2e.speech_client import RATE, SpeechClient, samples
from tests.e2e.speech_fixtures import Paced

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("platform")]

TEXT = "The lake is quiet this morning. A single boat crosses it, and nobody says a word."
SEED = 21


def test_samples_are_those_of_http(speech: SpeechClient) -> None:
    with speech.socket(response_format="pcm", seed=SEED) as socket:
        for piece in re.findall(r"\s*\S+", TEXT):
            socket.send("input_text.append", text=piece)
        socket.send("input_text.end")
        done = socket.until("speech.done")
    spoken = samples(socket.audio["default"])
    assert np.array_equal(spoken, speech.pcm(TEXT, seed=SEED))
    # The space between two segments belongs to neither.
    assert len(TEXT) - 1 <= done["usage"]["characters"] <= len(TEXT)
    assert done["metrics"]["audio_ms"] == pytest.approx(1000 * len(spoken) / RATE, abs=1)


def test_every_flush_is_answered_and_says_how_much_it_made(speech: SpeechClient) -> None:
    parts = {"a": "This is the first part. ", "b": "...", "c": "And this is the last. "}
    with speech.socket(response_format="pcm") as socket:
        for flush_id, text in parts.items():
            socket.send("input_text.append", text=text)
            socket.send("input_text.flush", flush_id=flush_id)
        answers = [socket.until("flush.done") for _ in parts]
        socket.send("input_text.end")
        done = socket.until("speech.done")
    assert [answer["flush_id"] for answer in answers] == list(parts)
    made = {answer["flush_id"]: answer["audio_ms"] for answer in answers}
    assert made["b"] == 0
    assert min(made["a"], made["c"]) > 500
    # The last of the silence behind the text belongs to no flush.
    assert sum(made.values()) == pytest.approx(done["metrics"]["audio_ms"], abs=160)


def test_text_without_words_is_no_error(speech: SpeechClient) -> None:
    with speech.socket(response_format="pcm") as socket:
        socket.send("input_text.append", text="🙂 ... [uv_break]")
        socket.send("input_text.flush", flush_id="quiet")
        assert socket.until("flush.done", flush_id="quiet")["audio_ms"] == 0
        socket.send("input_text.append", text="Now there are words.")
        socket.send("input_text.end")
        assert socket.until("speech.done")["reason"] == "completed"
    assert socket.audio["default"]


def test_nothing_of_a_context_comes_after_its_cancellation(
    speech: SpeechClient, paced: Paced
) -> None:
    with speech.socket(response_format="pcm", **paced.fields) as socket:
        socket.send("input_text.append", context_id="old", text="This goes on and on. " * 100)
        socket.send("input_text.end", context_id="old")
        while not socket.audio.get("old"):
            socket.receive()
        asked = time.monotonic()
        socket.send("context.cancel", context_id="old")
        cancelled = socket.until("context.cancelled", context_id="old")
        assert time.monotonic() - asked < 1.2
        heard = len(socket.audio["old"])
        assert cancelled["audio_sent_ms"] == pytest.approx(heard / 2 / RATE * 1000, abs=250)
        socket.send("input_text.append", context_id="new", text="What did you say?")
        socket.send("input_text.end", context_id="new")
        assert socket.until("speech.done", context_id="new")["reason"] == "completed"
    assert len(socket.audio["old"]) == heard
    assert socket.audio["new"]


def test_many_interruptions_leave_the_socket_usable(speech: SpeechClient, paced: Paced) -> None:
    with speech.socket(response_format="pcm", **paced.fields) as socket:
        for number in range(40):
            name = f"turn-{number}"
            socket.send("input_text.append", context_id=name, text="Please wait a moment. " * 20)
            socket.send("input_text.flush", context_id=name)
            socket.send("context.cancel", context_id=name)
            socket.until("context.cancelled", context_id=name)
        socket.send("input_text.append", context_id="last", text="Yes?")
        socket.send("input_text.end", context_id="last")
        assert socket.until("speech.done", context_id="last")["reason"] == "completed"

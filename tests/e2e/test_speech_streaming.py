"""When audio arrives, how it goes on, and what happens when nobody listens any more."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
import redis

from tests.e2e.platform import ROOT, Platform
from tests.e2e.speech_client import RATE, Pcm, SpeechClient, floats, samples
from tests.e2e.speech_fixtures import PACED_SECONDS, Paced
from tts.audio.loudness import loudness_lufs
from tts.gateway.census import workers_read_sync

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("platform")]

SLACK = 1.0
"""What two busy cores add to a promise, in seconds."""
SILENT = 10.0 ** (-50.0 / 20.0)
JOIN_SECONDS = 0.15
LETTER_SECONDS = 0.06
"""How long a letter of a tone voice sounds."""
FLOWING = (
    "when the last visitors of the summer had left our village near the coast my uncle used to "
    "repair every wooden boat which the storms of that long season had damaged because he "
    "believed that careful work during quiet weeks would save the fishermen from trouble once "
    "the dangerous winter waves returned so people from neighbouring harbours brought him their "
    "broken masts with torn sails asking whether something could still be done before november "
    "while he simply smiled at them since there was nothing he enjoyed more than finding an "
    "elegant solution for a problem that everyone else considered hopeless even though his own "
    "little house needed a new roof where rain had been dripping through the ceiling into three "
    "large buckets for almost eleven years without anybody ever hearing him complain about such "
    "minor inconveniences"
)


def test_header_of_a_wav_comes_long_before_its_end(speech: SpeechClient, paced: Paced) -> None:
    text = "Sixty characters make less than four seconds of these tones. " * 5
    begun = time.monotonic()
    with speech.stream(text, response_format="wav", **paced.fields) as response:
        pieces = response.iter_raw()
        beginning = next(pieces)
        first = time.monotonic() - begun
        rest = b"".join(pieces)
        whole = time.monotonic() - begun
    assert beginning[:4] == b"RIFF"
    seconds = (len(beginning) + len(rest) - 44) / 2 / RATE
    assert whole > 0.8 * seconds * PACED_SECONDS, "the model keeps its pace"
    assert first < 0.5 * whole


def test_first_audio_comes_within_a_second(speech: SpeechClient) -> None:
    def first_audio(number: int) -> float:
        begun = time.monotonic()
        with speech.stream("Hello, this is a test. " * 6 + str(number)) as response:
            next(response.iter_raw())
            return time.monotonic() - begun

    assert min(first_audio(number) for number in range(3)) < 1.0


def test_listener_never_waits_for_the_next_sentence(speech: SpeechClient) -> None:
    text = "Here is one more sentence of a story which goes on for a while. " * 10
    with speech.stream(text, response_format="pcm") as response:
        begun, received = 0.0, 0
        for piece in response.iter_raw():
            now = time.monotonic()
            begun = begun or now
            # What a player that began at once has played by now was there in time.
            assert not received or received / 2 / RATE > now - begun - SLACK / 2
            received += len(piece)
    assert received / 2 / RATE > 20.0


@pytest.mark.parametrize("text", ["Hello.", "Hello"])
def test_end_is_silent(speech: SpeechClient, text: str) -> None:
    tail = floats(speech.pcm(text))[-RATE // 50 :]
    assert 20 * np.log10(np.sqrt(np.mean(tail**2)) + 1e-9) < -50.0


@pytest.mark.parametrize("speed", [0.5, 1.25, 2.0])
def test_speed_changes_the_length_by_that_much(speech: SpeechClient, speed: float) -> None:
    text = "The meeting starts at nine in the morning and ends at noon."
    plain = len(speech.pcm(text, seed=3))
    assert len(speech.pcm(text, seed=3, speed=speed)) * speed == pytest.approx(plain, rel=0.12)


def test_text_without_punctuation_has_no_holes_at_its_joins(speech: SpeechClient) -> None:
    text = " ".join(FLOWING.split()[:133])
    assert len(text.split()) == 133
    ends = [segment["end"] for segment in _segments(text)]
    assert len(ends) > 2
    whole = speech.pcm(text, seed=5)
    for end in ends[:-1]:
        join = len(speech.pcm(text[:end], seed=5))
        assert _silence_around(whole, join) <= JOIN_SECONDS + 0.01, text[:end][-40:]


def test_parts_of_a_text_are_equally_loud(speech: SpeechClient) -> None:
    parts = ["The river was wide that day.", "Nobody answered.", "We waited for a whole hour."]
    with speech.socket(response_format="pcm", seed=5) as socket:
        for number, part in enumerate(parts):
            socket.send("input_text.append", text=part + " ")
            socket.send("input_text.flush", flush_id=str(number))
        lengths = [socket.until("flush.done", flush_id=str(n))["audio_ms"] for n in range(3)]
        socket.send("input_text.end")
        socket.until("speech.done")
    audio = floats(samples(socket.audio["default"]))
    borders = np.cumsum([0, *lengths]) * RATE // 1000
    assert lengths[0] == pytest.approx(len(speech.pcm(parts[0], seed=5)) * 1000 / RATE, abs=150)
    levels = [loudness_lufs(audio[a:b], RATE) for a, b in pairwise(borders.astype(int))]
    assert max(levels) - min(levels) < 3.0, levels


def test_twelve_thousand_characters_are_spoken_to_the_last(speech: SpeechClient) -> None:
    sentence = "And so the story goes on for one more line. "
    text = (sentence * (12_000 // len(sentence) + 1)) + "The very last words."
    # The tier that takes so much at once.
    fields = {"model": "tone", "voice": "tone-a", "seed": 1, "quality_tier": "hq"}
    pcm = speech.pcm(text, **fields)
    assert len(text) > 12_000
    assert len(pcm) / RATE > 0.9 * LETTER_SECONDS * len(text)
    last = speech.pcm("The very last words.", **fields)
    half = len(last) // 2
    assert np.array_equal(pcm[-half:], last[-half:])


def test_server_answers_others_while_it_encodes(speech: SpeechClient) -> None:
    text = "This sentence is one of many that are encoded while others ask. " * 20
    with ThreadPoolExecutor(3) as threads:
        busy = [
            threads.submit(speech.speak, text, response_format=name, model="tone", voice="tone-b")
            for name in ("mp3", "opus", "flac")
        ]
        waits: list[float] = []
        while not all(future.done() for future in busy) or len(waits) < 10:
            begun = time.monotonic()
            assert speech.http.get("/healthz").status_code == 200
            waits.append(time.monotonic() - begun)
            time.sleep(0.02)
        assert all(future.result() for future in busy)
    assert np.median(waits) < 0.2
    assert max(waits) < 0.2 + SLACK


def test_synthesis_ends_when_the_listener_leaves(
    platform: Platform, paced: Paced, speech: SpeechClient
) -> None:
    client = SpeechClient(platform, paced.key)
    text = "Nobody is going to hear the end of this. " * 70
    try:
        with client.stream(
            text, response_format="pcm", quality_tier="single", **paced.fields
        ) as response:
            pieces = response.iter_raw()  # held: when it goes, it closes the connection
            next(pieces)
            begun = time.monotonic()
            while not _active(platform):
                assert time.monotonic() - begun < SLACK, "it does not speak"
            # The key speaks once at a time: this is refused until the slot is free.
            assert client.post("Hello", quality_tier="single", **paced.fields).status_code == 429
        left = time.monotonic()
        while (
            _active(platform)
            or client.post("Hi", quality_tier="single", **paced.fields).status_code != 200
        ):
            assert time.monotonic() - left < 0.3 + SLACK, "it still speaks"
            time.sleep(0.02)
    finally:
        client.close()


def _active(platform: Platform) -> int:
    """The streams that the workers compute, by their heartbeats (five a second)."""
    url = (platform.var_dir / "run" / "redis.url").read_text().strip()
    with redis.Redis.from_url(url) as client:
        return sum(beat.active for beat in workers_read_sync(client))


def _segments(text: str) -> list[dict[str, int]]:
    """How the platform cuts `text`."""
    result = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "say", "--dry-run", text],
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "voicehost.settings.test"},
        capture_output=True,
        check=True,
        timeout=60,
    )
    segments: list[dict[str, int]] = json.loads(result.stdout)["segments"]
    return segments


def _silence_around(pcm: Pcm, join: int) -> float:
    """Seconds of the longest silence that touches the 0.2 s before sample `join`.

    The text up to a join, spoken alone, ends with at most that much silence.
    """
    audible = np.flatnonzero(np.abs(floats(pcm)) >= SILENT)
    gaps = np.diff(audible)
    touching = (audible[1:] >= join - RATE // 5) & (audible[:-1] <= join)
    return float(gaps[touching].max()) / RATE

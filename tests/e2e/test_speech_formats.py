"""One text in every format: one container, what it says it is, no sample lost or added."""

import httpx
import numpy as np
import pytest

from tests.e2e.speech_client import FORMATS, RATE, SpeechClient, samples
from tests.speech.judge import decode

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("platform")]

TEXT = "This is the first sentence. Here is the second sentence."
TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg; codecs=opus",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm;rate=24000;channels=1",
}
# What only the beginning of a file has; an ADTS stream has no such thing.
BEGINNINGS = {"wav": b"RIFF", "flac": b"fLaC", "opus": b"OpusHead"}
CODED = [name for name in FORMATS if name != "pcm"]

Answers = dict[str, httpx.Response]


@pytest.fixture(scope="module")
def answers(speech: SpeechClient) -> Answers:
    """The same text and seed in all formats."""
    return {name: speech.post(TEXT, response_format=name, seed=7) for name in FORMATS}


@pytest.mark.parametrize("name", FORMATS)
def test_format_is_what_was_asked_for_and_what_the_header_says(answers: Answers, name: str) -> None:
    answer = answers[name]
    assert answer.status_code == 200
    assert answer.headers["content-type"] == TYPES[name]
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["x-accel-buffering"] == "no"
    sync = int.from_bytes(answer.content[:2], "big")
    if name == "mp3":  # MPEG-2 layer III, no ID3 before it
        assert sync & 0xFFFE == 0xFFF2
    elif name == "aac":  # ADTS
        assert sync & 0xFFF6 == 0xFFF0
    elif name == "opus":
        assert answer.content.startswith(b"OggS")
    elif name != "pcm":
        assert answer.content.startswith(BEGINNINGS[name])


def test_body_is_one_file(answers: Answers) -> None:
    for name, beginning in BEGINNINGS.items():
        assert answers[name].content.count(beginning) == 1, name
    # A first frame that tells of two seconds would end the audio of a browser there.
    assert not any(tag in answers["mp3"].content for tag in (b"Xing", b"Info", b"ID3"))


def test_wav_is_the_pcm_behind_a_header_of_a_stream(answers: Answers) -> None:
    wav = answers["wav"].content
    assert wav[44:] == answers["pcm"].content
    assert wav[4:8] == wav[40:44] == b"\xff\xff\xff\xff"


def test_flac_decodes_to_the_pcm(answers: Answers) -> None:
    audio, rate = decode(answers["flac"].content, "flac")
    assert rate == RATE
    heard = np.rint(audio * 32_768).astype(np.int16)
    assert np.array_equal(heard, samples(answers["pcm"].content))


@pytest.mark.parametrize(
    ("name", "most"),
    # One more frame at each end at most: delay before, padding behind.
    [("mp3", 4 * 576), ("aac", 3 * 1024), ("opus", 2), ("flac", 0), ("wav", 0)],
)
def test_both_sentences_decode_strictly_and_whole(answers: Answers, name: str, most: int) -> None:
    audio, rate = decode(answers[name].content)
    spoken = samples(answers["pcm"].content)
    assert 0 <= len(audio) * RATE / rate - len(spoken) <= most
    half = len(spoken) // 2 * rate // RATE
    assert min(float(np.abs(audio[:half]).max()), float(np.abs(audio[half:]).max())) > 0.1


@pytest.mark.parametrize("name", CODED)
def test_end_of_every_length_decodes_strictly(speech: SpeechClient, name: str) -> None:
    for letters in range(1, 6):
        body = speech.speak("a" * letters, model="tone", voice="tone-a", response_format=name)
        audio, rate = decode(body)
        # A letter sounds for 60 ms; lossy formats add their padding.
        assert 0.06 * letters - 0.001 <= len(audio) / rate <= 0.06 * letters + 0.2

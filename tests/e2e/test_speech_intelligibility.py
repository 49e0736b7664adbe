"""What listeners hear, judged by a recogniser: formats, speeds, mixed text, text in pieces."""

import re
from dataclasses import dataclass, field

import pytest

from tests.e2e.speech_client import RATE, SpeechClient, floats, samples
from tests.speech.judge import ENGLISH_GATE, PINYIN_GATE, decode
from tts.recognition.recogniser import Recogniser, Samples

pytestmark = [pytest.mark.e2e, pytest.mark.speech, pytest.mark.xdist_group("platform")]


@dataclass(frozen=True, slots=True)
class Clip:
    """A text, how it is asked for, and what is to be heard where that is written otherwise."""

    name: str
    text: str
    language: str = "en"
    heard: str = ""
    fields: dict[str, object] = field(default_factory=dict)

    def error(self, recogniser: Recogniser, audio: Samples, rate: int) -> float:
        """The share of its words or syllables that are not understood."""
        expected = self.heard or self.text
        if self.language == "zh":
            return recogniser.pinyin_error(audio, rate, expected)
        return recogniser.english_wer(audio, rate, expected)

    @property
    def gate(self) -> float:
        """The largest error that passes."""
        return PINYIN_GATE if self.language == "zh" else ENGLISH_GATE


CLIPS = [
    Clip(
        "mp3 of two sentences",
        "This is the first sentence. Here is the second sentence.",
        fields={"response_format": "mp3"},
    ),
    Clip(
        "aac whose end others cut off",
        "Nothing is worse than a stream that cuts off prematurely",
        fields={"response_format": "aac"},
    ),
    Clip(
        "pcm of a prompt that invites babble",
        "Read it back to me. Word for word.",
        fields={"response_format": "pcm"},
    ),
    Clip(
        "flac with symbols around the words",
        " - **Great** job! 🎉👍 I am happy to join with you today",
        heard="Great job! I am happy to join with you today",
        fields={"response_format": "flac"},
    ),
    Clip(
        "opus with Chinese digits",
        "今年4月15日，我有345元钱。",
        "zh",
        fields={"response_format": "opus", "voice": "zf_xiaoxiao"},
    ),
    Clip(
        "wav of mixed text",
        "请打开 Windows 电脑，然后点击开始按钮。",
        "zh",
        fields={"response_format": "wav", "voice": "zf_xiaoxiao"},
    ),
    Clip(
        "half speed",
        "The meeting starts at nine in the morning.",
        fields={"response_format": "wav", "speed": 0.5},
    ),
    Clip(
        "speed 1.25",
        "今天天气很好，我们一起去公园走走吧。",
        "zh",
        fields={"response_format": "wav", "speed": 1.25, "voice": "zf_xiaobei"},
    ),
    Clip(
        "double speed",
        "Please remember to bring the blue umbrella and two tickets for the evening train.",
        fields={"response_format": "wav", "speed": 2},
    ),
]


@pytest.mark.parametrize("clip", CLIPS, ids=lambda clip: clip.name)
def test_streamed_clip_is_understood(
    speech: SpeechClient, recogniser: Recogniser, clip: Clip
) -> None:
    with speech.stream(clip.text, **clip.fields) as response:
        pieces = list(response.iter_raw())
    assert len(pieces) > 1, "a stream comes in pieces"
    body = b"".join(pieces)
    if clip.fields["response_format"] == "pcm":
        audio, rate = floats(samples(body)), RATE
    else:
        audio, rate = decode(body)
    assert clip.error(recogniser, audio, rate) <= clip.gate


def test_text_that_comes_in_pieces_is_understood(
    speech: SpeechClient, recogniser: Recogniser
) -> None:
    text = 'She said "we will meet again at the old station" and smiled.'
    with speech.socket(response_format="pcm") as socket:
        for piece in re.findall(r"\s*\S{1,4}", text):
            socket.send("input_text.append", text=piece)
        socket.send("input_text.end")
        assert socket.until("speech.done")["reason"] == "completed"
    audio = floats(samples(socket.audio["default"]))
    assert recogniser.english_wer(audio, RATE, text) <= ENGLISH_GATE


def test_first_word_is_heard(speech: SpeechClient, recogniser: Recogniser) -> None:
    heard = recogniser.transcript(floats(speech.pcm("Seven forty six PM.")), RATE, "en")
    assert re.sub(r"\W", "", heard.lower()) in {"746pm", "sevenfortysixpm", "sevenforty6pm"}

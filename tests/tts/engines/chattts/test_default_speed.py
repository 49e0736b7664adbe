"""A text that says nothing of its speed has the original's default prompt."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tts.engines.chattts.joined import joined_noted
from tests.tts.engines.chattts.speaking import Bench, embedding, segment, voice_of
from tts.engine.request import Profile, VoiceSpec
from tts.engines.chattts.audio_library import audio_library
from tts.engines.chattts.generation import Kind
from tts.engines.chattts.voice import Sample, material_pack
from tts.text.segment import Segment

TEXT = "hello there"
SAID = "good morning"


@pytest.fixture
def standard(chattts_tiny: Path) -> Iterator[Bench]:
    bench = Bench.load(chattts_tiny, Profile.STANDARD)
    yield bench
    bench.engine.close()


@pytest.fixture(scope="module")
def tokenizer(chattts_tiny: Path) -> Any:
    with audio_library():
        from ChatTTS.model.tokenizer import Tokenizer
    return Tokenizer(str(chattts_tiny / "asset" / "tokenizer"))


def original(tokenizer: Any, transcript: str, speaker: str | None, prompt: str) -> list[int]:
    """Token ids of the original's prompt for audio."""
    from ChatTTS.model.speaker import Speaker

    decorated = Speaker.decorate_code_prompts([TEXT], prompt, transcript, speaker)
    ids, _, _ = tokenizer.encode(decorated, 4)
    return [int(number) for number in ids[0, :, 0]]


def default_prompt() -> str:
    with audio_library():
        from ChatTTS.core import Chat
    return str(Chat.InferCodeParams().prompt)


def asked(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, voice: VoiceSpec, *controls: str
) -> list[int]:
    """The tokens of the prompt that the engine makes of the text."""
    plain = segment(TEXT)
    utterance = bench.prepare(
        Segment(0, plain.source, plain.spans, 0, len(TEXT), (), controls), voice
    )
    joined = joined_noted(monkeypatch)
    bench.engine.step([utterance])
    bench.engine.release(utterance)
    (generation,) = [each for each in joined if each.kind is Kind.AUDIO]
    return list(generation.prompt.tokens)


def test_a_voice_of_an_embedding(
    standard: Bench, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = asked(standard, monkeypatch, voice_of(embedding(1)))
    assert found == original(tokenizer, "", "anna", default_prompt())


def test_a_voice_of_a_sample(
    standard: Bench, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    voice = voice_of(material_pack(Sample(bytes(16), 4, SAID)))
    found = asked(standard, monkeypatch, voice)
    assert found == original(tokenizer, SAID, None, default_prompt())


@pytest.mark.parametrize("speed", ["speed_2", "speed_5"])
def test_a_mark_of_the_text_replaces_it(
    standard: Bench, tokenizer: Any, monkeypatch: pytest.MonkeyPatch, speed: str
) -> None:
    found = asked(standard, monkeypatch, voice_of(embedding(1)), "oral_2", speed)
    assert found == original(tokenizer, "", "anna", f"[{speed}]")

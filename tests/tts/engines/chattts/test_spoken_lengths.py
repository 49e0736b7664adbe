"""Text that is lost is an error; a cut that loses none is told to operators."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.tts.engines.chattts.speaking import Bench, segment, voice_of
from tts.engine.request import Profile
from tts.engines.chattts.generation import GenerationRefused, Prompt, SpokenCut, SpokenShort
from tts.engines.chattts.lengths import TOKEN_SECONDS, Lengths
from tts.engines.chattts.profile import POSITIONS, PROFILES
from tts.engines.chattts.random_stream import StreamKey
from tts.engines.chattts.voice import Sample, material_pack
from tts.text.segment import Language

LONG = "hello there my friend " * 9
"""About 13 s, as long as segments get."""


@pytest.fixture(scope="module")
def endless(chattts_tiny: Path) -> Iterator[Bench]:
    bench = Bench.load(chattts_tiny, Profile.STANDARD)
    yield bench
    bench.engine.close()


def test_speech_that_ends_long_before_its_text_is_an_error(chattts_tiny_ending: Path) -> None:
    bench = Bench.load(chattts_tiny_ending, Profile.STANDARD)
    # About half of them end too early, whichever seeds those are.
    text, seeds = "hello there my friend " * 6, 20
    least = Lengths.of(segment(text), text).least
    short = 0
    for seed in range(seeds):
        utterance = bench.prepare(text, seed=seed)
        try:
            (audio,) = bench.speak(utterance)
        except SpokenShort:
            short += 1
        else:
            assert len(audio) >= (least - TOKEN_SECONDS) * 24_000
    assert 0 < short < seeds
    assert bench.engine.rows == 0
    bench.engine.close()


def test_speech_that_does_not_end_is_cut_and_told(endless: Bench) -> None:
    utterance = endless.prepare("hello there")
    notices, samples = [], 0
    while True:
        (result,) = endless.engine.step([utterance])
        samples += len(result.audio)
        notices.append(result.notice)
        if result.finished:
            break
    assert samples / 24_000 >= 2 * utterance.expected_seconds
    # Once, with its end: the core says in the log whose it is.
    assert [notice for notice in notices if notice] == [notices[-1]]
    assert notices[-1] == "an utterance was cut at its longest: the model did not end"


def voice_after(tokens: int) -> bytes:
    codes = np.random.default_rng(3).integers(0, 625, (4, tokens)).astype("<u2")
    return material_pack(Sample(codes.tobytes(), 4, "good morning"))


def test_a_cut_for_lack_of_room_is_an_error(endless: Bench) -> None:
    # The voice leaves less than twice what the text takes, and the model does not end.
    utterance = endless.prepare(LONG, voice_of(voice_after(400)))
    with pytest.raises(SpokenCut, match="did not end within"):
        endless.speak(utterance)
    assert endless.engine.rows == 0


def test_a_row_does_not_begin_without_a_margin(endless: Bench) -> None:
    with pytest.raises(GenerationRefused, match="do not fit"):
        endless.speak(endless.prepare(LONG, voice_of(voice_after(600))))


@pytest.mark.parametrize("text", ["hello there", "你好世界"])
def test_marks_say_nothing_of_how_short_a_text_may_be(text: str) -> None:
    language = Language.EN if text.isascii() else Language.ZH
    plain, marked = (
        Lengths.of(segment(written, language=language), written)
        for written in (text, f"{text}{'。' * 60}")
    )
    assert marked.expected > 4 * plain.expected
    assert marked.least == plain.least < plain.expected


def test_the_longest_segment_has_twice_its_length() -> None:
    lengths = Lengths.of(segment("x" * 200), "x" * 200)
    prompt = Prompt((1,) * 300)
    generation = lengths.generation(prompt, StreamKey(1), POSITIONS, 0)
    assert generation.max_tokens >= generation.ample_tokens
    assert all(settings.cache.positions == POSITIONS for settings in PROFILES.values())


def test_no_retry_takes_back_what_was_heard(endless: Bench) -> None:
    lengths = Lengths.of(segment(LONG), LONG)
    generation = lengths.generation(Prompt((1,)), StreamKey(1), POSITIONS, 28)
    assert generation.final_tokens == PROFILES[Profile.STANDARD].windows.first_tokens == 28
    assert generation.least_tokens > 28

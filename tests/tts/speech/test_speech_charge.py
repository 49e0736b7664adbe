"""How many characters count as spoken when only a part of the audio was sent."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tts.speech.speech_fakes import RATE, segment_of
from tts.engine.streams import expected_seconds
from tts.speech.charge import SegmentAudio, characters_sent

TEXTS = ["One two.", " Three.", " 四五六."]


def sent(
    audio: list[SegmentAudio], samples: int, *, speed: float = 1.0, unfinished: bool = True
) -> int:
    start = 0
    segments = {}
    for index, text in enumerate(TEXTS):
        segments[index] = segment_of(index, text, start)
        start += len(text)
    return characters_sent(
        segments, dict(enumerate(audio)), samples,
        sample_rate=RATE, speed=speed, unfinished=unfinished,
    )  # fmt: skip


def test_whole_segments_that_were_sent_count_whole() -> None:
    audio = [SegmentAudio(0, 800, whole=True), SegmentAudio(800, 1_500, whole=True)]
    assert sent(audio, 1_500) == len("One two. Three.")


def test_a_segment_counts_by_the_share_that_was_sent() -> None:
    audio = [SegmentAudio(0, 800, whole=True), SegmentAudio(800, 1_500, whole=True)]
    assert sent(audio, 400) == 4
    assert sent(audio, 401) == 5
    assert sent(audio, 900) == 8 + 1


def test_nothing_sent_is_nothing_charged() -> None:
    assert sent([SegmentAudio(0, 800, whole=True), SegmentAudio(800, 900)], 0) == 0
    assert sent([SegmentAudio(0, 0, whole=True)], 0) == 0


def test_a_segment_without_audio_counts_once_what_follows_is_sent() -> None:
    audio = [SegmentAudio(0, 0, whole=True), SegmentAudio(0, 700, whole=True)]
    assert sent(audio, 700) == len("One two. Three.")


def test_an_unfinished_segment_is_taken_to_go_on_at_the_pace_of_those_before() -> None:
    # Two expected seconds are spoken in the time of one: the rest of it likewise.
    first, second = (expected_seconds(segment_of(0, text, 0)) for text in TEXTS[:2])
    whole = round(first / 2 * RATE)
    half = round(second / 4 * RATE)
    audio = [SegmentAudio(0, whole, whole=True), SegmentAudio(whole, whole + half)]
    assert sent(audio, whole + half) == 8 + math.ceil(7 / 2)
    assert sent(audio, whole + half, unfinished=False) == 8


@pytest.mark.parametrize("speed", [0.5, 1.0, 2.0])
def test_a_first_segment_is_taken_to_be_spoken_as_usual(speed: float) -> None:
    half = round(expected_seconds(segment_of(0, TEXTS[0], 0)) / 2 / speed * RATE)
    assert sent([SegmentAudio(0, half + RATE)], half + RATE, speed=speed) == 8
    assert sent([SegmentAudio(0, half)], half, speed=speed) == 4


@given(
    lengths=st.lists(st.integers(0, 5_000), min_size=1, max_size=3),
    whole=st.booleans(),
    samples=st.tuples(st.integers(0, 20_000), st.integers(0, 20_000)),
)
def test_more_audio_is_never_fewer_characters_and_never_more_than_the_text(
    lengths: list[int], whole: bool, samples: tuple[int, int]
) -> None:
    audio, start = [], 0
    for index, length in enumerate(lengths):
        is_whole = whole or index < len(lengths) - 1
        audio.append(SegmentAudio(start, start + length, is_whole))
        start += length
    few, many = sorted(samples)
    text = sum(len(text) for text in TEXTS[: len(lengths)])
    assert 0 <= sent(audio, few) <= sent(audio, many) <= text

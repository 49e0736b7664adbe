"""Tones tell texts, voices and seeds apart, and are the same in any company."""

from dataclasses import replace

import numpy as np
import pytest

from tests.tts.engines.tone_bench import ADA, BEI, BOTH, ToneBench, text_segment
from tts.engine.errors import NothingToSpeak, VoiceUnavailable
from tts.engine.request import Profile, VoicePart
from tts.engines.base import Samples, SynthesisParams
from tts.text.segment import Language, LanguageSpan, Segment

MODES: list[dict[str, object]] = [
    {"mode": "step"},
    {"mode": "step", "step_seconds": 0.013},
    {"mode": "utterance", "piece_seconds": 0.1},
    {"mode": "utterance", "batches": True},
]


def pitch(sound: Samples, rate: int = 24_000) -> float:
    spectrum = np.abs(np.fft.rfft(sound))
    return float(np.argmax(spectrum)) * rate / len(sound)


@pytest.mark.parametrize("config", MODES)
def test_a_text_sounds_the_same_in_every_mode_and_company(config: dict[str, object]) -> None:
    (alone,) = ToneBench().sound(ToneBench().prepare("hello there", seed=7))
    bench = ToneBench(**config)
    mates = [bench.prepare(text, seed=n) for n, text in enumerate(["a", "some more", "x" * 30])]
    *_, together = bench.sound(*mates, bench.prepare("hello there", seed=7))
    np.testing.assert_array_equal(alone, together)
    assert alone.dtype == np.float32
    bench.engine.close()


def test_length_follows_the_text() -> None:
    bench = ToneBench(character_seconds=0.05)
    utterance = bench.prepare("x" * 20)
    assert utterance.expected_seconds == pytest.approx(1.0)
    (sound,) = bench.sound(utterance)
    assert len(sound) == 24_000


def test_voices_and_texts_have_their_own_pitch() -> None:
    bench = ToneBench(character_seconds=0.5)
    bea = replace(ADA, name="bea", parts=(VoicePart("bea"),))
    ada_a, ada_b, bea_a = bench.sound(
        bench.prepare("a"), bench.prepare("b"), bench.prepare("a", bea)
    )
    pitches = [pitch(sound) for sound in (ada_a, ada_b, bea_a)]
    assert len({round(p) for p in pitches}) == 3


def test_a_mix_lies_between_its_speakers() -> None:
    bench = ToneBench(character_seconds=0.5)
    bea = replace(ADA, parts=(VoicePart("bea"),))
    mix = replace(ADA, parts=(VoicePart("ada"), VoicePart("bea", 3.0)))
    low, middle, high = (pitch(bench.sound(bench.prepare("m", v))[0]) for v in (ADA, mix, bea))
    assert min(low, high) < middle < max(low, high)
    assert abs(middle - high) < abs(middle - low)


def test_a_seed_gives_its_own_samples() -> None:
    bench = ToneBench()
    one, same, other = bench.sound(*(bench.prepare("hi", seed=seed) for seed in (1, 1, 2)))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_spaces_are_silent() -> None:
    (sound,) = ToneBench().sound(ToneBench().prepare("a b"))
    middle = sound[len(sound) // 3 : 2 * len(sound) // 3]
    assert np.abs(middle).max() == 0.0
    assert np.abs(sound).max() > 0.2


def test_the_companion_speaks_the_other_language() -> None:
    bench = ToneBench()
    spans = (LanguageSpan(Language.EN, "aa", 0, 2), LanguageSpan(Language.ZH, "你好", 2, 4))
    segment = Segment(0, "aa你好", spans, 0, 4)
    params = SynthesisParams(Profile.STANDARD, 1)
    (both,) = bench.sound(bench.engine.prepare(segment, BOTH, params))
    (chinese,) = bench.sound(bench.engine.prepare(text_segment("你好", Language.ZH), BEI, params))
    np.testing.assert_array_equal(both[len(both) // 2 :], chinese)


def test_a_language_nobody_speaks_is_an_error_that_names_the_voice() -> None:
    bench = ToneBench()
    with pytest.raises(VoiceUnavailable, match="ada does not speak zh, only en"):
        bench.engine.prepare(
            text_segment("你好", Language.ZH), ADA, SynthesisParams(Profile.STANDARD)
        )
    with pytest.raises(VoiceUnavailable, match="no speaker"):
        bench.prepare("hi", replace(ADA, parts=()))


def test_nothing_to_speak_is_an_error() -> None:
    with pytest.raises(NothingToSpeak):
        ToneBench().prepare("?! ...")

"""Every profile says the sentences, and is compared with full precision."""

from dataclasses import replace

import pytest

from models_registry.states import Verdict
from tests.tts.checking.hearing import FakeVoice
from tts.checking.listening import Heard, NothingToHear, listen
from tts.checking.sentences import SENTENCES
from tts.engine.request import Profile

REALTIME, STANDARD, HQ = Profile.REALTIME, Profile.STANDARD, Profile.HQ


def test_every_profile_is_heard_after_full_precision() -> None:
    voice, told = FakeVoice(), list[Heard]()
    checked = listen(voice, voice.recogniser, 3, told.append)
    assert voice.loads == [(STANDARD, HQ), (REALTIME, None), (STANDARD, None), (HQ, None)]
    assert [found.verdict for found in checked] == [Verdict.PASSED] * 3
    assert [heard.name for heard in told] == ["reference", "realtime", "standard", "hq"]
    first = [*SENTENCES["zh"][:3], *SENTENCES["en"][:3]]
    assert voice.said == first * 4


def test_a_profile_that_is_understood_worse_is_told_and_falls_back() -> None:
    voice = FakeVoice(lambda loaded, line: loaded == (REALTIME, None) and line.seed == 1)
    realtime, standard, hq = listen(voice, voice.recogniser, 20)
    assert (realtime.verdict, realtime.numbers) == (Verdict.WORSE, "standard")
    assert 0.02 < realtime.errors["en"] < 0.1
    assert standard.verdict == hq.verdict == Verdict.PASSED


def test_where_full_precision_is_not_understood_nothing_else_is_heard() -> None:
    voice = FakeVoice(lambda loaded, line: True)
    checked = listen(voice, voice.recogniser, 20)
    assert voice.loads == [(STANDARD, HQ)]
    assert [found.verdict for found in checked] == [Verdict.UNINTELLIGIBLE] * 3
    assert checked[0].reference == {"zh": 1.0, "en": 1.0}


def test_only_languages_that_are_spoken_count() -> None:
    voice = FakeVoice(languages=("en",))
    assert listen(voice, voice.recogniser, 2)[0].errors == {"en": 0.0}
    with pytest.raises(NothingToHear):
        listen(FakeVoice(languages=()), voice.recogniser, 2)


def test_what_was_not_spoken_was_not_understood() -> None:
    class Failing(FakeVoice):
        def speak(self, *arguments: object) -> list:  # type: ignore[type-arg]  # see FakeVoice
            spoken = super().speak(*arguments)  # type: ignore[arg-type]
            return [replace(spoken[0], audio=spoken[0].audio[:0], error="no end"), *spoken[1:]]

    voice, told = Failing(), list[Heard]()
    listen(voice, voice.recogniser, 1, told.append)
    assert (told[0].unsaid, told[0].reason) == (1, "no end")
    assert told[0].errors == {"zh": 1.0, "en": 0.0}


@pytest.mark.parametrize("language", ["zh", "en"])
def test_sentences_are_twenty_and_leave_no_choice_of_writing(language: str) -> None:
    texts = SENTENCES[language]
    assert len(set(texts)) == 20
    for text in texts:
        assert not any(character.isdigit() for character in text)
        assert any("\u4e00" <= character <= "\u9fff" for character in text) == (language == "zh")

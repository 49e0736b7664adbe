"""A version is listened to: what it says in each profile, against full precision."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from models_registry.services import CheckedProfile
from tts.checking.sentences import SENTENCES
from tts.checking.speaking import Line, Spoken
from tts.checking.verdict import PRECISER, Errors, intelligible, profiles_judge
from tts.engine.request import Profile
from tts.recognition.recogniser import Recogniser
from tts.recognition.scores import ERROR_RATES

REFERENCE = "reference"
"""What full precision is called where profiles are named."""
_PLAIN = Profile.STANDARD
"""Full precision is heard of a profile that takes the first take as it is, like the fast ones."""


class Voice(Protocol):
    """What speaks: `tts.checking.speaking.VersionVoice`, or a test's."""

    def lines(self, language: str, texts: Sequence[str]) -> list[Line]: ...

    def speak(
        self, lines: Sequence[Line], profile: Profile, numbers: Profile | None = None
    ) -> list[Spoken]: ...


class NothingToHear(Exception):
    """The version has no voice for any language that is listened to."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What was heard of one profile: error rates by language, and how many lines stayed unsaid."""

    name: str
    errors: Errors
    unsaid: int
    reason: str = ""


def listen(
    voice: Voice,
    recogniser: Recogniser,
    sentences: int,
    told: Callable[[Heard], None] = lambda heard: None,
) -> tuple[CheckedProfile, ...]:
    """Have every profile say that many sentences in each language, and judge what was heard.

    `told` hears of each as it comes. Where full precision is not understood, the others are
    not listened to. Raises NothingToHear, VersionUnavailable.
    """
    lines = [
        line
        for language in ERROR_RATES
        for line in voice.lines(language, texts(language, sentences))
    ]
    if not lines:
        raise NothingToHear("it has no voice that speaks Chinese or English")

    def hear(name: str, profile: Profile, numbers: Profile | None = None) -> Errors:
        heard = _heard(name, voice.speak(lines, profile, numbers), recogniser)
        told(heard)
        return heard.errors

    reference = hear(REFERENCE, _PLAIN, PRECISER[-1])
    if not intelligible(reference):
        return profiles_judge({profile: {} for profile in PRECISER}, reference)
    return profiles_judge({profile: hear(profile, profile) for profile in PRECISER}, reference)


def texts(language: str, sentences: int) -> tuple[str, ...]:
    """The first sentences of a language."""
    return SENTENCES[language][:sentences]


def _heard(name: str, spoken: Sequence[Spoken], recogniser: Recogniser) -> Heard:
    transcripts: dict[str, list[tuple[str, str]]] = {}
    for item in spoken:
        language = item.line.language
        heard = recogniser.transcript(item.audio, item.rate, language)
        transcripts.setdefault(language, []).append((item.line.text, heard))
    unsaid = [item.error for item in spoken if item.error]
    return Heard(name, _rates(transcripts), len(unsaid), next(iter(unsaid), ""))


def _rates(transcripts: Mapping[str, Sequence[tuple[str, str]]]) -> Errors:
    return {
        language: ERROR_RATES[language](
            [expected for expected, _ in pairs], [heard for _, heard in pairs]
        )
        for language, pairs in transcripts.items()
    }

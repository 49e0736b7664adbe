"""A recogniser that hears what it is told to, of voices that say it in numbers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tts.checking.speaking import Line, Spoken
from tts.engine.request import Profile
from tts.recognition.recogniser import HEARD_RATE, Recogniser, Samples

Loaded = tuple[Profile, Profile | None]
Mishears = Callable[[Loaded, Line], bool]


@dataclass
class FakeVoice:
    """Two languages; `mishears` says which lines nobody understands of an engine so loaded."""

    mishears: Mishears = lambda loaded, line: False
    languages: tuple[str, ...] = ("zh", "en")
    loads: list[Loaded] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def lines(self, language: str, texts: Sequence[str]) -> list[Line]:
        known = texts if language in self.languages else ()
        return [Line(language, text, "anna", seed) for seed, text in enumerate(known, start=1)]

    def speak(
        self, lines: Sequence[Line], profile: Profile, numbers: Profile | None = None
    ) -> list[Spoken]:
        loaded = (profile, numbers)
        self.loads.append(loaded)
        return [self._spoken(line, understood=not self.mishears(loaded, line)) for line in lines]

    def transcribe(self, audio: Samples, language: str) -> str:
        number = int(audio[0])
        return self.said[number] if number >= 0 else ""

    @property
    def recogniser(self) -> Recogniser:
        """Hears this voice."""
        return Recogniser(self)

    def _spoken(self, line: Line, *, understood: bool) -> Spoken:
        self.said.append(line.text)
        number = len(self.said) - 1 if understood else -1
        return Spoken(line, np.full(8, number, np.float32), HEARD_RATE)

"""How long an utterance may get, and must be, to be taken for its text."""

from dataclasses import dataclass
from typing import Final, Self

from tts.engines.chattts import SAMPLE_RATE, TOKEN_SAMPLES
from tts.engines.chattts.generation import Generation, GenerationRefused, Prompt
from tts.engines.chattts.random_stream import StreamKey
from tts.text.segment import Language, Segment

TOKEN_SECONDS: Final = TOKEN_SAMPLES / SAMPLE_RATE
_SECONDS_PER_CHARACTER: Final = {Language.ZH: 0.225, Language.EN: 0.065}
"""A guess until somebody has measured real weights: the pace of Kokoro's voices."""
_LONGEST: Final = 3.0
"""Times its expected length at which an utterance is cut off: the model then does not end."""
_SPARE_SECONDS: Final = 2.0
_AMPLE: Final = 2.0
"""Times its expected length after which all of a text was said: a cut before it is a failure."""
_ROOM: Final = 1.5
"""Times its expected length that there must be room for, else an utterance does not begin."""
_LEAST_SHARE: Final = 0.25
"""Share of its letters' length below which an utterance is taken for a failure."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """Seconds of one utterance: `expected`, and the `least` that can be the whole of it.

    What is expected counts all that is written, pauses too; the least counts letters alone,
    since marks may be many and say nothing.
    """

    expected: float
    least: float

    @classmethod
    def of(cls, segment: Segment, script: str) -> Self:
        """Of a segment, and of its script without tokens."""
        seconds = sum(
            len(span.spoken) * _SECONDS_PER_CHARACTER[span.language] for span in segment.spans
        )
        letters = sum(
            _SECONDS_PER_CHARACTER[Language.EN if character.isascii() else Language.ZH]
            for character in script
            if character.isalpha()
        )
        return cls(max(TOKEN_SECONDS, seconds), _LEAST_SHARE * letters)

    def generation(
        self, prompt: Prompt, key: StreamKey, positions: int, used_from: int
    ) -> Generation:
        """A take in a slot of so many `positions`; raises GenerationRefused where it is too small.

        A take that ends too early is made again unless `used_from` tokens were there by then, of
        which some have been heard (0: none is heard before the end).
        """
        room = positions - prompt.length + 1
        if room < _tokens(_ROOM * self.expected):
            raise GenerationRefused(
                f"about {self.expected:.0f} s of speech and a prompt of {prompt.length} tokens do"
                f" not fit {positions} positions"
            )
        longest = min(_tokens(_LONGEST * self.expected + _SPARE_SECONDS), room)
        return Generation(
            prompt,
            key,
            longest,
            least_tokens=max(1, min(_tokens(self.least), longest)),
            final_tokens=used_from,
            ample_tokens=_tokens(_AMPLE * self.expected),
        )


def _tokens(seconds: float) -> int:
    return round(seconds / TOKEN_SECONDS)

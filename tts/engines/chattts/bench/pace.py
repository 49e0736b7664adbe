"""How fast a number of utterances came."""

from dataclasses import dataclass

from tts.engines.chattts.lengths import TOKEN_SECONDS


@dataclass(frozen=True, slots=True)
class Pace:
    """`rows` utterances begun together, of `tokens` tokens in all. All times are in seconds.

    `computing` is the GPT's part with prompts and sampling, `decoding` the vocoder's. `steps`
    are those of the step loop with what was decoded then, `first_audio` each row's wait; both
    are empty where they were not seen.
    """

    rows: int
    tokens: int
    computing: float
    decoding: float
    steps: tuple[float, ...] = ()
    first_audio: tuple[float, ...] = ()

    @property
    def tokens_per_second(self) -> float:
        """Of all rows, with the vocoder."""
        return self.tokens / (self.computing + self.decoding)

    @property
    def gpt_tokens_per_second(self) -> float:
        """Of all rows, without the vocoder."""
        return self.tokens / self.computing

    @property
    def real_time_factor(self) -> float:
        """Seconds that a row takes for a second of its audio: 1 or less to be listened to."""
        audio = self.tokens / self.rows * TOKEN_SECONDS
        return (self.computing + self.decoding) / audio

"""What is asked of the step loop, and what it answers.

SynthesisFailed
├── GenerationRefused  what is asked for is malformed or never fits a slot
├── NothingSpoken      every attempt ended before its first token
├── SpokenShort        every attempt ended so early that text must be missing
├── SpokenCut          the room ended before the model did, and text may be missing
└── NotFinite          the model's numbers overflowed for this row
"""

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from tts.engine.errors import EngineError, SynthesisFailed
from tts.engines.chattts.backend import CacheShape, Floats
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.random_stream import StreamKey
from tts.engines.chattts.sampler import Sampling

Codes = NDArray[np.uint16]


class GenerationRefused(SynthesisFailed):
    """A generation that no loop of this model and cache can do."""


class NothingSpoken(SynthesisFailed):
    """Each attempt ended before its first token."""


class SpokenShort(SynthesisFailed):
    """Each attempt ended long before so much text can have been spoken."""


class SpokenCut(SynthesisFailed):
    """The row was cut at its longest, which is too short to be sure of the text."""


class NotFinite(SynthesisFailed):
    """Hidden states or logits are not finite numbers."""


class Kind(StrEnum):
    """What the tokens are: AUDIO, one in each codebook; TEXT, one of refinement."""

    AUDIO = "audio"
    TEXT = "text"


class End(StrEnum):
    """Why a row ended well: by itself, or at its longest, with room enough for all it had to say.

    Too early an end, and one at a longest that is none, are errors.
    """

    EOS = "eos"
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class Prompt:
    """Text tokens, then for zero-shot the audio tokens `sample` (codebooks, t) of a recording.

    `speaker` (h,) stands at `speaker_at` in place of that token, normalised already.
    """

    tokens: tuple[int, ...]
    speaker_at: int | None = None
    speaker: Floats | None = None
    sample: Codes | None = None

    @property
    def length(self) -> int:
        """Positions it takes."""
        return len(self.tokens) + (0 if self.sample is None else self.sample.shape[1])

    def check(self, config: GptConfig) -> None:
        """Raise GenerationRefused unless the model has all that it names."""
        if not self.tokens or not all(0 <= token < config.text_tokens for token in self.tokens):
            raise GenerationRefused(
                f"a prompt needs text tokens, each from 0 to {config.text_tokens - 1}"
            )
        if (self.speaker is None) != (self.speaker_at is None):
            raise GenerationRefused("a speaker and its position go together")
        if self.speaker is not None and self.speaker_at is not None:
            if not 0 <= self.speaker_at < len(self.tokens):
                raise GenerationRefused(
                    f"the speaker's position {self.speaker_at} is not in the text's "
                    f"{len(self.tokens)} tokens"
                )
            if self.speaker.shape != (config.hidden,) or not np.isfinite(self.speaker).all():
                raise GenerationRefused(f"a speaker is {config.hidden} finite numbers")
        if self.sample is not None:
            books = config.codebooks
            if self.sample.ndim != 2 or self.sample.shape[0] != books:
                raise GenerationRefused(f"a sample is ({books}, t), this is {self.sample.shape}")
            if (self.sample >= config.audio_tokens - 1).any():
                raise GenerationRefused(
                    f"a sample's audio tokens are from 0 to {config.audio_tokens - 2}"
                )


@dataclass(frozen=True, slots=True)
class Generation:
    """One row's work.

    It ends after `max_tokens` at the latest and never before `min_tokens` (the end is banned).
    An end before `least_tokens` is a failure. It is tried again, with the attempts that follow
    the key's, where it comes before `final_tokens` (0: always), from which on tokens may have
    been used. A row that is cut before it had `ample_tokens` is a failure, too.
    """

    prompt: Prompt
    key: StreamKey
    max_tokens: int
    sampling: Sampling = field(default_factory=Sampling)
    min_tokens: int = 0
    least_tokens: int = 1
    kind: Kind = Kind.AUDIO
    final_tokens: int = 0
    ample_tokens: int = 1

    def check(self, config: GptConfig, cache: CacheShape) -> None:
        """Raise GenerationRefused unless a slot of `cache` can hold it whole."""
        self.prompt.check(config)
        if not 1 <= self.least_tokens <= self.max_tokens or not (
            0 <= self.min_tokens <= self.max_tokens
        ):
            raise GenerationRefused(
                f"min_tokens {self.min_tokens} must be from 0 and least_tokens "
                f"{self.least_tokens} from 1 to max_tokens {self.max_tokens}"
            )
        needed = self.prompt.length + self.max_tokens - 1  # the last token is never read
        if needed > cache.positions:
            raise GenerationRefused(
                f"a prompt of {self.prompt.length} and up to {self.max_tokens} tokens take "
                f"{needed} positions, a slot has {cache.positions}"
            )


@dataclass(frozen=True, slots=True)
class RowStep:
    """What one step did for one row: a token, an end, or both at the greatest length.

    `codes` (codebooks,) and `hidden` (h,), the normalised state that it was chosen from, are
    None where there is no token: the end itself is none. `restarted`: the row began again,
    and its tokens before this step are void. `error` ends the row and concerns it alone.
    """

    row: int
    codes: Codes | None = None
    hidden: Floats | None = None
    end: End | None = None
    error: EngineError | None = None
    restarted: bool = False

    @property
    def ended(self) -> bool:
        """Whether this is the row's last step; its slot is free again."""
        return self.end is not None or self.error is not None

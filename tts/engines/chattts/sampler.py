"""Choosing tokens from logits, many rows at once, each by its own parameters and numbers.

The order is ChatTTS' (`GPT.generate`, `gen_logits`): temperature, repetition penalty over the
last 16 tokens of each codebook, top-p, top-k (both keep at least three tokens), then the end
is banned where it may not come yet, then the softmax of what is left.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tts.engines.chattts.backend import Floats, Ints
from tts.engines.chattts.random_stream import Doubles, RandomStream, StreamKey

WINDOW: Final = 16
"""Tokens that the repetition penalty looks back on."""
LEAST_KEPT: Final = 3
"""Tokens that top-p and top-k leave at least."""
_AHEAD: Final = 16
"""Steps whose random numbers are drawn together."""
_NONE: Final = -1
_LIMITS: Final = {
    "temperature": (0.01, 10.0),
    "top_p": (0.0, 1.0),
    "repetition_penalty": (0.1, 10.0),
}


@dataclass(frozen=True, slots=True)
class Sampling:
    """How one row chooses; the defaults are ChatTTS' for audio.

    A token that came n times in the window has its logit divided (where negative, multiplied)
    by `repetition_penalty` ** n. `top_k` None keeps all tokens.
    Raises SamplingInvalid saying what is allowed.
    """

    temperature: float = 0.3
    top_p: float = 0.7
    top_k: int | None = 20
    repetition_penalty: float = 1.05

    def __post_init__(self) -> None:
        for name, (least, most) in _LIMITS.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise SamplingInvalid(f"{name} must be from {least} to {most}, got {value}")
        if self.top_k is not None and self.top_k < 1:
            raise SamplingInvalid(f"top_k must be at least 1, or none, got {self.top_k}")


class SamplingInvalid(ValueError):
    """A sampling parameter is out of its range."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """What rows may choose from: `tokens` and `weights` (n, most), ascending tokens.

    A row with fewer is filled up with weights of 0. Weights are relative to the highest.
    """

    tokens: NDArray[np.int64]
    weights: Floats


class Sampler:
    """The state of `slots` rows, each of `codebooks` tokens a step from a vocabulary."""

    def __init__(self, slots: int, codebooks: int, vocabulary: int, end: int) -> None:
        self._codebooks, self._vocabulary, self._end = codebooks, vocabulary, end
        self._temperature = np.ones(slots, np.float32)
        self._top_p = np.ones(slots, np.float32)
        self._top_k = np.full(slots, vocabulary)
        self._powers = np.ones((slots, WINDOW + 1), np.float32)
        self._least = np.zeros(slots, np.int64)
        self._steps = np.zeros(slots, np.int64)
        self._history = np.full((slots, codebooks, WINDOW), _NONE, np.int64)
        self._streams: list[RandomStream | None] = [None] * slots
        self._numbers = np.zeros((slots, _AHEAD, codebooks))

    def start(self, slot: int, sampling: Sampling, key: StreamKey, least: int = 0) -> None:
        """A row begins (again) in `slot`: no history, and no end before `least` tokens."""
        top_k = self._vocabulary if sampling.top_k is None else sampling.top_k
        self._temperature[slot] = sampling.temperature
        # Rounded sums may reach 1 before the last token.
        self._top_p[slot] = sampling.top_p if sampling.top_p < 1.0 else np.inf
        self._top_k[slot] = min(max(top_k, LEAST_KEPT), self._vocabulary)
        self._powers[slot] = np.float32(sampling.repetition_penalty) ** np.arange(WINDOW + 1)
        self._least[slot] = least
        self._steps[slot] = 0
        self._history[slot] = _NONE
        self._streams[slot] = RandomStream(key)

    def clear(self, slot: int) -> None:
        """Forget the row in `slot`."""
        self._history[slot] = _NONE
        self._steps[slot] = 0
        self._streams[slot] = None

    def sample(self, logits: Floats, slots: Ints) -> Ints:
        """Choose tokens (n, codebooks) for the rows in `slots` (n,), each at its next step.

        `logits` (n, codebooks, vocabulary) are finite and stay as they are. Each chosen token
        joins its row's history.
        """
        candidates = self.candidates(logits, slots)
        numbers = self._draw(slots)
        sums = np.cumsum(candidates.weights, axis=-1)
        # A number below 1 - 2**-32 times the total stays below the total, also when rounded.
        targets = numbers * sums[:, -1].astype(np.float64)
        places = (sums > targets[:, None]).argmax(axis=-1)
        chosen = np.take_along_axis(candidates.tokens, places[:, None], axis=-1)
        tokens = chosen.reshape(len(slots), self._codebooks)
        self._history[slots, :, self._steps[slots] % WINDOW] = tokens
        self._steps[slots] += 1
        return tokens.astype(np.int32)

    def candidates(self, logits: Floats, slots: Ints) -> Candidates:
        """The distributions that `sample` draws from, a row for each codebook."""
        rows = len(slots) * self._codebooks
        scaled = logits / self._temperature[slots, None, None]
        self._penalise(scaled, slots)
        scores = scaled.reshape(rows, self._vocabulary)
        least = self._threshold(scores, slots)
        kept, tokens = np.divmod(np.flatnonzero(scores >= least[:, None]), self._vocabulary)
        counts = np.bincount(kept, minlength=rows)
        places = np.arange(len(kept)) - np.repeat(np.cumsum(counts) - counts, counts)
        ids = np.zeros((rows, counts.max()), np.int64)
        values = np.full(ids.shape, -np.inf, np.float32)
        ids[kept, places] = tokens
        values[kept, places] = scores[kept, tokens]
        banned = np.repeat(self._steps[slots] < self._least[slots], self._codebooks)
        values[banned[:, None] & (ids == self._end)] = -np.inf
        return Candidates(ids, np.exp(values - values.max(axis=-1, keepdims=True)))

    def _penalise(self, scaled: Floats, slots: Ints) -> None:
        history = self._history[slots]
        filled = history != _NONE
        if not filled.any():
            return
        times = (history[..., :, None] == history[..., None, :]).sum(axis=-1)
        factors = np.take_along_axis(self._powers[slots, None, :], times, axis=-1)
        before = np.take_along_axis(scaled, history.clip(0), axis=-1)
        after = np.where(before < 0, before * factors, before / factors)
        row, book, _ = filled.nonzero()
        scaled[row, book, history[filled]] = after[filled]

    def _threshold(self, scores: Floats, slots: Ints) -> Floats:
        """The lowest score (rows,) that top-p and top-k keep.

        Both keep the highest scores, so the highest `top_k` and the sum of all probabilities
        decide. Scores equal to the lowest kept are kept too, as ChatTTS' top-k does.
        """
        limits = np.repeat(self._top_k[slots], self._codebooks)
        most = int(limits.max())
        highest = np.partition(scores, self._vocabulary - most, axis=-1)[:, -most:]
        highest = np.sort(highest, axis=-1)[:, ::-1]
        top = highest[:, :1]
        totals = np.exp(scores - top).sum(axis=-1)
        above = np.cumsum(np.exp(highest - top) / totals[:, None], axis=-1)[:, :-1]
        # A token is kept while those above it have less than top_p together.
        kept = 1 + (above < np.repeat(self._top_p[slots], self._codebooks)[:, None]).sum(axis=-1)
        places = np.minimum(np.maximum(kept, LEAST_KEPT), limits) - 1
        least: Floats = np.take_along_axis(highest, places[:, None], axis=-1)[:, 0]
        return least

    def _draw(self, slots: Ints) -> Doubles:
        """This step's numbers of the rows in `slots`, (n * codebooks,)."""
        steps = self._steps[slots] % _AHEAD
        for slot in slots[steps == 0].tolist():
            stream = self._streams[slot]
            if stream is None:
                raise ValueError(f"no row has begun in slot {slot}")
            self._numbers[slot] = stream.draw(self._codebooks, _AHEAD)
        return self._numbers[slots, steps].reshape(-1)

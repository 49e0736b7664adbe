"""Cutting a stream of tokens into windows for the vocoder, at borders that the index decides.

A window settles the audio of some tokens and has more behind them as context, since the
convolutions look ahead (52 tokens in all, the near ones mattering most). What lies before it
the vocoder remembers at every convolution, which is as good as having all of it, and costs
nothing. Borders are the same for every utterance of a plan, however its tokens arrive and
whatever is decoded beside it, so streamed and stored audio are the same samples.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tts.engine.request import Profile

Rows = NDArray[np.number[Any]]


@dataclass(frozen=True, slots=True)
class WindowPlan:
    """Where windows end: after `first` tokens each in turn, then every `then` tokens.

    `ahead` is the context behind each, in tokens, at least 1. The first audio can leave after
    `first[0] + ahead` tokens (`then + ahead` where `first` is empty). Raises ValueError.

    How far joined windows are from the whole decode falls with `ahead`: on random weights of
    the release's sizes with layer scales of 0.2, root mean square, relative to the audio,
    8: 6e-3 (-45 dB), 10: 1.5e-3, 12: 4e-4 (-69 dB), 16: 2e-5, 20 and more: 1e-6, 52: 0.
    """

    first: tuple[int, ...]
    then: int
    ahead: int

    def __post_init__(self) -> None:
        if min((*self.first, self.then, self.ahead)) < 1:
            raise ValueError(
                f"windows settle at least 1 token and look at least 1 ahead, not {self}"
            )

    def size(self, index: int) -> int:
        """Tokens that the window of this index settles (the last one of an utterance: less)."""
        return self.first[index] if index < len(self.first) else self.then

    @property
    def first_tokens(self) -> int:
        """Tokens after which the first audio can leave."""
        return self.size(0) + self.ahead

    @property
    def pace(self) -> float:
        """How many times as fast as real time tokens must come for playback never to wait.

        With playback starting at the first audio: window k + 1 arrives (end[k + 1] - end[0])
        tokens later, and by then end[k] tokens have played. Larger than 1 for growing windows.
        """
        ends = list(accumulate((*self.first, self.then, self.then)))
        return max((later - ends[0]) / end for end, later in pairwise(ends))


PLANS: Mapping[Profile, WindowPlan] = {
    Profile.REALTIME: WindowPlan(first=(8, 8, 12, 12, 16, 20, 24, 32), then=40, ahead=12),
    Profile.STANDARD: WindowPlan(first=(12, 12, 16, 24, 32), then=48, ahead=16),
    Profile.HQ: WindowPlan(first=(24, 48), then=96, ahead=24),
}
"""Early and small for listeners who wait, cheap and exact for those who do not.

Each keeps playing, from the first audio on, where tokens come 1.25, 1.4 and 2 times as fast
as real time (`WindowPlan.pace`).
"""


@dataclass(slots=True)
class StreamPast:
    """What the vocoder remembers of one stream; only the vocoder writes it.

    `position` is the token at which the next window must begin.
    """

    position: int = 0
    kept: object = None


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens from `start` on: rows (t, n), of which the first `settled` become audio.

    `last`: the utterance ends with it, and everything in it is settled. Windows of one stream
    are decoded once each, in their order.
    """

    rows: Rows
    start: int
    settled: int
    last: bool
    past: StreamPast


@dataclass(slots=True)
class StreamingDecoder:
    """One utterance's tokens on their way to the vocoder; holds what no window settled yet.

    Any pattern of `push`, `due` and `finish` gives the same windows.
    """

    plan: WindowPlan
    _rows: list[Rows] = field(default_factory=list)
    _held: int = 0
    _index: int = 0
    _start: int = 0
    _past: StreamPast = field(default_factory=StreamPast)

    @property
    def held(self) -> int:
        """Tokens that are waiting for their window."""
        return self._held

    def push(self, rows: Rows) -> None:
        """Take the next tokens' rows (t, n): hidden states, or codes. They are copied."""
        if rows.ndim != 2:
            raise ValueError(f"rows must be of shape (t, n), not {rows.shape}")
        if len(rows):
            self._rows.append(rows.copy())
            self._held += len(rows)

    def due(self) -> Window | None:
        """The next window, once all of its context has come; ask until there is none."""
        size = self.plan.size(self._index)
        if self._held < size + self.plan.ahead:
            return None
        rows = np.concatenate(self._rows)
        window = self._window(rows[: size + self.plan.ahead], size, last=False)
        self._rows, self._held = [rows[size:].copy()], self._held - size
        return window

    def finish(self) -> Iterator[Window]:
        """The windows that remain, now that no token follows: none for an empty utterance."""
        while (window := self.due()) is not None:
            yield window
        if self._held:
            rows, count = np.concatenate(self._rows), self._held
            self._rows, self._held = [], 0
            yield self._window(rows, count, last=True)

    def _window(self, rows: Rows, settled: int, *, last: bool) -> Window:
        window = Window(rows, self._start, settled, last, self._past)
        self._index += 1
        self._start += settled
        return window

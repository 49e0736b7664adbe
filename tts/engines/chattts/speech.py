"""One utterance on its way from tokens to audio: streamed, or chosen among takes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tts.engine.errors import EngineError
from tts.engines.base import Samples
from tts.engines.chattts.generation import End, NotFinite, RowStep
from tts.engines.chattts.windows import StreamingDecoder, Window, WindowPlan

SILENCE: Samples = np.zeros(0, np.float32)
Chooser = Callable[[Sequence[Samples]], int]
"""Given takes, at least one, the index of the best."""


@dataclass(slots=True)
class Take:
    """A row of the step loop and what it made; `error` says why nothing comes of it.

    `parts` is the audio that has not left: all of it, where takes are compared. `cut`: it
    ended at its longest, not by itself. `codes`: the vocoder speaks from audio tokens, not
    from hidden states.
    """

    row: int
    decoder: StreamingDecoder
    codes: bool = False
    parts: list[Samples] = field(default_factory=list)
    ended: bool = False
    cut: bool = False
    error: EngineError | None = None

    def advance(self, step: RowStep) -> None:
        """Take in what a step did for the row."""
        if step.restarted:
            self.decoder = StreamingDecoder(self.decoder.plan)
            self.parts.clear()
        row = step.codes if self.codes else step.hidden
        if row is not None:
            self.decoder.push(row[None])
        self.ended, self.error = step.ended, step.error
        self.cut = step.end is End.LENGTH

    def hear(self, samples: Samples) -> None:
        """Take in what was decoded; nothing comes of it any more where that is no sound."""
        if self.error is not None:
            return
        if np.isfinite(samples).all():
            self.parts.append(samples)
            return
        self.parts.clear()
        self.ended, self.error = True, NotFinite("the vocoder's numbers overflowed at this text")

    def windows(self) -> list[Window]:
        """What can be decoded now."""
        found = []
        while (window := self.decoder.due()) is not None:
            found.append(window)
        return [*found, *self.decoder.finish()] if self.ended else found


@dataclass(slots=True)
class Speech:
    """What is spoken of one utterance. With one take, audio leaves window by window.

    With several, `choose` picks one once all have ended. They are decoded as they come all the
    same: a step that decoded them whole would make everyone else wait.
    """

    takes: list[Take]
    choose: Chooser

    @classmethod
    def of(
        cls, rows: Sequence[int], plan: WindowPlan, choose: Chooser, *, codes: bool = False
    ) -> "Speech":
        """A speech of one row, or of several to choose from; `codes` as a Take has it."""
        return cls([Take(row, StreamingDecoder(plan), codes) for row in rows], choose)

    @property
    def rows(self) -> list[int]:
        """The rows that still have to be computed; none when the speech is over."""
        return [take.row for take in self.takes if not take.ended]

    @property
    def cut(self) -> bool:
        """Whether any take was."""
        return any(take.cut for take in self.takes)

    @property
    def error(self) -> EngineError | None:
        """Why there is no speech: the error of the last take, where all have one."""
        errors = [take.error for take in self.takes]
        return errors[-1] if all(error is not None for error in errors) else None

    def windows(self) -> list[tuple[int, Window]]:
        """What the vocoder has to decode now, with the number of the row it belongs to."""
        return [
            (take.row, window)
            for take in self.takes
            if take.error is None
            for window in take.windows()
        ]

    def audio(self, decoded: Sequence[tuple[int, Samples]]) -> Samples:
        """The samples that leave, given those of the windows."""
        takes_of = {take.row: take for take in self.takes}
        for row, samples in decoded:
            takes_of[row].hear(samples)
        if len(self.takes) > 1 and self.rows:
            return SILENCE
        takes = [_joined(take.parts) for take in self.takes if take.error is None]
        for take in self.takes:
            take.parts.clear()
        return takes[self.choose(takes) if len(takes) > 1 else 0] if takes else SILENCE


def _joined(parts: Sequence[Samples]) -> Samples:
    return np.concatenate(parts) if parts else SILENCE

"""What ChatTTS' own code does with the weights: each precision's best batch, and its waits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tts.engines.base import Device
from tts.engines.devices import CPU
from voicehost.bench.base import BenchRun
from voicehost.bench.budget import Budget
from voicehost.bench.chattts_texts import STATIC, TRIAL_SECONDS, WARM_UP_TOKENS, Backlog, texts_of
from voicehost.bench.texts import SHORT

if TYPE_CHECKING:
    from tts.engines.chattts.backend import Precision
    from tts.engines.chattts.bench.original import OriginalSide
    from tts.engines.chattts.bench.pace import Pace

BATCHES = (8, STATIC, 32)
"""Rows of a static batch that are tried; more are slower again."""
STREAMED_TOKENS = 96
"""The original streams its first samples after 72."""
ONE_SHARE, TRIALS_SHARE, BEST_SHARE = 0.15, 0.3, 0.5
"""Of what is left: for one text after another, for a precision's trials, for its best batch."""
MS = 1000.0


@dataclass(frozen=True, slots=True)
class OriginalPaces:
    """`one`: float32, a text after another. `best`: each precision's fastest static batch.

    `mixed`: that of texts of different lengths, where the budget held it. `waited`: seconds
    until the first streamed samples.
    """

    one: "Pace"
    waited: float
    best: "dict[Precision, Pace]"
    mixed: "dict[Precision, Pace]"


@dataclass(frozen=True, slots=True)
class _Setting:
    """A way to run it, and the tokens/s that a trial gave."""

    tokens_per_second: float
    rows: int
    threads: int


class OriginalPart:
    """The original's part of a run, within `budget`."""

    def __init__(
        self,
        run: BenchRun,
        folder: Path,
        devices: Sequence[Device],
        backlog: Backlog,
        budget: Budget,
    ) -> None:
        self._run, self._folder, self._budget = run, folder, budget
        self._place, self._threads = devices[0].name, [each.threads for each in devices]
        self._backlog = backlog
        self._say, self._add = run.progress.part, run.report.add
        self._tokens: int = run.options["tokens"]

    def run(self) -> OriginalPaces:
        """Measure; what the budget does not hold is cut short."""
        from tts.engines.chattts.backend import Precision

        best: dict[Precision, Pace] = {}
        mixed: dict[Precision, Pace] = {}
        side = self._load(Precision.FP32)
        one, waited = self._one(side)
        # torch's dynamic quantisation has no kernels for CUDA.
        precisions = [each for each in Precision if self._place == CPU or each != Precision.INT8]
        for place, precision in enumerate(precisions):
            budget = self._budget.part(1 / (len(precisions) - place), most=self._budget.seconds)
            if precision is not Precision.FP32:
                side = self._load(precision)
            best[precision] = pace = self._best(side, precision, budget)
            if budget.left < self._backlog.static_steps * STATIC / pace.tokens_per_second:
                self._run.report.left_out.append(f"original {precision}, mixed lengths")
            else:
                mixed[precision] = self._mixed(side, precision)
        return OriginalPaces(one, waited, best, mixed)

    def _load(self, precision: "Precision") -> "OriginalSide":
        from tts.engines.chattts.bench.original import OriginalSide

        self._say(f"loading the original, {precision}")
        side = OriginalSide(self._folder, precision, self._place)
        side.speak(texts_of(1), 2)
        return side

    def _one(self, side: "OriginalSide") -> "tuple[Pace, float]":
        self._say("the original: infer, one after another")
        seconds = ONE_SHARE * self._budget.left
        trial = min(TRIAL_SECONDS, seconds / 4)
        side.threads = max(self._trials(side, [1], trial), key=_speed).threads
        pace = side.speak(texts_of(1), self._tokens, seconds / 2)
        self._add_pace("original fp32, infer, one after another", pace)
        self._say("the original: first audio")
        waited = min(self._waits(side))
        self._add("original fp32, infer(stream=True), first audio", waited * MS, "ms")
        return pace, waited

    def _waits(self, side: "OriginalSide") -> Iterator[float]:
        """Seconds until the first streamed samples, with each number of threads."""
        for threads in self._threads:
            side.threads = threads
            yield side.first_audio(SHORT[0], STREAMED_TOKENS)

    def _best(self, side: "OriginalSide", precision: "Precision", budget: Budget) -> "Pace":
        self._say(f"the original, {precision}: which batch is its best")
        trials = len(BATCHES) * len(self._threads)
        trial = min(TRIAL_SECONDS, TRIALS_SHARE * budget.left / trials)
        found = max(self._trials(side, BATCHES, trial), key=_speed)
        side.threads = found.threads
        self._say(f"the original, {precision}: {found.rows} rows, {found.threads} threads")
        pace = side.speak(texts_of(found.rows), self._tokens, BEST_SHARE * budget.left)
        name = f"original {precision}, its best batch"
        self._add(f"{name}, rows", found.rows, "rows")
        self._add(f"{name}, threads", found.threads, "threads")
        self._add_pace(name, pace)
        return pace

    def _trials(self, side: "OriginalSide", batches: Sequence[int], trial: float) -> list[_Setting]:
        """Some steps of each batch with each number of threads, `trial` seconds at most of each."""
        found: list[_Setting] = []
        for rows in batches:
            for threads in self._threads:
                side.threads = threads
                pace = side.speak(texts_of(rows), WARM_UP_TOKENS, trial)
                found.append(_Setting(pace.tokens_per_second, rows, threads))
        return found

    def _mixed(self, side: "OriginalSide", precision: "Precision") -> "Pace":
        """A static batch computes every row until its longest ends."""
        tokens, computing, decoding = 0, 0.0, 0.0
        for place, batch in enumerate(self._backlog.batches()):
            self._say(f"the original, {precision}: mixed lengths, batch {place + 1}")
            pace = side.speak(batch.texts, max(batch.lengths))
            tokens += sum(batch.lengths)
            computing += pace.computing
            decoding += pace.decoding
        whole = replace(pace, tokens=tokens, computing=computing, decoding=decoding)
        name = f"original {precision}, mixed lengths in static batches of {STATIC}"
        self._add(f"{name}, GPT alone", whole.gpt_tokens_per_second, "tokens/s")
        self._add(name, whole.tokens_per_second, "tokens/s")
        return whole

    def _add_pace(self, name: str, pace: "Pace") -> None:
        self._add(f"{name}, GPT alone", pace.gpt_tokens_per_second, "tokens/s")
        self._add(name, pace.tokens_per_second, "tokens/s")
        self._add(f"{name}, real-time factor", pace.real_time_factor, "s/s")


def _speed(setting: _Setting) -> float:
    return setting.tokens_per_second

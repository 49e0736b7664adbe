"""`bench chattts`: our step loop beside ChatTTS' own code, on the same random weights."""

import math
import os
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING

from tts.engine.errors import EngineError
from tts.engine.request import Profile
from voicehost.bench.base import BenchRun
from voicehost.bench.budget import Budget
from voicehost.bench.errors import BenchError
from voicehost.bench.figures import median, percentile
from voicehost.bench.texts import SHORT

if TYPE_CHECKING:
    from tts.engines.chattts.bench.original import OriginalSide
    from tts.engines.chattts.bench.ours import OwnSide
    from tts.engines.chattts.bench.pace import Pace

BATCHES = (1, 4, 8, 16)
STATIC = max(BATCHES)
"""Rows of the original's own batch."""
WARM_UP_TOKENS, TRIAL_SECONDS = 16, 4.0
"""What it takes to see which number of threads is faster."""
STREAMED_TOKENS = 96
"""The original streams its first samples after 72."""
ORIGINAL_SHARE = 0.4
"""Of what is left of the budget, for the original."""
GPT_AIMS = {Profile.REALTIME: ">= 50", Profile.STANDARD: ">= 35", Profile.HQ: ">= 10"}
"""The best batch over the original's `infer` of one text after another; at full size."""
FIRST_AUDIO_AIMS = {Profile.REALTIME: "<= 0.067", Profile.HQ: "<= 0.334"}
MS = 1000.0


class ChatTtsBench:
    """Tokens a second, steps, first audio: each profile at several batches, and the original."""

    name = "chattts"
    help = "ChatTTS: our step loop beside the original's code, on the same random weights"
    seconds = 300.0
    needs_platform = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which weights, and how much is spoken."""
        checkpoint_arguments(parser)
        parser.add_argument(
            "--tokens", type=int, default=128, help="of each utterance, at most (%(default)s)"
        )

    def run(self, run: BenchRun) -> None:
        """Measure the original, then each profile; raises BenchError."""
        if run.options["tokens"] < STREAMED_TOKENS:
            raise BenchError(f"--tokens must be at least {STREAMED_TOKENS}")
        try:
            with checkpoint(run) as folder:
                Comparison(run, folder).run()
        except EngineError as error:
            raise BenchError(error.message) from error


def checkpoint_arguments(parser: ArgumentParser) -> None:
    """Which weights."""
    parser.add_argument(
        "--size",
        choices=["tiny", "small", "full"],
        default="full",
        help="of the random checkpoint; full is the release's (%(default)s)",
    )
    parser.add_argument("--checkpoint", type=Path, help="a checkpoint to use instead")


@contextmanager
def checkpoint(run: BenchRun) -> Iterator[Path]:
    """The folder of the weights that `checkpoint_arguments` asked for."""
    given = run.options["checkpoint"]
    if given is not None:
        yield given
        return
    # Nothing that needs torch is imported before it is used: manage.py imports this module.
    from tts.engines.chattts.random_checkpoint import RandomCheckpoint, Size

    size = run.options["size"]
    with tempfile.TemporaryDirectory(prefix="voicehost-chattts-") as folder:
        run.progress.say(f"writing a random checkpoint, {size}")
        RandomCheckpoint(Size(size)).write(Path(folder))
        yield Path(folder)


class Comparison:
    """One run."""

    def __init__(self, run: BenchRun, folder: Path) -> None:
        self._run = run
        self._folder = folder
        self._say = run.progress.part
        self._tokens: int = run.options["tokens"]
        cores = len(os.sched_getaffinity(0))
        # More threads than free cores are far slower: the better of the two is taken.
        self._threads = sorted({1, cores})
        full = run.options["size"] == "full" and run.options["checkpoint"] is None
        self._aims = GPT_AIMS if full else {}
        self._first_aims = FIRST_AUDIO_AIMS if full else {}

    def run(self) -> None:
        """The original first, since all ratios need it."""
        from tts.engines.chattts.bench.original import OriginalSide

        if OriginalSide.available():
            base, static, waited = self._original()
        else:
            self._say("ChatTTS is not installed: our side alone")
            base, static, waited = None, None, math.nan
        for place, profile in enumerate(Profile):
            budget = self._run.budget.part(1 / (len(Profile) - place), most=math.inf)
            paces = self._profile(profile, budget)
            if base is not None and static is not None:
                self._ratios(profile, paces, base, static, waited)

    # -- the original --------------------------------------------------------------

    def _original(self) -> tuple["Pace", "Pace", float]:
        from tts.engines.chattts.bench.original import OriginalSide

        self._say("loading the original")
        side = OriginalSide(self._folder)
        budget = self._run.budget.part(ORIGINAL_SHARE, most=math.inf)
        found = []
        for rows, name in ((1, "infer x1"), (STATIC, f"infer, a static batch of {STATIC}")):
            self._say(f"the original: {name}")
            pace = self._original_pace(side, rows, budget.left / 2)
            found.append(pace)
            add = self._run.report.add
            add(f"original, {name}, GPT alone", pace.gpt_tokens_per_second, "tokens/s")
            add(f"original, {name}", pace.tokens_per_second, "tokens/s")
            add(f"original, {name}, real-time factor", pace.real_time_factor, "s/s")
        self._say("the original: first audio")
        waited = side.first_audio(SHORT[0], STREAMED_TOKENS)
        self._run.report.add("original, infer(stream=True), first audio", waited * MS, "ms")
        return found[0], found[1], waited

    def _original_pace(self, side: "OriginalSide", rows: int, seconds: float) -> "Pace":
        """What comes within `seconds`, with the better number of threads."""
        texts = _texts(rows)
        tried: list[tuple[float, int]] = []
        trial = min(TRIAL_SECONDS, seconds / 8)
        for threads in self._threads:
            side.threads = threads
            pace = side.speak(texts, 2, trial)
            if tried and 2 * pace.tokens_per_second < max(tried)[0]:
                continue  # hopeless: its first steps say so, and more of them take long
            pace = side.speak(texts, WARM_UP_TOKENS, trial)
            tried.append((pace.tokens_per_second, threads))
        side.threads = max(tried)[1]
        return side.speak(texts, self._tokens, seconds / 2)

    # -- our side ------------------------------------------------------------------

    def _profile(self, profile: Profile, budget: Budget) -> list["Pace"]:
        """What each batch size gives."""
        self._say(f"loading {profile}")
        side = self._own_side(profile)
        paces = []
        for place, rows in enumerate(BATCHES):
            self._say(f"{profile} x{rows}")
            pace = side.speak(_texts(rows), self._tokens, budget.left / (len(BATCHES) - place))
            self._add(f"{profile} x{rows}", pace)
            paces.append(pace)
        side.close()
        return paces

    def _own_side(self, profile: Profile) -> "OwnSide":
        from tts.engines.chattts.bench.ours import OwnSide
        from tts.engines.chattts.manifest import chattts_manifest
        from tts.engines.shards import LocalShards

        shards = LocalShards(chattts_manifest(self._folder).shards)
        tried: list[tuple[float, OwnSide]] = []
        for threads in self._threads:
            side = OwnSide(shards, profile, threads, max(BATCHES))
            side.speak(_texts(2), 2)
            pace = side.speak(_texts(max(BATCHES)), WARM_UP_TOKENS, TRIAL_SECONDS)
            tried.append((pace.tokens_per_second, side))
        tried.sort(key=lambda each: each[0])
        for _, slower in tried[:-1]:
            slower.close()
        return tried[-1][1]

    def _add(self, name: str, pace: "Pace") -> None:
        add = self._run.report.add
        add(f"{name}, GPT alone", pace.gpt_tokens_per_second, "tokens/s")
        add(f"{name}, with the vocoder", pace.tokens_per_second, "tokens/s")
        add(f"{name}, step p50", median(pace.steps) * MS, "ms")
        add(f"{name}, step p95", percentile(pace.steps, 0.95) * MS, "ms")
        add(f"{name}, first audio, median row", median(pace.first_audio) * MS, "ms")
        add(f"{name}, real-time factor of a row", pace.real_time_factor, "s/s")

    def _ratios(
        self, profile: Profile, paces: Sequence["Pace"], base: "Pace", static: "Pace", waited: float
    ) -> None:
        add = self._run.report.add
        gpt = max(pace.gpt_tokens_per_second for pace in paces)
        whole = max(pace.tokens_per_second for pace in paces)
        one, most = paces[0], paces[-1]
        name = f"{profile} / original"
        add(f"{name}, x1 / infer x1", one.tokens_per_second / base.tokens_per_second, "ratio")
        add(
            f"{name}, GPT alone, best batch / infer x1",
            gpt / base.gpt_tokens_per_second,
            "ratio",
            self._aims.get(profile),
        )
        add(f"{name}, best batch / infer x1", whole / base.tokens_per_second, "ratio")
        add(
            f"{name}, x{STATIC} / its static batch of {STATIC}",
            most.tokens_per_second / static.tokens_per_second,
            "ratio",
        )
        add(
            f"{name}, first audio of one",
            median(one.first_audio) / waited,
            "ratio",
            self._first_aims.get(profile),
        )


def _texts(count: int) -> list[str]:
    return list(islice(cycle(SHORT), count))

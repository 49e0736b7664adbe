"""`bench chattts`: our step loop beside ChatTTS' own code, on the same random weights."""

from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tts.engine.errors import EngineError
from tts.engine.request import Profile
from tts.engines.base import Device
from voicehost.bench.base import BenchRun
from voicehost.bench.budget import Budget
from voicehost.bench.chattts_limits import Limits, limits_seconds
from voicehost.bench.chattts_options import (
    aims_hold,
    checkpoint,
    checkpoint_arguments,
    device_argument,
    devices_tried,
)
from voicehost.bench.chattts_original import STREAMED_TOKENS, OriginalPaces, OriginalPart
from voicehost.bench.chattts_own import OwnPart, ProfilePaces
from voicehost.bench.chattts_texts import STATIC, Backlog
from voicehost.bench.errors import BenchError

if TYPE_CHECKING:
    from tts.engines.chattts.backend import Precision

ORIGINAL_SHARE = 0.6
"""Of the comparison's time: the original takes longer for the same."""
LIMITS_RESERVE = 1.05
"""Of the limits' time: the comparison may end a little late."""
COMPARISON_SHARE = 0.5
"""Of the whole budget at least, even where too little is left for the limits."""
GPT_AIMS = {Profile.REALTIME: ">= 50", Profile.STANDARD: ">= 35", Profile.HQ: ">= 10"}
"""The best batch over the original's `infer` of one text after another; at full size."""
BATCH_AIMS = {Profile.REALTIME: ">= 3", Profile.HQ: ">= 1.5"}
"""The best batch over the original's best batch of the same precision, GPT alone."""
MIXED_AIM = ">= 2"
SPOKEN_AIM = ">= 28"
FIRST_AUDIO_AIMS = {Profile.REALTIME: "<= 0.067", Profile.HQ: "<= 0.334"}


class ChatTtsBench:
    """Tokens a second, steps, first audio: the original, each profile, and the machine's limits."""

    name = "chattts"
    help = "ChatTTS: our step loop beside the original's code, on the same random weights"
    seconds = 1200.0
    needs_platform = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which weights, and how much is spoken."""
        checkpoint_arguments(parser)
        device_argument(parser)
        parser.add_argument(
            "--tokens",
            type=int,
            default=256,
            help="of each utterance, at most (%(default)s: 5.5 s, as short as whole segments are)",
        )

    def run(self, run: BenchRun) -> None:
        """Measure the original, then each profile, then the limits; raises BenchError."""
        if run.options["tokens"] < STREAMED_TOKENS:
            raise BenchError(f"--tokens must be at least {STREAMED_TOKENS}")
        try:
            with checkpoint(run) as folder:
                device = Comparison(run, folder).run()
                Limits(run, folder, device).run()
        except EngineError as error:
            raise BenchError(error.message) from error


class Comparison:
    """Both sides, and what the one is to the other."""

    def __init__(self, run: BenchRun, folder: Path) -> None:
        self._run, self._folder = run, folder
        self._devices = devices_tried(run)
        self._backlog = Backlog.lognormal(run.options["tokens"] // 2)
        self._full = aims_hold(run, self._devices[0])

    def run(self) -> Device:
        """Measure and add the ratios; returns the device as `realtime` does best with it."""
        budget = self._budget()
        original = self._original(budget)
        ours = OwnPart(self._run, self._folder, self._devices, self._backlog)
        found: dict[Profile, ProfilePaces] = {}
        for place, profile in enumerate(Profile):
            part = budget.part(1 / (len(Profile) - place), most=budget.seconds)
            found[profile] = ours.run(profile, part)
            if original is not None:
                self._ratios(profile, found[profile], original)
        if original is not None:
            self._best(found, original)
        return found[Profile.REALTIME].device

    def _budget(self) -> Budget:
        """Of the run's, what the limits leave."""
        whole = self._run.budget
        kept = whole.left - LIMITS_RESERVE * limits_seconds(self._run.options["size"])
        return whole.part(1.0, most=max(kept, COMPARISON_SHARE * whole.left))

    def _original(self, budget: Budget) -> OriginalPaces | None:
        from tts.engines.chattts.bench.original import OriginalSide

        if not OriginalSide.available():
            self._run.progress.say("ChatTTS is not installed: our side alone")
            return None
        part = budget.part(ORIGINAL_SHARE, most=budget.seconds)
        return OriginalPart(self._run, self._folder, self._devices, self._backlog, part).run()

    def _ratios(self, profile: Profile, ours: ProfilePaces, original: OriginalPaces) -> None:
        from tts.engines.chattts.profile import profile_settings

        precision = profile_settings(profile, ours.device).precision
        one, best = original.one, original.best[precision]
        self._ratio(
            f"{profile} / original, GPT alone, best batch / one after another",
            ours.gpt / one.gpt_tokens_per_second,
            GPT_AIMS.get(profile),
        )
        self._ratio(
            f"{profile} / original, GPT alone, best batch / its best {precision} batch",
            ours.gpt / best.gpt_tokens_per_second,
            BATCH_AIMS.get(profile),
        )
        self._ratio(
            f"{profile} / original, best batch / one after another",
            ours.spoken / one.tokens_per_second,
        )
        self._ratio(
            f"{profile} / original, best batch / its best {precision} batch",
            ours.spoken / best.tokens_per_second,
        )
        self._ratio(
            f"{profile} / original, x1 / one after another",
            ours.batches[0].tokens_per_second / one.tokens_per_second,
        )
        self._ratio(
            f"{profile} / original, first audio of one",
            ours.first_audio / original.waited,
            FIRST_AUDIO_AIMS.get(profile),
        )
        self._mixed_ratios(profile, precision, ours, original)

    def _mixed_ratios(
        self, profile: Profile, precision: "Precision", ours: ProfilePaces, original: OriginalPaces
    ) -> None:
        static = original.mixed.get(precision)
        name = f"{profile} / original, mixed lengths / its static {precision} batches of {STATIC}"
        if static is None or not ours.whole:
            self._run.report.left_out.append(name)
            return
        self._ratio(
            f"{name}, GPT alone", ours.mixed.gpt_tokens_per_second / static.gpt_tokens_per_second
        )
        self._ratio(name, ours.mixed.tokens_per_second / static.tokens_per_second, MIXED_AIM)

    def _best(self, found: Mapping[Profile, ProfilePaces], original: OriginalPaces) -> None:
        spoken = max(paces.spoken for paces in found.values())
        self._ratio(
            "best profile / original, best batch / one after another",
            spoken / original.one.tokens_per_second,
            SPOKEN_AIM,
        )

    def _ratio(self, name: str, value: float, aim: str | None = None) -> None:
        """Aims are those of the release's sizes."""
        self._run.report.add(name, value, "ratio", aim if self._full else None)

"""What our step loop and vocoder do with the weights, a profile at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tts.engine.request import Profile
from tts.engines.base import Device
from tts.engines.devices import CPU
from voicehost.bench.base import BenchRun
from voicehost.bench.budget import Budget
from voicehost.bench.chattts_texts import STATIC, TRIAL_SECONDS, WARM_UP_TOKENS, Backlog, texts_of
from voicehost.bench.figures import median, percentile
from voicehost.bench.gpu import gpu_use

if TYPE_CHECKING:
    from tts.engines.chattts.bench.ours import OwnSide
    from tts.engines.chattts.bench.pace import Pace

BATCHES, CUDA_BATCHES = (1, 4, 8, STATIC), (1, 8, 32, 64)
MIXED_SHARE = 0.3
"""Of a profile's time, for texts of different lengths."""
MS = 1000.0


@dataclass(frozen=True, slots=True)
class ProfilePaces:
    """`batches`: from the smallest on. `mixed`: texts of different lengths, `whole` or cut short.

    `device`: with the number of threads that was the faster.
    """

    batches: tuple["Pace", ...]
    mixed: "Pace"
    whole: bool
    device: Device

    @property
    def gpt(self) -> float:
        """Tokens/s of the best batch, GPT alone."""
        return max(pace.gpt_tokens_per_second for pace in self.batches)

    @property
    def spoken(self) -> float:
        """Tokens/s of the best batch, with the vocoder."""
        return max(pace.tokens_per_second for pace in self.batches)

    @property
    def first_audio(self) -> float:
        """Seconds that a text alone waits."""
        return median(self.batches[0].first_audio)


class OwnPart:
    """Our part of a run."""

    def __init__(
        self, run: BenchRun, folder: Path, devices: Sequence[Device], backlog: Backlog
    ) -> None:
        self._run, self._folder = run, folder
        self._devices, self._backlog = devices, backlog
        self._batches = BATCHES if devices[0].name == CPU else CUDA_BATCHES
        self._say = run.progress.part
        self._tokens: int = run.options["tokens"]

    def run(self, profile: Profile, budget: Budget) -> ProfilePaces:
        """Measure the profile at every batch, and at mixed lengths."""
        self._say(f"loading {profile}")
        side, device = self._load(profile)
        try:
            mixed_seconds = MIXED_SHARE * budget.left
            paces = []
            for place, rows in enumerate(self._batches):
                self._say(f"{profile} x{rows}")
                seconds = (budget.left - mixed_seconds) / (len(self._batches) - place)
                with gpu_use(device.name) as use:
                    pace = side.speak(texts_of(rows), self._tokens, max(seconds, 0.0))
                self._add(f"{profile} x{rows}", pace)
                if use.mean is not None:
                    self._run.report.add(f"{profile} x{rows}, GPU utilisation", use.mean, "%")
                paces.append(pace)
            mixed = self._mixed(side, profile, mixed_seconds)
        finally:
            side.close()
        whole = mixed.tokens == sum(self._backlog.lengths)
        return ProfilePaces(tuple(paces), mixed, whole, device)

    def _load(self, profile: Profile) -> "tuple[OwnSide, Device]":
        """Our side, on the device with the better number of threads."""
        from tts.engines.chattts.bench.ours import OwnSide
        from tts.engines.chattts.manifest import chattts_manifest
        from tts.engines.shards import LocalShards

        shards = LocalShards(chattts_manifest(self._folder).shards)
        tried: list[tuple[float, OwnSide, Device]] = []
        for device in self._devices:
            side = OwnSide(shards, profile, device, max(self._batches))
            side.speak(texts_of(2), 2)
            pace = side.speak(texts_of(STATIC), WARM_UP_TOKENS, TRIAL_SECONDS)
            tried.append((pace.tokens_per_second, side, device))
        tried.sort(key=lambda each: each[0])
        for _, slower, _ in tried[:-1]:
            slower.close()
        _, faster, device = tried[-1]
        return faster, device

    def _mixed(self, side: "OwnSide", profile: Profile, seconds: float) -> "Pace":
        self._say(f"{profile}, mixed lengths")
        pace = side.speak_lengths(self._backlog.texts, self._backlog.lengths, seconds)
        add = self._run.report.add
        name = f"{profile}, mixed lengths in {STATIC} slots"
        add(f"{name}, GPT alone", pace.gpt_tokens_per_second, "tokens/s")
        add(f"{name}, with the vocoder", pace.tokens_per_second, "tokens/s")
        return pace

    def _add(self, name: str, pace: "Pace") -> None:
        add = self._run.report.add
        add(f"{name}, GPT alone", pace.gpt_tokens_per_second, "tokens/s")
        add(f"{name}, with the vocoder", pace.tokens_per_second, "tokens/s")
        add(f"{name}, step p50", median(pace.steps) * MS, "ms")
        add(f"{name}, step p95", percentile(pace.steps, 0.95) * MS, "ms")
        add(f"{name}, first audio, median row", median(pace.first_audio) * MS, "ms")
        add(f"{name}, real-time factor of a row", pace.real_time_factor, "s/s")

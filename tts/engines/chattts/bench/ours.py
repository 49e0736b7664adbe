"""Our side: the step loop and the vocoder, as a profile has them."""

import math
from collections.abc import Sequence
from time import perf_counter

from tts.engine.request import Profile
from tts.engines.base import Device, Shards
from tts.engines.chattts.bench.loaded import LoadedProfile
from tts.engines.chattts.bench.pace import Pace


class OwnSide:
    """One profile with room for `most_rows` utterances."""

    def __init__(self, shards: Shards, profile: Profile, device: Device, most_rows: int) -> None:
        """Load; raises VersionUnavailable, MemoryError."""
        self._loaded = LoadedProfile(shards, profile, device, most_rows)

    def speak(self, texts: Sequence[str], tokens: int, seconds: float = math.inf) -> Pace:
        """Speak the texts together, `tokens` of each; fewer where that takes over `seconds`."""
        return self.speak_lengths(texts, [tokens] * len(texts), seconds)

    def speak_lengths(
        self, texts: Sequence[str], lengths: Sequence[int], seconds: float = math.inf
    ) -> Pace:
        """Speak the texts, as many tokens of each as `lengths` says, fewer after `seconds`.

        Those beyond the slots wait, and join as slots become free.
        """
        loaded, loop = self._loaded, self._loaded.loop
        rows = [
            loop.join(loaded.generation(seed, *each))
            for seed, each in enumerate(zip(texts, lengths, strict=True))
        ]
        takes = {row: loaded.take(row) for row in rows}
        began = start = perf_counter()
        waits: dict[int, float] = {}
        steps: list[float] = []
        computing, done = 0.0, 0
        while takes and not (done and start - began > seconds):
            start = perf_counter()
            chosen = loop.step(list(takes))
            computing += perf_counter() - start
            done += len(chosen)
            for step in chosen:
                takes[step.row].advance(step)
            for row, _ in loaded.decode(takes[step.row] for step in chosen):
                waits.setdefault(row, perf_counter() - began)
            steps.append(perf_counter() - start)
            takes = {row: take for row, take in takes.items() if not take.ended}
        for row in takes:
            loop.release(row)
        decoding = sum(steps) - computing
        return Pace(len(texts), done, computing, decoding, tuple(steps), tuple(waits.values()))

    def close(self) -> None:
        """Free weights and cache."""
        self._loaded.close()

"""How near ChatTTS' step loop comes to what the machine can do, what it holds, and how many hear.

A part of `bench chattts`, on its checkpoint: `Limits(run, folder, device).run()`.
"""

import math
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tts.engine.request import Profile
from tts.engines.base import Device
from voicehost.bench.base import BenchRun
from voicehost.bench.chattts_options import aims_hold
from voicehost.bench.errors import BudgetSpent
from voicehost.bench.playback import HOLD_BACK
from voicehost.bench.texts import SHORT

if TYPE_CHECKING:
    from tts.engines.base import Shards
    from tts.engines.chattts.bench.cancels import Left
    from tts.engines.chattts.bench.ceiling import Ceiling
    from tts.engines.chattts.bench.context import Case, DecodeStep

BATCHES, CONTEXT = (8, 16), 300
"""Where the share of the ceiling is taken: rows, and tokens that each attends to."""
CONTEXT_ROWS = 8
STREAM_TOKENS = 240
"""Of an utterance that a listener hears: five seconds."""
SHARE_AIM, INCREASE_AIM = ">= 0.8", "<= 1.5"
MOST_SHARE = 1.05
"""More than all there is shows that the ceiling was measured too low."""
STREAM_AIMS = {Profile.REALTIME: ">= 10"}
GROWTH_AIM = "<= 2"
"""MiB: 11 KiB a cancel."""
NOTHING = "<= 0"
STEPS_SECONDS = {"tiny": 1.0, "small": 2.0, "full": 5.0}
NEEDS = {
    "steps": {"tiny": 10.0, "small": 12.0, "full": 30.0},
    "memory": {"tiny": 5.0, "small": 6.0, "full": 15.0},
    "cancels": {"tiny": 10.0, "small": 15.0, "full": 60.0},
    "streams": {"tiny": 5.0, "small": 5.0, "full": 15.0},
}
"""Seconds that each part takes at least, by the checkpoint's size."""
STREAMS_WHOLE = 3.0
"""Times what listeners need at least, their largest number is found in."""
_PARTS = (*("steps", "memory", "streams") * len(Profile), "cancels")
MOST_STREAM_SECONDS = 90.0
MIB, MS, GIGA = 2**20, 1000.0, 1e9


def limits_seconds(size: str) -> float:
    """What all parts take on a checkpoint of that size: to be kept of a budget."""
    more = len(Profile) * (STREAMS_WHOLE - 1) * NEEDS["streams"][size]
    return sum(NEEDS[part][size] for part in _PARTS) + more


class Limits:
    """One run, on a CPU with the number of threads that was found to be the faster."""

    def __init__(self, run: BenchRun, folder: Path, device: Device) -> None:
        self._run, self._folder, self._device = run, folder, device
        self._add = run.report.add
        self._size: str = run.options["size"]
        self._full = aims_hold(run, device)
        self._bandwidth = 0.0

    def run(self) -> None:
        """All parts that the budget holds, those of known length first; others are told."""
        for profile in Profile:
            self._if_held(f"{profile}: ceiling, context", "steps", partial(self._steps, profile))
        if self._bandwidth:
            self._add("memory bandwidth, best seen", self._bandwidth / GIGA, "GB/s")
        for profile in Profile:
            self._if_held(f"{profile}: memory", "memory", partial(self._memory, profile))
        self._if_held("cancels in every state", "cancels", self._cancels)
        for place, profile in enumerate(Profile):
            # The faster a profile is, the larger its crowds, and the longer they are listened to.
            share = 1.0 if place == len(Profile) - 1 else 0.5
            listen = partial(self._streams, profile, share)
            self._if_held(f"{profile}: listeners", "streams", listen)

    def _aim(self, aim: str | None) -> str | None:
        """An aim, where the weights have the release's sizes."""
        return aim if self._full else None

    def _if_held(self, text: str, part: str, work: Callable[[], None]) -> None:
        """Measure a part, unless the budget does not hold it."""
        try:
            self._run.progress.part(text, needs=NEEDS[part][self._size])
            work()
        except BudgetSpent as error:
            self._run.report.left_out.append(str(error))

    def _shards(self) -> "Shards":
        # Nothing that needs torch is imported before it is used: manage.py imports this module.
        from tts.engines.chattts.manifest import chattts_manifest
        from tts.engines.shards import LocalShards

        return LocalShards(chattts_manifest(self._folder).shards)

    # -- ceiling and context -------------------------------------------------------

    def _steps(self, profile: Profile) -> None:
        from tts.engines.chattts.bench.ceiling import ceiling_measure
        from tts.engines.chattts.bench.context import CONTEXTS, Case, DecodeStep

        self._read()
        step = DecodeStep(self._shards(), profile, self._device, max(BATCHES))
        batches = [Case(rows, CONTEXT) for rows in BATCHES]
        contexts = [Case(CONTEXT_ROWS, context) for context in CONTEXTS]
        try:
            seconds = step.seconds([*batches, *contexts], STEPS_SECONDS[self._size])
            self._read()
            ceiling = ceiling_measure(
                step.config, step.precision, BATCHES, self._device, self._bandwidth
            )
            self._shares(profile, step, ceiling, zip(batches, seconds, strict=False))
            self._contexts(profile, step, seconds[len(batches) :])
        finally:
            step.close()

    def _read(self) -> None:
        """Measure the bandwidth again: the most that was ever seen is what the machine has."""
        from tts.engines.chattts.bench.ceiling import bandwidth_measure

        self._bandwidth = max(self._bandwidth, bandwidth_measure(self._device))

    def _shares(
        self,
        profile: Profile,
        step: "DecodeStep",
        ceiling: "Ceiling",
        measured: "Iterable[tuple[Case, float]]",
    ) -> None:
        from tts.engines.chattts.bench.ceiling import Reach

        for case, seconds in measured:
            name = f"{profile} x{case.rows}, decode step"
            any_rows, same_rows = (
                ceiling.seconds(step.config, case, step.token_bytes, reach) / seconds
                for reach in (Reach.ANY, Reach.SAME)
            )
            aim = self._aim(SHARE_AIM)
            if aim is not None and any_rows > MOST_SHARE:
                self._run.progress.say(
                    f"{name}: {any_rows:.2f} of the ceiling, which something else held down"
                )
                any_rows = math.nan
            self._add(name, seconds * MS, "ms")
            self._add(f"{name}, share of the machine's ceiling", any_rows, "ratio", aim)
            self._add(f"{name}, torch's products of as many rows", same_rows, "ratio")

    def _contexts(self, profile: Profile, step: "DecodeStep", seconds: list[float]) -> None:
        from tts.engines.chattts.bench.context import CONTEXTS, increase

        found = increase(seconds, CONTEXTS, CONTEXT_ROWS, step.token_bytes, self._bandwidth)
        name = f"{profile} x{CONTEXT_ROWS}"
        for context, taken in zip(CONTEXTS, seconds, strict=True):
            self._add(f"{name}, step at {context} tokens", taken * MS, "ms")
        for context, ratio in zip(CONTEXTS[1:], found, strict=True):
            # What a few tokens add is less than the times scatter by.
            aim = self._aim(INCREASE_AIM) if context == CONTEXTS[-1] else None
            self._add(f"{name}, increase to {context} / reading the cache", ratio, "ratio", aim)

    # -- memory --------------------------------------------------------------------

    def _memory(self, profile: Profile) -> None:
        from tts.engines.chattts.bench.memory import apart, loaded_measure

        found = apart(loaded_measure, self._folder, profile, self._device)
        grown = found.after.resident - found.before.resident
        self._add(f"{profile}, resident of the loaded profile", grown / MIB, "MiB")
        self._add(f"{profile}, resident of its process", found.after.resident / MIB, "MiB")
        self._add(f"{profile}, a slot of {found.slots}", found.slot / MIB, "MiB")
        if found.reserved:
            self._add(f"{profile}, held of the device", found.reserved / MIB, "MiB")

    def _cancels(self) -> None:
        from tts.engines.chattts.bench.cancels import cancels_measure
        from tts.engines.chattts.bench.memory import apart

        self._left(apart(cancels_measure, self._folder, Profile.REALTIME, self._device, SHORT))

    def _left(self, left: "Left") -> None:
        name = f"{sum(left.cancelled.values())} cancels"
        for state, count in left.cancelled.items():
            self._add(f"{name}, of them {state}", count, "requests")
        for what, count in (
            ("slots", left.slots),
            ("rows", left.rows),
            ("utterances", left.utterances),
        ):
            self._add(f"{name}, {what} left", count, what, self._aim(NOTHING))
        self._add(f"{name}, requests left", float(left.requests), "yes = 1", self._aim(NOTHING))
        self._add(
            f"{name}, memory grown after the first few",
            left.growth / MIB,
            "MiB",
            self._aim(GROWTH_AIM),
        )

    # -- listeners -----------------------------------------------------------------

    def _streams(self, profile: Profile, share: float) -> None:
        from tts.engines.chattts.bench.crowd import Crowd, most_streams

        budget = self._run.budget.part(share, most=MOST_STREAM_SECONDS)
        crowd = Crowd(self._shards(), profile, self._device, STREAM_TOKENS, HOLD_BACK)
        try:
            crowd.play(1, SHORT, min(1.0, budget.left / 8))  # the first steps are slower
            most, sure = most_streams(lambda n, s: crowd.play(n, SHORT, s), budget.left)
        finally:
            crowd.close()
        name = f"{profile}, streams without underrun, {HOLD_BACK * MS:.0f} ms held back"
        if not sure:
            found = f"{most.streams} do" if most else "none was seen to"
            self._run.report.left_out.append(f"{name}: {found}, more were not tried to the end")
        if sure or most:
            aim = self._aim(STREAM_AIMS.get(profile)) if sure else None
            self._add(name, most.streams if most else 0, "streams", aim)
        if most:
            self._add(f"{name}, longest wait for first audio", most.waited * MS, "ms")

"""`bench overhead`: what the platform costs on top of the engine, and what it carries."""

import asyncio
import math
import time
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable

from tts.engine.request import Profile
from tts.engines.devices import cores
from voicehost.bench.base import BenchRun
from voicehost.bench.client import Address
from voicehost.bench.crowd import CrowdFigures, crowd_listen
from voicehost.bench.engine_side import engine_side, segments_of
from voicehost.bench.errors import BudgetSpent
from voicehost.bench.figures import median, percentile
from voicehost.bench.guest import Guest, guest_admitted
from voicehost.bench.listeners import Scene
from voicehost.bench.playback import HOLD_BACK
from voicehost.bench.processes import ProcessTimes
from voicehost.bench.scrape import Metrics
from voicehost.bench.sides import (
    CONCURRENCY,
    Case,
    Round,
    Rounds,
    Sides,
    pairs_speak,
    rounds_speak,
)
from voicehost.bench.texts import CROWD, SHORT, WARM_UP

MODEL = "tts-1"
HIBARI_VOICE, FULL_VOICE = "af_heart", "am_michael"
STAGES = ("text", "queue", "prepare", "compute", "postprocess", "encode", "send")
STAGE_METRIC = "voicehost_stage_seconds"
TONES: dict[str, object] = {
    "mode": "step",
    "step_seconds": 0.25,
    "cost_ms": 150.0,
    "busy": False,
}
"""A step engine on a device of its own: somewhat faster than real time, whatever the batch."""
RAMP_SECONDS = 4.0
CROWD_SPARE_SECONDS = 25.0
"""Beyond the audio's own length: the ramp, and room to be late in."""
FULL_ROUND, HIBARI_ROUND = CONCURRENCY, 8 * CONCURRENCY
"""Requests of one closed loop: some seconds each."""
CROWD_SHARE = 55.0
"""Seconds of the budget that are kept for the crowd."""
LOAD_SECONDS, FIRST_AUDIO_SECONDS, HIBARI_SECONDS = 6.0, 4.0, 8.0
FULL_SECONDS, CROWD_SECONDS = 30.0, 40.0
"""What each part takes at least on two cores."""
END_SECONDS = 5.0
"""Between the last listener and the report."""
MS = 1000.0


class OverheadBench:
    """Engine against platform with the same texts, and a crowd of listeners."""

    name = "overhead"
    help = "first audio, throughput and listeners: the platform beside the engine alone"
    seconds = 180.0
    needs_platform = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Sizes of the crowd, and what to leave out."""
        parser.add_argument("--streams", type=int, default=200, help="listeners at once")
        parser.add_argument("--sockets", type=int, default=2000, help="idle WebSockets beside them")
        parser.add_argument(
            "--only",
            choices=("first-audio", "throughput", "crowd"),
            help="measure one part, within the whole budget",
        )

    def run(self, run: BenchRun) -> None:
        """Measure; the database is used outside the event loop only."""
        if run.target.key:
            guest = Guest(run.target.key, realtime="realtime", standard="standard", tone="")
            asyncio.run(Overhead(run, guest).run())
            return
        with guest_admitted(concurrency=1000, tone_config=TONES) as guest:
            asyncio.run(Overhead(run, guest).run())


class Overhead:
    """One run."""

    def __init__(self, run: BenchRun, guest: Guest) -> None:
        self._run = run
        self._guest = guest
        self._report = run.report
        self._say, self._begin = run.progress.say, run.progress.part
        self._address = Address.of(run.target.url, guest.key)
        self._hibari = Case(MODEL, HIBARI_VOICE, Profile.REALTIME, guest.realtime)
        self._full = Case(MODEL, FULL_VOICE, Profile.STANDARD, guest.standard)

    async def run(self) -> None:
        """All parts, or the one that was asked for, as far as the budget holds them.

        Raises BudgetSpent when the time is over in the middle of a part.
        """
        await self._run.budget.within(self._parts(self._run.options["only"]))

    async def _parts(self, only: str | None) -> None:
        if only != "crowd":
            await self._compare(only)
        if only in (None, "crowd"):
            if self._guest.tone:
                await self._if_held(self._crowd())
            else:
                self._say("no crowd: the limits of a given key would refuse it")

    async def _if_held(self, part: Awaitable[None]) -> None:
        """Measure a part, unless the budget does not hold it."""
        try:
            await part
        except BudgetSpent as error:
            self._report.left_out.append(str(error))

    # -- engine against platform -------------------------------------------------

    async def _compare(self, only: str | None) -> None:
        self._begin("loading the engine in this process", needs=LOAD_SECONDS)
        lanes = cores()
        async with engine_side(lanes, (Profile.REALTIME, Profile.STANDARD)) as engine:
            sides = Sides(engine, self._address)
            try:
                self._begin("warming both sides up")
                await sides.warm_up(self._hibari, WARM_UP)
                if only != "throughput":
                    await self._if_held(self._first_audio(sides))
                if only != "first-audio":
                    await self._if_held(self._throughput_hibari(sides))
                    await self._if_held(self._throughput_full(sides))
            finally:
                sides.close()

    async def _first_audio(self, sides: Sides) -> None:
        self._begin(
            "first audio: one request at a time, engine and platform in turns",
            needs=FIRST_AUDIO_SECONDS,
        )
        engine, platform = await sides.both(self._hibari, SHORT)
        budget = self._run.budget.part(0.15, most=20.0)
        pairs = await pairs_speak(engine, platform, SHORT, budget)
        ours = [each.first_audio * MS for each, _ in pairs]
        theirs = [each.first_audio * MS for _, each in pairs]
        arrived = [each.timings.get("ttfa", math.nan) * MS for _, each in pairs]
        report = self._report
        report.add("first audio, engine, median", median(ours), "ms")
        report.add("first audio, platform, median", median(theirs), "ms")
        report.add("first audio, platform, p95", percentile(theirs, 0.95), "ms")
        report.add(
            "first audio, added by the platform", median(theirs) - median(ours), "ms", "<= 15"
        )
        report.add("  of that, until the web process has it", median(arrived) - median(ours), "ms")
        report.add("  of that, from there to the client", median(theirs) - median(arrived), "ms")
        report.add("first audio, pairs measured", len(pairs), "pairs")

    async def _throughput_full(self, sides: Sides) -> None:
        self._begin(f"full Kokoro: {CONCURRENCY} requests at a time, in turns", needs=FULL_SECONDS)
        await sides.warm_up(self._full, WARM_UP)
        budget = self._run.budget
        spare = 0.0 if self._run.options["only"] else CROWD_SHARE
        part = budget.part(max(0.1, 1.0 - spare / max(budget.left, 1.0)), most=70.0)
        both = await sides.both(self._full, SHORT)
        costs = StageCosts(self._run)
        ours, theirs = await rounds_speak(both, SHORT, FULL_ROUND, part, costs.during)
        self._rates("full Kokoro", (ours, theirs), costs, ">= 0.9")

    async def _throughput_hibari(self, sides: Sides) -> None:
        self._begin(f"hibari: {CONCURRENCY} requests at a time, in turns", needs=HIBARI_SECONDS)
        both = await sides.both(self._hibari, SHORT)
        costs = StageCosts(self._run)
        part = self._run.budget.part(0.2, most=25.0)
        ours, theirs = await rounds_speak(both, SHORT, HIBARI_ROUND, part, costs.during)
        self._rates("hibari", (ours, theirs), costs, None)
        costs.add_to_report(theirs)

    def _rates(
        self, name: str, sides: tuple[Rounds, Rounds], costs: "StageCosts", aim: str | None
    ) -> None:
        report, (ours, theirs) = self._report, sides
        report.add(f"{name} x{CONCURRENCY}, engine", ours.rate, "audio s/s")
        report.add(f"{name} x{CONCURRENCY}, platform", theirs.rate, "audio s/s")
        report.add(
            f"{name} x{CONCURRENCY}, platform / engine", theirs.rate / ours.rate, "ratio", aim
        )
        if self._run.target.supervisor:
            # Rates suffer from whatever else runs here; processor time hardly does.
            used = costs.platform_seconds / theirs.audio_seconds + theirs.processor
            report.add(
                f"{name} x{CONCURRENCY}, engine / platform by processor time",
                ours.processor / used,
                "ratio",
            )
        report.add(f"{name} x{CONCURRENCY}, requests a side", ours.requests, "requests")

    # -- the crowd ---------------------------------------------------------------

    async def _crowd(self) -> None:
        options = self._run.options
        streams, sockets = options["streams"], options["sockets"]
        self._begin(
            f"{sockets} idle sockets, then {streams} listeners at playback pace",
            needs=CROWD_SECONDS,
        )
        case = Case(self._guest.tone, "tone-a", Profile.REALTIME, self._guest.realtime)
        ask = case.ask(CROWD)
        most = min(2 * CROWD_SPARE_SECONDS, self._run.budget.left - END_SECONDS)
        scene = Scene(self._address, ask, streams, sockets, RAMP_SECONDS, most)
        figures = await crowd_listen(scene, self._run.target)
        self._crowd_report(figures, streams, sockets)

    def _crowd_report(self, figures: CrowdFigures, streams: int, sockets: int) -> None:
        heard, add = figures.heard, self._report.add
        name = f"{streams} streams"
        add(f"{name}, complete", heard.complete, "streams", f">= {streams}")
        dry = f"{name}, that ran dry, {HOLD_BACK * MS:.0f} ms held back"
        add(dry, heard.dry_streams, "streams", "<= 0")
        add(f"{name}, lateness p99", heard.lateness.p99 * MS, "ms", "<= 100")
        add(f"{name}, lateness max", heard.lateness.most * MS, "ms")
        add(f"{name}, first audio median", heard.first_audio.p50 * MS, "ms")
        add(f"{name}, first audio p99", heard.first_audio.p99 * MS, "ms")
        same = float(heard.shortest == heard.longest)
        add(f"{name}, all of one length", same, "yes = 1", ">= 1")
        add("web, event-loop lag p99", figures.lag_p99 * MS, "ms", "<= 20")
        add("web, event-loop lag max", figures.lag_most * MS, "ms")
        add("web, memory an idle socket", figures.socket_bytes / 1024, "KiB")
        add(f"{sockets} idle sockets, lost", heard.sockets_lost, "sockets", "<= 0")
        add("idle socket, ping to pong p99", heard.echo.p99 * MS, "ms")
        add("load generator, own lateness p99", heard.own_lateness.p99 * MS, "ms")
        for kind, seconds in sorted(figures.processor.items()):
            add(f"{name}, cores busy in {kind}", seconds / figures.seconds, "cores")
        for failure in heard.failures:
            self._say(f"a stream failed: {failure}")
        if heard.own_lateness.p99 > 0.05:
            self._say("the load generator itself was late: lateness and ping are partly its own")


class StageCosts:
    """What each stage of a request took while the platform's rounds ran."""

    def __init__(self, run: BenchRun) -> None:
        self._run = run
        self._processor: dict[str, float] = {}
        self._before: Metrics | None = None
        self._after: Metrics | None = None

    async def during(self, work: Callable[[], Awaitable[Round]]) -> Round:
        """Run one round and note what it cost."""
        target = self._run.target
        if self._before is None:
            self._before = await self._scrape()
        used = ProcessTimes.read(target.supervisor)
        found = await work()
        for kind, seconds in ProcessTimes.read(target.supervisor).since(used).items():
            self._processor[kind] = self._processor.get(kind, 0.0) + seconds
        self._after = await self._scrape()
        return found

    @property
    def platform_seconds(self) -> float:
        """Processor seconds of the platform's processes."""
        return sum(self._processor.values())

    def add_to_report(self, rounds: Rounds) -> None:
        """Milliseconds a request: by stage from the platform's metrics, by process from /proc."""
        add = self._run.report.add
        if self._before is not None and self._after is not None:
            stages = self._after.since(self._before)
            for stage in STAGES:
                mean = stages.mean(STAGE_METRIC, stage=stage)
                if not math.isnan(mean):
                    add(f"  hibari, a request's {stage}", mean * MS, "ms")
        began = time.perf_counter()
        for text in SHORT:
            segments_of(text)
        text_seconds = (time.perf_counter() - began) / len(SHORT)
        add("  hibari, splitting its text, alone", text_seconds * MS, "ms")
        for kind, seconds in sorted(self._processor.items()):
            add(f"  hibari, processor in {kind}", seconds / rounds.requests * MS, "ms a request")
        client = rounds.processor * rounds.audio_seconds / rounds.requests
        add("  hibari, processor in the client", client * MS, "ms a request")

    async def _scrape(self) -> Metrics | None:
        port = self._run.target.metrics_port
        if not port:
            return None
        try:
            return await asyncio.to_thread(Metrics.read, port)
        except OSError:
            return None

"""The scheduler's rules under any load hypothesis can think of."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tts.engine.core_harness import speech
from tts.engine.config import BatchingConfig, CoreConfig
from tts.engine.errors import EngineError
from tts.engine.request import Priority, Profile, SpeechRequest
from tts.engine.scheduler import Plan, Scheduler
from tts.engines.base import EngineKind, EngineTraits

STEP_SECONDS = 0.1
V1 = ("v1", Profile.STANDARD)
U1, U2 = ("u1", Profile.STANDARD), ("u2", Profile.STANDARD)


@dataclass
class World:
    """A scheduler and a machine: a run makes its audio at once when the machine gets to it."""

    config: CoreConfig
    scheduler: Scheduler = field(init=False)
    now: float = 0.0
    left: dict[int, float] = field(default_factory=dict)
    owner: dict[int, str] = field(default_factory=dict)
    segments: dict[str, int] = field(default_factory=dict)
    ends: Counter[str] = field(default_factory=Counter)
    spoken: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    started: list[str] = field(default_factory=list)
    requests: dict[str, SpeechRequest] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scheduler = Scheduler(self.config)

    def step_engine(self, batching: BatchingConfig, cost: float = 0.0, row: float = 0.0) -> None:
        traits = EngineTraits(EngineKind.STEP, 24_000, ("en",), step_seconds=STEP_SECONDS)
        self.scheduler.engine_add(V1, traits, batching)
        if cost or row:
            for rows in range(1, 9):
                self.scheduler.measured(V1, rows, cost + row * rows)

    def lane_engines(self) -> None:
        for key in (U1, U2):
            traits = EngineTraits(EngineKind.UTTERANCE, 24_000, ("en",))
            self.scheduler.engine_add(key, traits, BatchingConfig())

    def submit(self, request: SpeechRequest, *seconds: float) -> bool:
        try:
            self.scheduler.submit(request, self.now)
        except EngineError:
            self.ends[request.request_id] += 1
            return False
        self.requests[request.request_id] = request
        self.segments[request.request_id] = len(seconds)
        for index, length in enumerate(seconds):
            self.scheduler.append(request.request_id, index, length, self.now)
        return True

    def schedule(self) -> Plan:
        plan = self.scheduler.schedule(self.now)
        for run_id in plan.released:
            del self.left[run_id], self.owner[run_id]
        for request_id in plan.expired:
            self._end(request_id)
        for start in plan.starts:
            self.owner[start.run_id] = start.request_id
            self.left[start.run_id] = 0.0
            self.started.append(start.request_id)
        return plan

    def make(self, run_id: int, seconds: float, length: float) -> None:
        """The run makes `seconds` of audio; it has `length` in all."""
        request_id = self.owner[run_id]
        made = min(seconds, length - self.left[run_id])
        self.left[run_id] += made
        self.scheduler.produced(run_id, made)
        self.scheduler.sent(request_id, made, self.now)
        self.spoken[self.requests[request_id].tenant_id] += made
        if self.left[run_id] >= length - 1e-9:
            self.scheduler.run_finished(run_id, self.now)
            del self.left[run_id], self.owner[run_id]
            self.segments[request_id] -= 1
            if not self.segments[request_id]:
                self._end(request_id)

    def _end(self, request_id: str) -> None:
        for run_id in self.scheduler.finish(request_id):
            del self.left[run_id], self.owner[run_id]
        self.ends[request_id] += 1


requests = st.lists(
    st.tuples(
        st.sampled_from(list(Priority)),
        st.sampled_from("abc"),
        st.integers(1, 3),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=40, deadline=None)
@given(requests, st.integers(1, 4), st.integers(0, 3))
def test_steps_keep_their_limits_and_everyone_ends_once(
    load: list[tuple[Priority, str, int, int]], batch: int, spare: int
) -> None:
    world = World(CoreConfig(max_waiting=15))
    batching = BatchingConfig(batch + spare, batch)
    world.step_engine(batching, 0.01, 0.01)
    offline_most = max(1, int(batching.max_slots * 0.75))
    for number, (priority, tenant, segments, gap) in enumerate(load):
        request = speech(f"r{number}", priority=priority, tenant_id=tenant, max_queue_seconds=5.0)
        world.submit(request, *[1.0] * segments)
        for _ in range(gap):
            check_step(world, batching, offline_most)
    for _ in range(2_000):
        if world.scheduler.is_empty():
            break
        check_step(world, batching, offline_most)
    assert world.scheduler.is_empty(), "somebody starves"
    assert set(world.ends) == {f"r{number}" for number in range(len(load))}
    assert set(world.ends.values()) == {1}


def check_step(world: World, batching: BatchingConfig, offline_most: int) -> None:
    """One turn of a step engine; its limits hold, and it never idles with work at hand."""
    plan = world.schedule()
    active = plan.active.get(V1, ())
    offline = sum(world.requests[r].priority is Priority.OFFLINE for r in world.owner.values())
    assert len(active) <= batching.max_batch
    assert len(world.owner) <= batching.max_slots
    assert offline <= offline_most
    assert bool(active) == (not world.scheduler.is_empty())
    world.now += 0.01 + 0.01 * len(active)
    for run_id in active:
        world.make(run_id, STEP_SECONDS, 1.0)


@settings(max_examples=40, deadline=None)
@given(requests, st.integers(1, 3), st.lists(st.integers(0, 5), min_size=1, max_size=30))
def test_lanes_are_never_overfull_and_never_idle(
    load: list[tuple[Priority, str, int, int]], lanes: int, picks: list[int]
) -> None:
    world = World(CoreConfig(max_waiting=100, lanes=lanes))
    world.lane_engines()
    for number, (priority, tenant, segments, gap) in enumerate(load):
        version = "u1" if gap % 2 else "u2"
        request = speech(
            f"r{number}",
            priority=priority,
            tenant_id=tenant,
            version=version,
            max_queue_seconds=1e6,
        )
        world.submit(request, *[1.0] * segments)
    turn = 0
    while not world.scheduler.is_empty():
        plan = world.schedule()
        running = [run_id for runs in plan.active.values() for run_id in runs]
        assert len(running) == len(world.owner) <= lanes
        undone = sum(world.segments[r] for r in world.segments if not world.ends[r])
        assert len(running) == min(lanes, undone), "a lane idles while there is work"
        world.now += 0.3
        world.make(running[picks[turn % len(picks)] % len(running)], 1.0, 1.0)
        turn += 1
    assert set(world.ends.values()) == {1}


@settings(max_examples=40, deadline=None)
@given(st.permutations([*[Priority.REALTIME] * 3, *[Priority.STANDARD] * 3, Priority.OFFLINE]))
def test_priority_is_never_inverted(order: list[Priority]) -> None:
    world = World(CoreConfig(lanes=1))
    world.lane_engines()
    for number, priority in enumerate(order):
        world.submit(speech(f"r{number}", priority=priority, version="u1"), 1.0)
    while not world.scheduler.is_empty():
        (run_id,) = [run for runs in world.schedule().active.values() for run in runs]
        world.make(run_id, 1.0, 1.0)
    served = [world.requests[request_id].priority for request_id in world.started]
    assert served == sorted(order)


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(st.sampled_from("abcd"), st.floats(0.5, 4.0), min_size=2),
    st.integers(1, 3),
    st.sampled_from([Priority.STANDARD, Priority.OFFLINE]),
)
def test_tenants_get_equal_audio_while_they_all_wait(
    lengths: dict[str, float], lanes: int, priority: Priority
) -> None:
    world = World(CoreConfig(max_waiting=1000, lanes=lanes, offline_slots_share=1.0))
    world.lane_engines()
    for number in range(30):
        for tenant, length in lengths.items():
            request = speech(
                f"{tenant}{number}",
                tenant_id=tenant,
                version="u1",
                priority=priority,
                max_queue_seconds=1e6,
            )
            assert world.submit(request, length)
    longest = max(lengths.values())
    for _ in range(20):
        plan = world.schedule()
        for run_id in plan.active[U1]:
            length = lengths[world.requests[world.owner[run_id]].tenant_id]
            world.make(run_id, length, length)
        world.now += 1.0
        if max(Counter(r[0] for r in world.started).values()) == 30:
            break  # one of them has nothing more that waits
        got = [world.spoken[tenant] for tenant in lengths]
        assert max(got) - min(got) <= longest * 2 + 1e-6


def test_a_flood_of_one_tenant_does_not_delay_another() -> None:
    world = World(CoreConfig(max_waiting=1000, lanes=1))
    world.lane_engines()
    for number in range(100):
        world.submit(speech(f"flood{number}", tenant_id="flood", version="u1"), 1.0)
    for _ in range(10):
        (run_id,) = world.schedule().active[U1]
        world.make(run_id, 1.0, 1.0)
    world.submit(speech("guest", tenant_id="guest", version="u1"), 1.0)
    for _ in range(2):
        (run_id,) = world.schedule().active[U1]
        world.make(run_id, 1.0, 1.0)
    assert "guest" in world.started[10:12]
    assert world.scheduler.positions()[0].startswith("flood")


@pytest.mark.parametrize(
    ("cost", "row", "carried"), [(0.02, 0.02, 3), (0.005, 0.005, 8), (0.2, 0.01, 1), (0.0, 0.05, 1)]
)
def test_no_more_rows_than_the_measured_step_time_carries(
    cost: float, row: float, carried: int
) -> None:
    world = World(CoreConfig())
    world.step_engine(BatchingConfig(8, 8), cost, row)
    for number in range(8):
        world.submit(speech(f"r{number}"), 30.0)
    active = world.schedule().active[V1]
    assert len(active) == carried
    assert (cost + row * carried) * 1.05 <= STEP_SECONDS or carried == 1


def test_fast_speech_counts_for_more() -> None:
    world = World(CoreConfig())
    world.step_engine(BatchingConfig(8, 8), 0.0, 0.02)
    for number in range(8):
        world.submit(speech(f"r{number}", speed=2.0), 30.0)
    assert len(world.schedule().active[V1]) == 2


def test_listeners_with_enough_ahead_yield_to_those_with_less() -> None:
    world = World(CoreConfig())
    world.step_engine(BatchingConfig(8, 2), 0.0, 0.03)
    for name in ("full", "half"):
        world.submit(speech(name), 20.0)
    runs = {world.owner[run_id]: run_id for run_id in world.schedule().active[V1]}
    world.make(runs["full"], 6.0, 20.0)
    world.make(runs["half"], 1.0, 20.0)
    world.submit(speech("new"), 1.0)
    active = {world.owner[run_id] for run_id in world.schedule().active[V1]}
    assert active == {"half", "new"}


def test_a_new_listener_waits_when_all_would_not_be_carried_in_the_long_run() -> None:
    world = World(CoreConfig())
    world.step_engine(BatchingConfig(8, 2), 0.0, 0.045)
    for name in ("full", "half"):
        world.submit(speech(name), 20.0)
    runs = {world.owner[run_id]: run_id for run_id in world.schedule().active[V1]}
    world.make(runs["full"], 6.0, 20.0)
    world.make(runs["half"], 1.0, 20.0)
    world.submit(speech("new"), 1.0)
    active = {world.owner[run_id] for run_id in world.schedule().active[V1]}
    assert active == {"full", "half"}
    world.make(runs["full"], 13.5, 20.0)
    active = {world.owner[run_id] for run_id in world.schedule().active[V1]}
    assert active == {"half", "new"}, "what is left of the first is short against its buffer"


def test_two_step_engines_share_the_turn() -> None:
    world = World(CoreConfig())
    world.step_engine(BatchingConfig(8, 8), 0.0, 0.02)
    key = ("v2", Profile.STANDARD)
    traits = EngineTraits(EngineKind.STEP, 24_000, ("en",), step_seconds=STEP_SECONDS)
    world.scheduler.engine_add(key, traits, BatchingConfig(8, 8))
    for rows in range(1, 9):
        world.scheduler.measured(key, rows, 0.02 * rows)
    for number in range(4):
        world.submit(speech(f"a{number}"), 30.0)
        world.submit(speech(f"b{number}", version="v2", priority=Priority.REALTIME), 30.0)
    active = world.schedule().active
    assert (len(active[key]), V1 in active) == (4, False)

"""Whatever is held, leased, loaded, failed and let go: the budget and the leases are kept."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from models_registry.errors import ShardMemoryExceeded
from tests.models_registry.shards.shard_device import Device

LIMIT = 100
SIZES = {"a": 10, "b": 25, "c": 40, "d": 60, "e": 90, "f": 110}

names = st.sampled_from(["h0", "h1", "h2", "h3"])
shards = st.sampled_from(sorted(SIZES))


class ShardMachine(RuleBasedStateMachine):
    """Engines of which each has shards, in random order; a model of what they hold beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.device = Device(LIMIT, minimum_residency=5.0)
        self.held: dict[str, set[str]] = {}
        self.leases: dict[str, int] = {}
        self.settled: set[str] = set()

    @rule(seconds=st.floats(0, 10))
    def wait(self, seconds: float) -> None:
        """Time passes."""
        self.device.now += seconds

    @rule(name=names, preferred=st.booleans(), demanded=st.booleans())
    def hold(self, name: str, preferred: bool, demanded: bool) -> None:
        """An engine begins to load."""
        if name not in self.held:
            self.held[name] = set()
            self.leases[name] = 0
            self.device.manager.hold(
                name, lambda: self.evict(name), preferred=preferred, demanded=demanded
            )

    @rule(name=names)
    def settle(self, name: str) -> None:
        """An engine is loaded."""
        if name in self.held:
            self.settled.add(name)
        self.device.manager.settle(name)

    @rule(name=names)
    def let_go(self, name: str) -> None:
        """An engine is closed."""
        if not self.leases.get(name):
            self.forget(name)
            self.device.manager.let_go(name)

    @rule(name=names)
    def lease(self, name: str) -> None:
        """A request begins."""
        assert self.device.manager.lease(name) == (name in self.held)
        if name in self.held:
            self.leases[name] += 1

    @rule(name=names)
    def release(self, name: str) -> None:
        """A request ends."""
        self.device.manager.release(name)
        if self.leases.get(name):
            self.leases[name] -= 1

    @precondition(lambda self: self.loading())
    @rule(data=st.data(), shard=shards, fails=st.booleans(), wrong=st.integers(-30, 30))
    def load(self, data: st.DataObject, shard: str, fails: bool, wrong: int) -> None:
        """An engine needs a shard; it may be larger than was expected, or fail."""
        name = data.draw(st.sampled_from(self.loading()))
        size = max(1, SIZES[shard] + wrong)

        def build() -> str:
            if fails:
                raise OSError(shard)
            return shard

        try:
            value = self.device.load(name, shard, size, build)
        except (OSError, ShardMemoryExceeded):
            return
        assert value == shard
        self.held[name].add(shard)

    @precondition(lambda self: self.loading())
    @rule(data=st.data(), wanted=st.sets(shards))
    def reserve(self, data: st.DataObject, wanted: set[str]) -> None:
        """An engine makes room for all that it is going to load."""
        name = data.draw(st.sampled_from(self.loading()))
        before = self.device.manager.stats()
        try:
            self.device.manager.reserve(name, {shard: SIZES[shard] for shard in wanted})
        except ShardMemoryExceeded:
            after = self.device.manager.stats()
            assert (after.accounted, after.residents) == (before.accounted, before.residents)

    @rule(kept=st.sets(shards))
    def retain(self, kept: set[str]) -> None:
        """Versions are retired."""
        self.device.manager.retain(kept)

    @rule()
    def shrink(self) -> None:
        """The device is looked at."""
        self.device.manager.shrink()

    def evict(self, name: str) -> None:
        """The manager asks an engine to go."""
        assert self.leases[name] == 0, "a leased engine was asked to go"
        assert name in self.settled, "an engine that loads was asked to go"
        self.forget(name)
        self.device.manager.let_go(name)

    def loading(self) -> list[str]:
        """The engines that may need something now: idle ones do not."""
        return sorted(name for name in self.held if self.leases[name] or name not in self.settled)

    def forget(self, name: str) -> None:
        """The engine is gone."""
        self.held.pop(name, None)
        self.leases.pop(name, None)
        self.settled.discard(name)

    @invariant()
    def within_the_limit(self) -> None:
        """Accounted bytes are those of what is resident, and never above the limit."""
        stats = self.device.manager.stats()
        assert stats.accounted == sum(item.size for item in stats.residents) + stats.reserved
        assert stats.peak <= LIMIT

    @invariant()
    def what_is_held_is_there(self) -> None:
        """Nothing that an engine holds is ever gone."""
        stats = self.device.manager.stats()
        found = {item.digests[0]: set(item.holders) for item in stats.residents}
        for name, held in self.held.items():
            for shard in held:
                assert name in found[shard]

    def teardown(self) -> None:
        """When all engines are gone and all versions retired, nothing is left."""
        for name in list(self.held):
            self.device.manager.let_go(name)
        self.device.manager.retain(())
        assert self.device.manager.stats().accounted == 0


TestShardMachine = ShardMachine.TestCase
TestShardMachine.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)

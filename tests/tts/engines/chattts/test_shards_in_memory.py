"""ChatTTS' versions within a worker's memory: what they share, what they count, what goes."""

from dataclasses import replace
from pathlib import Path

import pytest

from models_registry.batching import Batching
from models_registry.manifest import Manifest
from models_registry.selectors import VersionSpec
from models_registry.shards.budget import ShardBudget
from models_registry.shards.manager import ShardManager
from tts.consumers.worker.loading import EngineKey, NoRoom, Version
from tts.consumers.worker.shard_loader import ShardLoader
from tts.engine.config import BatchingConfig
from tts.engine.request import Profile
from tts.engines.base import Device, SpeechEngine
from tts.engines.chattts.manifest import chattts_manifest
from tts.engines.chattts.random_checkpoint import RandomCheckpoint, Size

PLENTY = 10**12


class Worker:
    """A loader over a manager that counts only what is accounted, and the engines it has loaded."""

    def __init__(self, limit: int = PLENTY) -> None:
        budget = ShardBudget(limit, high_water=1.0, minimum_residency=0.0)
        self.manager = ShardManager(budget, lambda: 0)
        self.loader = ShardLoader(Device(threads=1), self.manager, lambda: None)
        self.loader.evict = self.close
        self.engines: dict[EngineKey, SpeechEngine] = {}

    def load(self, version: Version, profile: Profile = Profile.REALTIME) -> None:
        key = (version.key, profile)
        self.engines[key] = self.loader.load(version, profile, demanded=True)
        self.loader.settled(key)

    def close(self, key: EngineKey) -> None:
        self.engines.pop(key).close()
        self.loader.closed(key)

    @property
    def accounted(self) -> int:
        return self.manager.stats().accounted


def version(folder: Path, label: str) -> Version:
    manifest = Manifest.from_json(chattts_manifest(folder, label).to_json())
    spec = VersionSpec(f"chattts@{label}", "chattts", manifest, Batching())
    return Version(spec.key, BatchingConfig(), spec)


@pytest.fixture(scope="module")
def first(chattts_tiny: Path) -> Version:
    return version(chattts_tiny, "1")


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Version:
    """The same sizes, other bytes."""
    folder = tmp_path_factory.mktemp("chattts") / "other"
    RandomCheckpoint(Size.TINY, seed=7).write(folder)
    return version(folder, "2")


def test_versions_with_the_same_bytes_take_memory_once(first: Version) -> None:
    worker = Worker()
    worker.load(first)
    alone = worker.accounted
    twin = replace(first, key="chattts@twin")

    worker.load(twin)

    cache = sum(item.size for item in worker.manager.stats().residents if not item.digests)
    assert worker.accounted == alone + cache // 2
    assert worker.manager.stats().counters.hits > 0


def test_everything_that_is_built_counts_and_goes(first: Version) -> None:
    worker = Worker()
    for profile in Profile:
        worker.load(first, profile)
    stats = worker.manager.stats()
    assert all(item.size > 0 for item in stats.residents if item.name.startswith("chattts-native"))
    assert {item.name.split(":")[0] for item in stats.residents} >= {
        "cache",
        "chattts-embeddings",
        "chattts-text-head",
    }

    for key in list(worker.engines):
        worker.close(key)
    worker.loader.retain(())

    assert worker.accounted == 0


def test_a_version_makes_room_for_another_and_comes_back(first: Version, other: Version) -> None:
    sizing = Worker()
    sizing.load(first)
    worker = Worker(limit=int(sizing.accounted * 1.5))

    for wanted in (first, other, first):
        worker.load(wanted)
        assert list(worker.engines) == [(wanted.key, Profile.REALTIME)]

    stats = worker.manager.stats()
    assert stats.peak <= stats.limit


def test_a_version_that_is_spoken_with_stays(first: Version, other: Version) -> None:
    sizing = Worker()
    sizing.load(first)
    worker = Worker(limit=int(sizing.accounted * 1.5))
    worker.load(first)
    assert worker.loader.lease((first.key, Profile.REALTIME))

    with pytest.raises(NoRoom, match=f"no memory for version {other.key}"):
        worker.load(other)

    assert list(worker.engines) == [(first.key, Profile.REALTIME)]
    worker.loader.release((first.key, Profile.REALTIME))
    worker.load(other)


def test_a_load_that_fails_leaves_nothing_accounted(
    first: Version, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: object) -> None:
        raise MemoryError

    monkeypatch.setattr("tts.engines.chattts.parts.StepLoop", broken)
    worker = Worker()
    with pytest.raises(MemoryError):
        worker.load(first)
    worker.loader.retain(())

    assert worker.accounted == 0

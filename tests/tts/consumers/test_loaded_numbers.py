"""A profile that is not well understood in its own numbers is loaded in another's."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from channels.db import database_sync_to_async

from models_registry.services import CheckedProfile, route_create, route_set, version_checks_set
from models_registry.states import Verdict
from tests.models_registry.registering import version_of
from tts.consumers.worker import shard_loader
from tts.consumers.worker.build import shard_manager, versions_read
from tts.consumers.worker.shard_loader import ShardLoader
from tts.engine.request import Profile
from tts.engines.base import Device, Shards
from tts.engines.chattts.backend import Precision
from tts.engines.chattts.profile import PROFILES, profile_settings
from tts.engines.tone.engine import ToneEngine

Loaded = list[tuple[Profile, Profile | None]]


class Recording(ToneEngine):
    """Writes down how it is loaded."""

    loaded: Loaded = []

    def load(
        self,
        shards: Shards,
        device: Device,
        profile: Profile,
        notify: Callable[[], None],
        numbers: Profile | None = None,
    ) -> None:
        self.loaded.append((profile, numbers))
        super().load(shards, device, profile, notify, numbers)


@pytest.mark.django_db(transaction=True)
async def test_a_worker_loads_what_the_registry_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard_loader, "engine_create", lambda name: Recording())
    monkeypatch.setattr(Recording, "loaded", [])
    await database_sync_to_async(_checked)()
    (version,) = await versions_read()
    loader = ShardLoader(Device(), shard_manager("cpu"), lambda: None)
    for profile in Profile:
        loader.load(version, profile, demanded=True)
    assert Recording.loaded == [
        (Profile.REALTIME, Profile.STANDARD),
        (Profile.STANDARD, None),
        (Profile.HQ, None),
    ]


def _checked() -> None:
    version_of("1")
    route_create(name="tts-1")
    route_set("tts-1", {"demo@1": 1}, "test")
    worse = CheckedProfile("realtime", Verdict.WORSE, {"en": 0.1}, {"en": 0.0}, "standard")
    version_checks_set("demo@1", [worse], sentences=20, at=datetime(2026, 5, 1, tzinfo=UTC))


@pytest.mark.parametrize("device", ["cpu", "cuda:0"])
def test_chattts_keeps_all_but_the_numbers_of_a_profile(device: str) -> None:
    place = Device(device)
    realtime = profile_settings(Profile.REALTIME, place)
    for numbers in (Profile.STANDARD, Profile.HQ):
        precise = PROFILES[numbers]
        assert profile_settings(Profile.REALTIME, place, numbers) == replace(
            realtime, precision=precise.precision, vocoder=precise.vocoder
        )
    fallen = profile_settings(Profile.REALTIME, place, Profile.STANDARD)
    assert fallen.precision is Precision.BF16

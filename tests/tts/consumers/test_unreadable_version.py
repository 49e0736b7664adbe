"""A worker has the versions that it can read, and says of the other why it has not."""

import pytest
from channels.db import database_sync_to_async

from models_registry.models import ModelVersion
from models_registry.services import route_create, route_set
from tests.models_registry.registering import version_of
from tts.consumers.worker.build import shard_manager, versions_read
from tts.consumers.worker.shard_loader import ShardLoader
from tts.engine.errors import VersionUnavailable
from tts.engine.request import Profile
from tts.engines.base import Device


def _one_broken() -> None:
    version_of("1")
    version_of("2")
    route_create(name="tts-1")
    route_set("tts-1", {"demo@1": 50, "demo@2": 50}, "test")
    ModelVersion.objects.filter(key="demo@2").update(manifest={"colour": "red"})


@pytest.mark.django_db(transaction=True)
async def test_only_the_unreadable_version_cannot_be_loaded() -> None:
    await database_sync_to_async(_one_broken)()
    good, broken = await versions_read()
    loader = ShardLoader(Device(), shard_manager("cpu"), lambda: None)
    loader.load(good, Profile.REALTIME, demanded=True).close()
    with pytest.raises(VersionUnavailable, match=r"manifest cannot be read: .*'colour'"):
        loader.load(broken, Profile.REALTIME, demanded=True)

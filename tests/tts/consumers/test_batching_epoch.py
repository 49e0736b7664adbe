"""A change of configuration is in force within a second, with no group message at all."""

import redis.asyncio

from coordination.keys import CONFIG_EPOCH
from tests.redis_server import eventually, redis_client, redis_running
from tests.tts.gateway.platform_in_process import Registry, Worker, worker_running
from tts.consumers.worker.loading import Version
from tts.engine.config import BatchingConfig
from tts.engine.request import Profile


async def test_the_epoch_alone_puts_changes_in_force() -> None:
    with redis_running() as server:
        async with redis_client(server) as client:
            registry = Registry("tone@1")
            async with worker_running("w1", client, registry) as worker:
                await _follows(client, registry, worker)


async def test_a_hint_puts_changes_in_force_at_once() -> None:
    with redis_running() as server:
        async with redis_client(server) as client:
            registry = Registry("tone@1")
            async with worker_running("w1", client, registry) as worker:
                await eventually(lambda: worker.core.engines)
                registry.versions["tone@1"] = Version(
                    "tone@1", BatchingConfig(max_wait_seconds=0.0), 0
                )
                await worker.consumer.config_changed({"type": "config.changed"})
                await eventually(lambda: _batching(worker).max_wait_seconds == 0.0, seconds=0.15)


async def _follows(client: redis.asyncio.Redis, registry: Registry, worker: Worker) -> None:
    await eventually(lambda: worker.core.engines)
    registry.versions["tone@1"] = Version("tone@1", BatchingConfig(max_slots=2, max_batch=1), 0)
    registry.versions["tone@2"] = Version("tone@2", BatchingConfig(), None)
    await client.set(CONFIG_EPOCH, "another")
    await eventually(
        lambda: (
            _batching(worker).max_slots == 2 and ("tone@2", Profile.REALTIME) in worker.core.engines
        ),
        seconds=1.0,
    )


def _batching(worker: Worker) -> BatchingConfig:
    return worker.core.engines["tone@1", Profile.REALTIME]


def _version(max_wait_seconds: float) -> Version:
    return Version("tone@1", BatchingConfig(max_wait_seconds=max_wait_seconds), None)

"""Which synthesis workers are alive, for whoever only wants to look."""

from collections.abc import Iterable

import redis
import redis.asyncio

from coordination import keys
from tts.gateway.heartbeat import WorkerBeat, beat_decode


async def workers_read(client: redis.asyncio.Redis) -> tuple[WorkerBeat, ...]:
    """The last heartbeat of every live worker, in the order of their ids."""
    pipeline = client.pipeline(transaction=False)
    pipeline.smembers(keys.WORKERS)
    (members,) = await pipeline.execute()
    if not members:
        return ()
    return _beats(await client.mget(_beat_keys(members)))


def workers_read_sync(client: redis.Redis) -> tuple[WorkerBeat, ...]:
    """As `workers_read`, for synchronous code."""
    pipeline = client.pipeline(transaction=False)
    pipeline.smembers(keys.WORKERS)
    (members,) = pipeline.execute()
    if not members:
        return ()
    found = client.pipeline(transaction=False)
    found.mget(_beat_keys(members))
    return _beats(found.execute()[0])


def _beat_keys(members: Iterable[bytes]) -> list[str]:
    return [keys.worker_beat(name.decode()) for name in sorted(members)]


def _beats(found: Iterable[bytes | None]) -> tuple[WorkerBeat, ...]:
    beats = (beat_decode(raw) for raw in found if raw is not None)
    return tuple(beat for beat in beats if beat is not None)

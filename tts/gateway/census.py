"""Which synthesis workers are alive, for whoever only wants to look."""

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
    found = await client.mget([keys.worker_beat(name.decode()) for name in sorted(members)])
    beats = (beat_decode(raw) for raw in found if raw is not None)
    return tuple(beat for beat in beats if beat is not None)

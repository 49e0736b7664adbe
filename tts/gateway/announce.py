"""Telling everyone at once that a process died; its supervisor knows first.

Everything here is also found out without it, when a heartbeat expires.
"""

from typing import Any

import redis.asyncio
from redis.exceptions import RedisError

from coordination import keys
from coordination.holds import holds_release
from tts.gateway.heartbeat import beat_decode
from tts.gateway.wire import (
    FRAME_FIELD,
    GatewayDied,
    WorkerDied,
    frames_encode,
    message_encode,
)

ANNOUNCE_TIMEOUT = 2.0


async def worker_lost_announce(client: redis.asyncio.Redis, worker_id: str) -> None:
    """Say that a synthesis worker died, before another is started under its id.

    Gateways give its requests to other workers, or end them with WorkerLost.
    """
    raw = await client.get(keys.worker_beat(worker_id))
    beat = beat_decode(raw) if raw else None
    lost = WorkerDied(worker_id, beat.incarnation if beat else "")
    frame = frames_encode([message_encode(lost)])[0]
    gateways = await _members(client, keys.GATEWAYS)
    pipeline = client.pipeline(transaction=False)
    pipeline.delete(keys.worker_beat(worker_id), keys.worker_requests(worker_id))
    pipeline.srem(keys.WORKERS, worker_id)
    for gateway_id in gateways:
        stream = keys.gateway_replies(gateway_id)
        pipeline.xadd(stream, {FRAME_FIELD: frame}, nomkstream=True)
    await pipeline.execute()


async def gateway_lost_announce(client: redis.asyncio.Redis, gateway_id: str) -> None:
    """Say that a web or Celery process died: workers free everything that it asked for."""
    frame = frames_encode([message_encode(GatewayDied(gateway_id))])[0]
    workers = await _members(client, keys.WORKERS)
    pipeline = client.pipeline(transaction=False)
    pipeline.delete(keys.gateway_beat(gateway_id), keys.gateway_replies(gateway_id))
    pipeline.srem(keys.GATEWAYS, gateway_id)
    for worker_id in workers:
        stream = keys.worker_requests(worker_id)
        pipeline.xadd(stream, {FRAME_FIELD: frame}, nomkstream=True)
    await pipeline.execute()


async def process_lost_announce(redis_url: str, process_id: str) -> None:
    """Say that the process `process_id` died, whatever it was, and end what it held.

    Gateways named `process_id` or `process_id:…` are meant: children of one
    process (a Celery pool) have a gateway each. Raises ConnectionError when
    Redis cannot be reached.
    """
    client = redis.asyncio.Redis.from_url(
        redis_url, socket_timeout=ANNOUNCE_TIMEOUT, socket_connect_timeout=ANNOUNCE_TIMEOUT
    )
    try:
        if process_id in await _members(client, keys.WORKERS):
            await worker_lost_announce(client, process_id)
        for gateway_id in await _members(client, keys.GATEWAYS):
            if gateway_id == process_id or gateway_id.startswith(f"{process_id}:"):
                await gateway_lost_announce(client, gateway_id)
        await holds_release(client, process_id)
    except RedisError as error:
        raise ConnectionError(f"the loss of {process_id} was not announced: {error}") from error
    finally:
        await client.aclose()


async def _members(client: redis.asyncio.Redis, key: str) -> list[str]:
    pipeline = client.pipeline(transaction=False)
    pipeline.smembers(key)
    results: list[Any] = await pipeline.execute()
    return [member.decode() for member in results[0]]

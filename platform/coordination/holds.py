"""Holds: entries of sorted sets in Redis that count requests, and say whose they are.

A hold runs out by itself when nobody renews it; the score of an entry is when.
A process that is known to be dead does not have to be waited for, so the name
of a hold begins with its owner.
"""

import redis.asyncio

from coordination import keys

_SCAN_COUNT = 1000


def hold_name(owner: str, request_id: str) -> str:
    """What the process `owner` holds for a request."""
    return f"{owner}/{request_id}"


async def holds_release(client: redis.asyncio.Redis, process_id: str) -> int:
    """End every hold of a dead process; returns how many there were.

    Owners named `process_id` or `process_id:…` (its children) are meant. It
    reads every hold there is, which a process's death is rare enough for.
    """
    prefixes = (f"{process_id}/".encode(), f"{process_id}:".encode())
    released = 0
    for pattern in keys.HOLDS:
        async for key in client.scan_iter(pattern, count=_SCAN_COUNT):
            owned = [name for name in await client.zrange(key, 0, -1) if name.startswith(prefixes)]
            if owned:
                released += int(await client.zrem(key, *owned))
    return released

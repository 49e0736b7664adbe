"""Is the process alive, and can the platform speak?"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from channels.db import database_sync_to_async
from django.db import connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from coordination.connection import redis_async
from models_registry.selectors import versions_with_weight
from tts.gateway.census import workers_read
from tts.runtime import runtime_draining

CHECK_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Check:
    """One condition of readiness; `detail` says why it fails, or what to know where it does not."""

    name: str
    ok: bool
    detail: str = "ok"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a look at something gave: a problem, or a note although nothing is wrong; or neither."""

    problem: str = ""
    note: str = ""


GOOD = Finding()


@csrf_exempt
@require_safe
async def healthz(request: HttpRequest) -> JsonResponse:
    """Alive: the event loop answers."""
    return JsonResponse({"status": "ok"})


@csrf_exempt
@require_safe
async def readyz(request: HttpRequest) -> JsonResponse:
    """Ready: not stopping, database, Redis, and a worker that takes each routed version."""
    checks = await readiness()
    ready = all(check.ok for check in checks)
    body = {
        "status": "ready" if ready else "not ready",
        "checks": {check.name: check.detail for check in checks},
    }
    return JsonResponse(body, status=200 if ready else 503)


async def readiness() -> tuple[Check, ...]:
    """Look at everything at once; a check that hangs fails after 3 s."""
    checks: dict[str, Callable[[], Awaitable[Finding]]] = {
        "process": _process,
        "database": database_answers,
        "redis": _redis,
        "speech": _speech,
    }
    return tuple(await asyncio.gather(*(_check(name, run) for name, run in checks.items())))


async def _check(name: str, run: Callable[[], Awaitable[Finding]]) -> Check:
    try:
        found = await asyncio.wait_for(run(), CHECK_SECONDS)
    except TimeoutError:
        return Check(name, ok=False, detail=f"no answer within {CHECK_SECONDS:.0f} s")
    except Exception as error:  # noqa: BLE001 - whatever fails, the answer is "not ready"
        # The class only: a driver's message may hold the address and user of the database.
        return Check(name, ok=False, detail=f"failed: {type(error).__name__}")
    return Check(name, ok=not found.problem, detail=found.problem or found.note or "ok")


async def _process() -> Finding:
    return Finding("stopping") if runtime_draining() else GOOD


async def database_answers() -> Finding:
    """Good where the database answers; raises what the driver raises."""

    def select() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")

    # Drops a connection that the database has closed, and shares the process's one.
    await database_sync_to_async(select)()
    return GOOD


async def _redis() -> Finding:
    pipeline = redis_async().pipeline(transaction=False)
    pipeline.ping()
    await pipeline.execute()
    return GOOD


async def _speech() -> Finding:
    """Why the platform cannot speak, if it cannot."""
    wanted = {spec.key for spec in await versions_with_weight()}
    if not wanted:
        return Finding("no route sends traffic to any version")
    workers = await workers_read(redis_async())
    if not workers:
        return Finding("no synthesis worker is running")
    taking = [worker for worker in workers if not worker.draining]
    if not taking:
        return Finding("all synthesis workers are stopping")
    ready = {version for worker in taking for version in worker.versions}
    # Those are loaded by the first request for them.
    cold = {version for worker in taking for version in worker.cold} & wanted - ready
    missing = sorted(wanted - ready - cold)
    if missing:
        return Finding(f"no worker has {', '.join(missing)} ready")
    note = f"ok; cold, for want of memory: {', '.join(sorted(cold))}" if cold else ""
    return Finding(note=note)

"""The admin's first page: what there is, where traffic goes, who is alive, what was changed."""

from dataclasses import dataclass
from typing import Any

from auditlog.models import LogEntry
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from redis.exceptions import RedisError

from coordination.connection import redis_sync
from models_registry.models import ModelVersion, Route
from models_registry.split import BUCKETS, buckets_owned
from models_registry.states import VersionState
from tenants.audit import entry_who
from tenants.models import ApiKey, Tenant
from tts.gateway.census import workers_read_sync
from tts.gateway.heartbeat import WorkerBeat
from tts.models import Voice

CHANGES_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Count:
    """How many of something there are; `link` is their list."""

    title: str
    number: int
    link: str


@dataclass(frozen=True, slots=True)
class Share:
    """A version's share of a route's callers; `missing`: it is known that no worker has it."""

    version: str
    percent: str
    missing: bool


@dataclass(frozen=True, slots=True)
class RouteLine:
    """A route and its split."""

    name: str
    link: str
    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True)
class WorkerLine:
    """A live synthesis worker."""

    name: str
    where: str
    state: str
    versions: str
    active: int
    slots: int
    waiting: int


def dashboard_context(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """What Unfold hands to the template of the first page; each part for those who may see it."""
    may = request.user.has_perm
    workers = _workers() if may("models_registry.view_route") else ()
    return {
        **context,
        "counts": [count for permission, count in _counts() if may(permission)],
        "routes": _routes(workers) if may("models_registry.view_route") else None,
        "workers": None if workers is None else [_worker_line(beat) for beat in workers],
        "workers_unknown": workers is None,
        "may_see_speech": may("models_registry.view_route"),
        "changes": _changes() if may("auditlog.view_logentry") else None,
    }


def _counts() -> list[tuple[str, Count]]:
    live = ApiKey.objects.filter(revoked_at__isnull=True, tenant__is_active=True).exclude(
        expires_at__lte=timezone.now()
    )
    return [
        ("tenants.view_tenant", _count("Active tenants", Tenant, is_active=True)),
        (
            "tenants.view_apikey",
            Count("Live API keys", live.count(), reverse("admin:tenants_apikey_changelist")),
        ),
        ("tts.view_voice", _count("Voices in use", Voice, is_active=True)),
        (
            "models_registry.view_modelversion",
            _count("Live versions", ModelVersion, state=VersionState.LIVE),
        ),
    ]


def _count(title: str, model: type[Model], **condition: Any) -> Count:
    meta = model._meta
    link = reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")
    return Count(title, model._default_manager.filter(**condition).count(), link)


def _routes(workers: tuple[WorkerBeat, ...] | None) -> list[RouteLine]:
    ready = {version for beat in workers or () if not beat.draining for version in beat.versions}
    return [
        RouteLine(
            name=route.name,
            link=reverse("admin:models_registry_route_change", args=[route.pk]),
            shares=tuple(
                Share(
                    key,
                    f"{buckets_owned(runs) * 100 / BUCKETS:g} %",
                    workers is not None and key not in ready,
                )
                for key, runs in route.owners.items()
            ),
        )
        for route in Route.objects.all()
    ]


def _workers() -> tuple[WorkerBeat, ...] | None:
    """The live workers; None where Redis does not say."""
    try:
        return workers_read_sync(redis_sync())
    except RedisError:
        return None


def _worker_line(beat: WorkerBeat) -> WorkerLine:
    state = "draining" if beat.draining else "starting" if beat.booting else "ready"
    loading = tuple(f"{version} (loading)" for version in beat.loading)
    failed = tuple(f"{version} (failed)" for version in beat.failed)
    cold = tuple(f"{version} (cold)" for version in beat.cold)
    return WorkerLine(
        name=beat.worker_id,
        where=f"{beat.host}, process {beat.pid}",
        state=state,
        versions=", ".join((*beat.versions, *loading, *cold, *failed)) or "–",
        active=beat.active,
        slots=beat.slots,
        waiting=beat.waiting,
    )


def _changes() -> list[Any]:
    entries = LogEntry.objects.select_related("actor", "content_type")
    latest = list(entries.order_by("-timestamp", "-id")[:CHANGES_SHOWN])
    for entry in latest:
        entry.who = entry_who(entry)
    return latest

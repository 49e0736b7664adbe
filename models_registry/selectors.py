"""Reading the registry: which version serves a caller, and what a version is.

The asynchronous functions are for the event loop; those that a worker or a
command needs without one end in `_sync`. All go through Channels' wrapper, which
drops a connection that the database has closed: `async for` on a query set does not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import structlog
from channels.db import database_sync_to_async

from coordination.epoch import ConfigCache
from models_registry.batching import Batching
from models_registry.errors import (
    ManifestInvalid,
    RouteNotFound,
    VersionNotFound,
    VersionUnreadable,
)
from models_registry.manifest import Manifest
from models_registry.models import ModelVersion, ProfileCheck, Route, RouteEvent, RouteWeight
from models_registry.split import SplitTable, bucket_of
from models_registry.states import Verdict

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RouteAccess:
    """The routes that a caller may use: those `named`, and with `public` all that are public."""

    public: bool = True
    named: frozenset[str] = frozenset()

    def includes(self, name: str, *, is_public: bool) -> bool:
        """Whether the route called `name` is among them."""
        return name in self.named or (self.public and is_public)


EVERY_PUBLIC = RouteAccess()


@dataclass(frozen=True, slots=True)
class RoutedVersion:
    """Where a caller's request goes.

    `route` is the model name that callers give, `version` the key "model@version".
    A route that is not public serves only tiers that name it (`is_public`).
    `sample_rate` is the engine's, in Hz. `default_tier` is blank where the
    route has none.
    """

    route: str
    is_public: bool
    model: str
    version: str
    engine: str
    sample_rate: int
    languages: tuple[str, ...]
    default_tier: str


@dataclass(frozen=True, slots=True)
class VersionSpec:
    """What a worker needs to load a version and batch for it.

    `numbers` says of a profile, by its name, in which other's number formats it is loaded,
    because it is not well understood in its own.
    """

    key: str
    engine: str
    manifest: Manifest
    batching: Batching
    numbers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnreadableVersion:
    """A version whose manifest cannot be read, and why; nobody can load it as it is."""

    key: str
    batching: Batching
    reason: str


@dataclass(frozen=True, slots=True)
class ListedModel:
    """An entry of GET /v1/models; `created` is a Unix timestamp in seconds."""

    name: str
    description: str
    created: int
    default_tier: str


@dataclass(frozen=True, slots=True)
class _RouteTable:
    """A route as it is cached: buckets to versions, of which those that are readable are known."""

    is_public: bool
    salt: str
    split: SplitTable
    versions: dict[str, RoutedVersion]


async def route(
    model_name: str,
    key_id: str,
    *,
    cache: ConfigCache,
    access: RouteAccess = EVERY_PUBLIC,
) -> RoutedVersion:
    """The version that serves this caller's key on the route `model_name`.

    A key stays with its version for as long as the weights let it (see
    `models_registry.split`). `access` is what the caller may use in any way at
    all: a route that is not public does not exist for those whose access does
    not name it. Whether a known route may be used for this very request is for
    the caller to check. Raises RouteNotFound, naming what is available, also
    for a route that has no weights yet; VersionUnreadable where the caller's
    version cannot be spoken since its manifest cannot be read.
    """
    table = await cache.get(("route", model_name), lambda: _route_table(model_name))
    hidden = table is not None and not table.is_public and model_name not in access.named
    if table is None or hidden:
        listed = await cache.get(("routes",), _routes_all)
        raise RouteNotFound(model_name, [item.name for item in _usable(listed, access)])
    owner = table.split.owner(bucket_of(table.salt, key_id))
    if owner not in table.versions:
        raise VersionUnreadable(owner)
    return table.versions[owner]


async def models_listed(access: RouteAccess = EVERY_PUBLIC) -> tuple[ListedModel, ...]:
    """The routes that a caller may use, by name.

    A route without weights is not listed, since it cannot speak.
    """
    return tuple(
        ListedModel(
            name=item.name,
            description=item.description,
            created=int(item.created_at.timestamp()),
            default_tier=_tier_name(item),
        )
        for item in _usable(await _routes_all(), access)
    )


def version_spec_sync(version_key: str) -> VersionSpec:
    """A version's manifest and batching settings; raises VersionNotFound, ManifestInvalid."""
    version = ModelVersion.objects.filter(key=version_key).select_related("model").first()
    if version is None:
        raise VersionNotFound(f"there is no version '{version_key}'")
    return _spec(version)


def versions_with_weight_sync() -> tuple[VersionSpec | UnreadableVersion, ...]:
    """The versions that some route gives traffic to, oldest first."""
    versions = (
        ModelVersion.objects.filter(weights__weight__gt=0)
        .select_related("model")
        .prefetch_related("checks")
        .order_by("created_at", "id")
        .distinct()
    )
    return tuple(_spec_or_problem(version) for version in versions)


versions_with_weight = database_sync_to_async(versions_with_weight_sync)


def manifest_readable(version: ModelVersion) -> Manifest | None:
    """The stored manifest; None where it cannot be read (`manifest_problem` says why)."""
    try:
        return Manifest.from_json(version.manifest)
    except ManifestInvalid:
        return None


def manifest_problem(version: ModelVersion) -> str:
    """Why the stored manifest cannot be read; blank where it can."""
    try:
        Manifest.from_json(version.manifest)
    except ManifestInvalid as error:
        return error.message
    return ""


def version_verdicts(version_key: str) -> dict[str, Verdict]:
    """What was heard of a version, by profile; empty where nobody has listened."""
    checks = ProfileCheck.objects.filter(version__key=version_key)
    return {check.profile: Verdict(check.verdict) for check in checks}


def route_weights(route_name: str) -> dict[str, int]:
    """Version key to weight, oldest version first; raises RouteNotFound."""
    found = Route.objects.filter(name=route_name).first()
    if found is None:
        raise RouteNotFound(route_name, Route.objects.values_list("name", flat=True))
    rows = found.weights.select_related("version").order_by("version__created_at", "version_id")
    return {row.version.key: row.weight for row in rows}


def routes_of_version(version_key: str) -> tuple[str, ...]:
    """The names of the routes that give a version weight, in order."""
    rows = RouteWeight.objects.filter(version__key=version_key, weight__gt=0)
    return tuple(rows.order_by("route__name").values_list("route__name", flat=True))


def route_weights_at(route_name: str, at: datetime) -> dict[str, int]:
    """What was live at a time: the weights that were in force then, {} before the first."""
    event = RouteEvent.objects.filter(route_name=route_name, at__lte=at).order_by("-id").first()
    return {} if event is None else {str(key): int(value) for key, value in event.after.items()}


@database_sync_to_async
def _routes_all() -> list[Route]:
    routes = Route.objects.filter(weights__weight__gt=0).select_related("default_tier")
    return list(routes.order_by("name").distinct())


@database_sync_to_async
def _route_table(name: str) -> _RouteTable | None:
    # One query: owners and weights must be of the same revision.
    rows = list(
        RouteWeight.objects.filter(route__name=name, weight__gt=0).select_related(
            "route__default_tier", "version__model"
        )
    )
    if not rows:
        return None
    found = rows[0].route
    versions: dict[str, RoutedVersion] = {}
    for row in rows:
        try:
            versions[row.version.key] = _routed(found, row.version)
        except ManifestInvalid as error:
            log.warning("manifest_unreadable", version=row.version.key, reason=error.message)
    return _RouteTable(found.is_public, found.salt, SplitTable.of(found.owners), versions)


def _routed(route: Route, version: ModelVersion) -> RoutedVersion:
    """Raises ManifestInvalid."""
    manifest = Manifest.from_json(version.manifest)
    return RoutedVersion(
        route=route.name,
        is_public=route.is_public,
        model=version.model.name,
        version=version.key,
        engine=manifest.engine,
        sample_rate=manifest.sample_rate,
        languages=manifest.languages,
        default_tier=_tier_name(route),
    )


def _tier_name(route: Route) -> str:
    return route.default_tier.name if route.default_tier is not None else ""


def _spec(version: ModelVersion) -> VersionSpec:
    return VersionSpec(
        key=version.key,
        engine=version.model.engine,
        manifest=Manifest.from_json(version.manifest),
        batching=Batching(version.max_slots, version.max_batch, version.max_wait_ms),
        numbers={check.profile: check.numbers for check in version.checks.all() if check.numbers},
    )


def _spec_or_problem(version: ModelVersion) -> VersionSpec | UnreadableVersion:
    try:
        return _spec(version)
    except ManifestInvalid as error:
        batching = Batching(version.max_slots, version.max_batch, version.max_wait_ms)
        return UnreadableVersion(version.key, batching, error.message)


def _usable(routes: list[Route], access: RouteAccess) -> list[Route]:
    return [item for item in routes if access.includes(item.name, is_public=item.is_public)]

"""Routes: public names, their weights, and the history of both."""

import secrets
from collections.abc import Mapping

from django.core.exceptions import ValidationError
from django.db import transaction

from coordination.clipping import clipped
from coordination.epoch import epoch_bump
from models_registry.errors import RouteConflict, RouteInvalid, RouteNotFound, RouteSplitInvalid
from models_registry.models import WEIGHT_MAX, ModelVersion, Route, RouteEvent, RouteWeight
from models_registry.split import resplit
from models_registry.states import VersionState

Weights = Mapping[str, int]


def route_create(
    *,
    name: str,
    description: str = "",
    default_tier_id: int | None = None,
    is_public: bool = True,
) -> Route:
    """Make a route without weights; raises RouteInvalid when the name is taken or malformed."""
    # Each route hashes keys with a salt of its own, so that the callers who
    # meet one route's canary are not the ones who meet every other's.
    route = Route(
        name=name,
        description=description,
        default_tier_id=default_tier_id,
        is_public=is_public,
        salt=secrets.token_hex(8),
    )
    _clean(route)
    route.save()
    epoch_bump()
    return route


def route_update(
    route_name: str, *, description: str, default_tier_id: int | None, is_public: bool
) -> Route:
    """Change what a route says of itself; raises RouteNotFound, RouteInvalid."""
    with transaction.atomic():
        route = _locked(route_name)
        route.description = description
        route.default_tier_id = default_tier_id
        route.is_public = is_public
        _clean(route)
        route.save(update_fields=["description", "default_tier", "is_public"])
        epoch_bump()
    return route


def route_set(
    route_name: str,
    weights: Weights,
    actor: str,
    note: str = "",
    *,
    expected_revision: int | None = None,
) -> RouteEvent:
    """Divide a route's traffic: version key to weight (0 to 10,000, relative to each other).

    Versions that are left out lose their weight. The caller's keys move as
    little as possible (see `models_registry.split`). With `expected_revision`
    the change is refused with RouteConflict when another came since. Raises
    RouteNotFound, RouteSplitInvalid.
    """
    with transaction.atomic():
        route = _locked(route_name)
        if expected_revision is not None and route.revision != expected_revision:
            raise _conflict(route_name)
        return _split(route, weights, actor=actor, note=note, kind=RouteEvent.Kind.SET)


def route_set_or_create(
    route_name: str, weights: Weights, actor: str, note: str = ""
) -> tuple[RouteEvent, bool]:
    """As `route_set`; a name that has no route gets a public one without a tier.

    Returns also whether it did. Raises RouteInvalid, RouteSplitInvalid; nothing is made then.
    """
    with transaction.atomic():
        is_new = not Route.objects.filter(name=route_name).exists()
        if is_new:
            route_create(name=route_name)
        return route_set(route_name, weights, actor, note), is_new


def route_rollback(route_name: str, actor: str, note: str = "") -> RouteEvent:
    """Undo the last change of a route's split that was not undone yet.

    Rolling back twice goes two splits back. Raises RouteNotFound, RouteInvalid
    when there is nothing before, RouteSplitInvalid when that split names a
    version that may not serve any more.
    """
    with transaction.atomic():
        route = _locked(route_name)
        weights = _split_before(route)
        return _split(route, weights, actor=actor, note=note, kind=RouteEvent.Kind.ROLLBACK)


def route_delete(route_name: str, actor: str, note: str = "") -> None:
    """Remove a route; its history stays. Raises RouteNotFound."""
    with transaction.atomic():
        route = _locked(route_name)
        before = _weights(route)
        versions = list(ModelVersion.objects.filter(key__in=before))
        RouteEvent.objects.create(
            route_name=route.name,
            kind=RouteEvent.Kind.DELETE,
            actor=actor,
            before=before,
            after={},
            note=note,
        )
        route.delete()
        _states_follow(versions)
        epoch_bump()


def split_check(weights: Weights) -> list[ModelVersion]:
    """The versions of `weights` in order of creation; raises RouteSplitInvalid with every problem.

    Weights are whole numbers of 0 to 10,000 and one is above 0; versions with
    weight exist and are neither failed nor retired.
    """
    found = {
        version.key: version
        for version in ModelVersion.objects.filter(key__in=list(weights)).order_by(
            "created_at", "id"
        )
    }
    problems = [
        problem
        for key, weight in weights.items()
        if (problem := _problem(key, weight, found.get(key)))
    ]
    if not problems and not any(weight > 0 for weight in weights.values()):
        problems.append("At least one version needs a weight above 0.")
    if problems:
        raise RouteSplitInvalid(problems)
    return list(found.values())


def _problem(key: str, weight: object, version: ModelVersion | None) -> str:
    if version is None:
        known = ", ".join(ModelVersion.objects.values_list("key", flat=True)[:20]) or "none"
        return f"There is no version '{key}'; known: {known}."
    if not isinstance(weight, int) or isinstance(weight, bool):
        return f"The weight of '{key}' must be a whole number, not {clipped(weight)}."
    if not 0 <= weight <= WEIGHT_MAX:
        return f"The weight of '{key}' must be 0 to {WEIGHT_MAX}, not {clipped(weight)}."
    if weight and not VersionState(version.state).may_serve:
        return f"Version '{key}' is {version.state} and cannot be given traffic."
    return ""


def _split(
    route: Route, weights: Weights, *, actor: str, note: str, kind: RouteEvent.Kind
) -> RouteEvent:
    versions = split_check(weights)
    before = _weights(route)
    after = {version.key: weights[version.key] for version in versions}
    affected = list(ModelVersion.objects.filter(key__in=[*before, *after]))
    _weights_store(route, versions, after)
    # The condition on the revision also holds where the database has no row locks.
    changed = Route.objects.filter(pk=route.pk, revision=route.revision).update(
        revision=route.revision + 1, owners=resplit(route.owners, after)
    )
    if not changed:
        raise _conflict(route.name)
    event = RouteEvent.objects.create(
        route=route,
        route_name=route.name,
        kind=kind,
        actor=actor,
        before=before,
        after=after,
        note=note,
    )
    _states_follow(affected)
    epoch_bump()
    return event


def _weights_store(route: Route, versions: list[ModelVersion], after: Weights) -> None:
    # Row by row and not in bulk: the audit log listens to single saves.
    rows = {row.version_id: row for row in route.weights.all()}
    for version in versions:
        row, weight = rows.pop(version.pk, None), after[version.key]
        if row is None:
            RouteWeight.objects.create(route=route, version=version, weight=weight)
        elif row.weight != weight:
            row.weight = weight
            row.save(update_fields=["weight"])
    for row in rows.values():
        row.delete()


def _states_follow(versions: list[ModelVersion]) -> None:
    """A ready version with weight is live; a live one without any is ready again."""
    for version in versions:
        has_weight = RouteWeight.objects.filter(version=version, weight__gt=0).exists()
        follows = {
            (VersionState.READY, True): VersionState.LIVE,
            (VersionState.LIVE, False): VersionState.READY,
        }.get((VersionState(version.state), has_weight))
        if follows is not None:
            version.state = follows
            version.save(update_fields=["state"])


def _split_before(route: Route) -> Weights:
    undone = 0
    for event in route.events.order_by("-id"):
        if event.kind == RouteEvent.Kind.ROLLBACK:
            undone += 1
        elif undone:
            undone -= 1
        elif event.before:
            return {str(key): int(weight) for key, weight in event.before.items()}
        else:
            break
    raise RouteInvalid(f"route '{route.name}' has no earlier split to go back to")


def _weights(route: Route) -> dict[str, int]:
    return {
        row.version.key: row.weight
        for row in route.weights.select_related("version").order_by(
            "version__created_at", "version_id"
        )
    }


def _locked(route_name: str) -> Route:
    route = Route.objects.select_for_update().filter(name=route_name).first()
    if route is None:
        raise RouteNotFound(route_name, Route.objects.values_list("name", flat=True))
    return route


def _conflict(route_name: str) -> RouteConflict:
    return RouteConflict(
        f"route '{route_name}' was changed by somebody else meanwhile; look at it again and repeat"
    )


def _clean(route: Route) -> None:
    try:
        route.full_clean()
    except ValidationError as error:
        raise RouteInvalid(" ".join(error.messages), param="name") from error

"""The four roles, as Django groups: who may see and change what in the admin."""

from dataclasses import dataclass

from django.contrib.auth.models import Group, Permission
from django.db import transaction
from django.db.models import Q

VIEW = ("view",)
EDIT = ("view", "add", "change")
ALL = ("view", "add", "change", "delete")
APPS = ("tenants", "models_registry", "tts", "auditlog", "auth", "django_celery_beat", "voicehost")


@dataclass(frozen=True, slots=True)
class Grant:
    """Actions on the models of an app; no `models`: on all of them."""

    app: str
    actions: tuple[str, ...]
    models: tuple[str, ...] = ()

    def permissions(self) -> Q:
        """The permissions granted, as a condition on Permission."""
        found = Q(content_type__app_label=self.app)
        if self.models:
            found &= Q(content_type__model__in=self.models)
        actions = Q()
        for action in self.actions:
            actions |= Q(codename__startswith=f"{action}_")
        return found & actions


_SEE_ALL = tuple(Grant(app, VIEW) for app in APPS)

ROLES: dict[str, tuple[Grant, ...]] = {
    "viewer": _SEE_ALL,
    "operator": (
        *_SEE_ALL,
        Grant("models_registry", ALL),
        Grant("tts", ALL),
        Grant("django_celery_beat", ALL),
    ),
    "tenant manager": (*_SEE_ALL, Grant("tenants", EDIT, ("tenant", "apikey"))),
    # The audit log is nobody's to change.
    "owner": (*_SEE_ALL, *(Grant(app, ALL) for app in APPS if app != "auditlog")),
}


@transaction.atomic
def roles_sync() -> tuple[str, ...]:
    """Make the groups have exactly these permissions; safe to run again. Returns their names.

    Groups of other names, and who is in which group, stay as they are.
    """
    for name, grants in ROLES.items():
        wanted = Q()
        for grant in grants:
            wanted |= grant.permissions()
        group, _ = Group.objects.get_or_create(name=name)
        group.permissions.set(Permission.objects.filter(wanted))
    return tuple(ROLES)

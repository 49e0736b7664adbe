"""What the first start makes: an administrator, a demo tenant with a key, a model that speaks."""

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from django.contrib.auth import get_user_model
from django.db import transaction

from tenants.models import QualityTier, Tenant
from tenants.roles import roles_sync
from tenants.services import api_key_issue, tenant_create
from tts.services import model_import_bundled

DEMO_TENANT = "demo"
ADMIN_NAME = "admin"


@dataclass(frozen=True, slots=True)
class Credentials:
    """What the first start printed; kept in the state folder with mode 0600."""

    admin_user: str
    admin_password: str
    tenant: str
    api_key: str


def credentials_path(var_dir: Path) -> Path:
    """The file that holds the credentials of the first start."""
    return var_dir / "credentials.json"


def installation_prepare(var_dir: Path) -> tuple[Credentials | None, str]:
    """Make what is missing; safe to call at every start.

    Returns the credentials if this call made them, and a line about the voices.
    """
    roles_sync()
    voices = model_import_bundled()
    with transaction.atomic():
        if get_user_model().objects.exists() or Tenant.objects.exists():
            return None, voices
        credentials = _credentials_make()
        # Written before the commit: a crash in between leaves a file that the
        # next start replaces, never a key that nobody knows.
        _credentials_write(var_dir, credentials)
    return credentials, voices


def _credentials_make() -> Credentials:
    password = secrets.token_urlsafe(12)
    get_user_model().objects.create_superuser(ADMIN_NAME, password=password)
    tenant = tenant_create(slug=DEMO_TENANT, name="Demo")
    tier = QualityTier.objects.order_by("-rank").first()
    if tier is None:
        raise RuntimeError("the migrations seed quality tiers, and there are none")
    _, secret = api_key_issue(tenant=tenant, name="first start", tier=tier)
    return Credentials(ADMIN_NAME, password, DEMO_TENANT, secret)


def _credentials_write(var_dir: Path, credentials: Credentials) -> None:
    path = credentials_path(var_dir)
    draft = path.with_suffix(".new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as handle:
        json.dump(asdict(credentials), handle, indent=2)
    draft.replace(path)

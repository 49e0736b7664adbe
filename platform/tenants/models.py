"""Tenants, their API keys, and the quality tiers that say what a key gets."""

import uuid

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Length
from django.db.models.lookups import Exact

from tenants.choices import Scope, TierPriority, TierProfile

LIMIT_MAX = 50_000_000
"""Largest limit: the limiter counts in 1/60,000,000 of a token and must stay exact in a double."""

MODELS_HELP = (
    "The only models that requests in this tier may use, public or not; empty: every public model."
)
_LIMIT_HELP = "Empty: the limits of the quality tier in use hold for the whole tenant."


def _in_range(field: str, low: float, high: float) -> Q:
    return Q(**{f"{field}__gte": low, f"{field}__lte": high})


def validate_scopes(value: object) -> None:
    """A list of at least one known scope, none twice."""
    if not isinstance(value, list) or not value:
        raise ValidationError("Give at least one scope.")
    unknown = [item for item in value if item not in Scope.values]
    if unknown:
        raise ValidationError(f"Unknown scope {unknown[0]!r}; scopes are: {', '.join(Scope)}.")
    if len(set(value)) != len(value):
        raise ValidationError("A scope is given twice.")


def validate_model_names(value: object) -> None:
    """A list of model names, which may be empty."""
    if not isinstance(value, list) or not all(
        isinstance(item, str) and item.strip() == item and item for item in value
    ):
        raise ValidationError(f"Give a list of model names. {MODELS_HELP}")


def all_scopes() -> list[str]:
    """The scopes of a key for which none were named."""
    return list(Scope.values)


class Tenant(models.Model):
    """Who uses the platform: owner of keys, voices, jobs and usage."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    slug = models.SlugField(max_length=64, unique=True)
    name = models.CharField(max_length=200)
    is_active = models.BooleanField(default=True)
    concurrency = models.PositiveIntegerField(null=True, blank=True, help_text=_LIMIT_HELP)
    requests_per_minute = models.PositiveIntegerField(null=True, blank=True, help_text=_LIMIT_HELP)
    characters_per_minute = models.PositiveIntegerField(
        null=True, blank=True, help_text=_LIMIT_HELP
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["slug"]
        constraints = [
            models.CheckConstraint(
                condition=~Q(slug="") & ~Q(name=""),
                name="tenant_named",
                violation_error_message="A tenant needs a name and a slug.",
            ),
            *(
                models.CheckConstraint(
                    condition=Q(**{f"{field}__isnull": True}) | _in_range(field, 1, LIMIT_MAX),
                    name=f"tenant_{field}_range",
                    violation_error_message=f"{field} must be from 1 to {LIMIT_MAX}, or empty.",
                )
                for field in ("concurrency", "requests_per_minute", "characters_per_minute")
            ),
        ]

    def __str__(self) -> str:
        return self.name


class QualityTier(models.Model):
    """What a key gets: order, quality and limits. A key may ask for any tier of at most its rank.

    Every limit holds for each key, and for each tenant as a whole where the
    tenant does not set its own.
    """

    name = models.CharField(
        max_length=32,
        unique=True,
        validators=[RegexValidator(r"^[a-z][a-z0-9_-]*\Z", "Use a-z, 0-9, - and _.")],
    )
    rank = models.PositiveIntegerField(unique=True, help_text="A key may use tiers up to its rank.")
    priority = models.CharField(max_length=16, choices=TierPriority.choices)
    profile = models.CharField(max_length=16, choices=TierProfile.choices)
    concurrency = models.PositiveIntegerField(help_text="Requests at the same time.")
    requests_per_minute = models.PositiveIntegerField()
    characters_per_minute = models.PositiveIntegerField()
    max_characters = models.PositiveIntegerField(help_text="Longest text of one request.")
    max_queue_seconds = models.FloatField(help_text="Longest wait for the first step.")
    allowed_models = models.JSONField(
        default=list,
        blank=True,
        validators=[validate_model_names],
        help_text=MODELS_HELP,
    )

    class Meta:
        ordering = ["rank"]
        constraints = [
            models.CheckConstraint(
                condition=Q(priority__in=TierPriority.values), name="tier_priority_known"
            ),
            models.CheckConstraint(
                condition=Q(profile__in=TierProfile.values), name="tier_profile_known"
            ),
            models.CheckConstraint(condition=~Q(name=""), name="tier_named"),
            models.CheckConstraint(
                condition=_in_range("max_queue_seconds", 0, 3600),
                name="tier_max_queue_seconds_range",
                violation_error_message="max_queue_seconds must be from 0 to 3600.",
            ),
            *(
                models.CheckConstraint(
                    condition=_in_range(field, 1, LIMIT_MAX),
                    name=f"tier_{field}_range",
                    violation_error_message=f"{field} must be from 1 to {LIMIT_MAX}.",
                )
                for field in (
                    "concurrency",
                    "requests_per_minute",
                    "characters_per_minute",
                    "max_characters",
                )
            ),
        ]

    def __str__(self) -> str:
        return self.name


class ApiKey(models.Model):
    """A key of a tenant: its prefix and digest, never the secret."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="api_keys")
    tier = models.ForeignKey(QualityTier, on_delete=models.PROTECT, related_name="api_keys")
    name = models.CharField(max_length=200, blank=True)
    prefix = models.CharField(max_length=16, unique=True, editable=False)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(default=all_scopes, validators=[validate_scopes])
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Empty: never.")
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name = "API key"
        ordering = ["-created_at"]
        constraints = [
            models.CheckConstraint(
                condition=Exact(Length("digest"), 64), name="apikey_digest_length"
            ),
            models.CheckConstraint(condition=~Q(prefix=""), name="apikey_prefix_given"),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.name})" if self.name else f"{self.prefix}…"

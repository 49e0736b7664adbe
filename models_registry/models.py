"""What the platform can speak with: models, their versions and shards, and routes to them."""

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q

from models_registry.states import Verdict, VersionState

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
_name_validator = RegexValidator(
    NAME_PATTERN, "Use Latin letters, digits, '.', '_' and '-', beginning with a letter or digit."
)
WEIGHT_MAX = 10_000


class SpeechModel(models.Model):
    """A model family, such as `kokoro`; what is loaded are its versions."""

    name = models.SlugField(max_length=64, unique=True)
    engine = models.CharField(max_length=32, help_text="The engine that speaks its versions.")
    description = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        verbose_name = "model"

    def __str__(self) -> str:
        return self.name


class ModelVersion(models.Model):
    """One version of a model: its manifest, state and batching settings."""

    model = models.ForeignKey(SpeechModel, on_delete=models.PROTECT, related_name="versions")
    label = models.CharField("version", max_length=64, validators=[_name_validator])
    key = models.CharField(max_length=129, unique=True, help_text="model@version")
    state = models.CharField(
        max_length=16, choices=VersionState.choices, default=VersionState.DRAFT
    )
    manifest = models.JSONField()
    max_slots = models.PositiveIntegerField(
        default=8,
        validators=[MinValueValidator(1), MaxValueValidator(1024)],
        help_text="Most utterances in the engine at once.",
    )
    max_batch = models.PositiveIntegerField(
        default=8,
        validators=[MinValueValidator(1), MaxValueValidator(1024)],
        help_text="Most utterances computed together; at most the slots.",
    )
    max_wait_ms = models.PositiveIntegerField(
        default=50,
        validators=[MaxValueValidator(1000)],
        help_text="Longest time a batch waits for more, in milliseconds; 0 for step engines.",
    )
    failure_reason = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["model__name", "created_at", "id"]
        verbose_name = "version"
        constraints = [
            models.UniqueConstraint(fields=["model", "label"], name="version_unique_in_model"),
            models.CheckConstraint(
                condition=Q(max_slots__gte=1, max_slots__lte=1024), name="version_slots_range"
            ),
            models.CheckConstraint(
                condition=Q(max_batch__gte=1, max_batch__lte=F("max_slots")),
                name="version_batch_within_slots",
            ),
            models.CheckConstraint(condition=Q(max_wait_ms__lte=1000), name="version_wait_range"),
            models.CheckConstraint(
                condition=Q(state__in=VersionState.values), name="version_state_known"
            ),
        ]

    def __str__(self) -> str:
        return self.key


class Shard(models.Model):
    """One shard of a version, as its manifest names it, for people to look at."""

    version = models.ForeignKey(ModelVersion, on_delete=models.CASCADE, related_name="shards")
    name = models.CharField(max_length=128)
    role = models.CharField(max_length=16)
    size_bytes = models.PositiveBigIntegerField("bytes")
    sha256 = models.CharField(max_length=64)
    dtype = models.CharField(max_length=32, blank=True, default="")

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["version", "name"], name="shard_unique_in_version")
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.role})"


class ProfileCheck(models.Model):
    """What was heard of one profile of a version when it was last listened to.

    `errors` are error rates by language, such as {"zh": 0.031}, and `reference` those of the
    same texts in full precision. `numbers` names the profile in whose number formats this one
    is loaded since; blank: its own. Profiles are known here by their names only.
    """

    version = models.ForeignKey(ModelVersion, on_delete=models.CASCADE, related_name="checks")
    profile = models.CharField(max_length=16)
    verdict = models.CharField(max_length=16, choices=Verdict.choices)
    errors = models.JSONField(default=dict)
    reference = models.JSONField(default=dict)
    sentences = models.PositiveIntegerField(help_text="Spoken in each language.")
    numbers = models.CharField(max_length=16, blank=True, default="")
    checked_at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        verbose_name = "check of a profile"
        verbose_name_plural = "checks of profiles"
        constraints = [
            models.UniqueConstraint(fields=["version", "profile"], name="check_unique_in_version"),
            models.CheckConstraint(
                condition=Q(verdict__in=Verdict.values), name="check_verdict_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.version.key} {self.profile}: {self.verdict}"


class Route(models.Model):
    """A model name that callers give, such as `tts-1`, and how its traffic is divided.

    `owners` says which version owns which of the 10,000 buckets (see `split`);
    `revision` counts changes, so that a stale change is noticed.
    """

    name = models.CharField(max_length=64, unique=True, validators=[_name_validator])
    description = models.TextField(blank=True, default="")
    # By name, since the registry imports nothing of tenants.
    default_tier = models.ForeignKey(
        "tenants.QualityTier",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="routes",
        help_text="The quality tier of requests that name none; empty: the key's own.",
    )
    is_public = models.BooleanField(
        default=True,
        help_text="Open to every quality tier that names no models of its own; "
        "one that is not public serves only tiers that name it.",
    )
    salt = models.CharField(max_length=32, editable=False)
    owners = models.JSONField(default=dict, editable=False)
    revision = models.PositiveIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class RouteWeight(models.Model):
    """A version's share of a route, relative to the route's other weights."""

    route = models.ForeignKey(Route, on_delete=models.CASCADE, related_name="weights")
    version = models.ForeignKey(ModelVersion, on_delete=models.PROTECT, related_name="weights")
    weight = models.PositiveIntegerField(
        default=0, validators=[MaxValueValidator(WEIGHT_MAX)], help_text="0 to 10,000"
    )

    class Meta:
        ordering = ["version__created_at", "version_id"]
        verbose_name = "weight"
        constraints = [
            models.UniqueConstraint(fields=["route", "version"], name="weight_unique_in_route"),
            models.CheckConstraint(
                condition=Q(weight__gte=0, weight__lte=WEIGHT_MAX), name="weight_range"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.version.key}={self.weight}"


class RouteEvent(models.Model):
    """One change of a route's split, kept for ever: who, when, before and after."""

    class Kind(models.TextChoices):
        """What was done."""

        SET = "set"
        ROLLBACK = "rollback"
        DELETE = "delete"

    route = models.ForeignKey(
        Route, null=True, on_delete=models.SET_NULL, related_name="events", editable=False
    )
    route_name = models.CharField(max_length=64, db_index=True)
    kind = models.CharField(max_length=16, choices=Kind.choices, default=Kind.SET)
    actor = models.CharField(max_length=150)
    at = models.DateTimeField(auto_now_add=True)
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    note = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["-id"]
        verbose_name = "route change"
        indexes = [models.Index(fields=["route_name", "at"], name="route_event_at")]

    def __str__(self) -> str:
        return f"{self.route_name} {self.kind} by {self.actor}"

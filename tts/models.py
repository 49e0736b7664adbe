"""Voices: who can speak, for which engine, and for whom."""

from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

from tts.voice_mix import NAME_PATTERN

GAIN_LIMIT_DB = 24.0
_name_validator = RegexValidator(
    rf"^{NAME_PATTERN}$",
    "Use Latin letters, digits, '_', '.' and '-', beginning with a letter or digit.",
)


class VoiceOrigin(models.TextChoices):
    """What a voice was made from."""

    MODEL = "model", "Speaker of the model"
    SEED = "seed", "Random speaker from a seed"
    EMBEDDING = "embedding", "Speaker embedding"
    SAMPLE = "sample", "Audio tokens of a recording"
    RECORDING = "recording", "Recording"


REAL_PEOPLE = (VoiceOrigin.SAMPLE, VoiceOrigin.RECORDING)
"""Origins that imitate somebody, who must have agreed."""


class Voice(models.Model):
    """A voice of one engine family, public or of one tenant.

    The tenant is an id only: registry and tenants know each other by ids.
    `speaker` is the model's own name of the speaker; `payload` is what the engine
    needs where the model does not contain the speaker, and `digest` its sha256.
    `companion` speaks the languages that this voice does not. `changed_by` is the
    prefix of a key or the name of an operator, for the audit log; `consent_by` and
    `consent_at` say who recorded the `consent` as it stands, and when.
    """

    name = models.CharField(
        max_length=64, validators=[_name_validator], help_text="What requests call it."
    )
    tenant_id = models.UUIDField(
        null=True, blank=True, db_index=True, help_text="Blank: everybody may use it."
    )
    display_name = models.CharField(max_length=100)
    engine = models.CharField(max_length=32, db_index=True)
    speaker = models.CharField(max_length=100, help_text="The speaker's id in the model.")
    languages = models.JSONField(help_text='A list such as ["en", "zh"].')
    companion = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="accompanies",
        help_text="Speaks the languages that this voice does not.",
    )
    gain_db = models.FloatField(
        "gain (dB)",
        default=0.0,
        validators=[MinValueValidator(-GAIN_LIMIT_DB), MaxValueValidator(GAIN_LIMIT_DB)],
        help_text="Fixed, so that all voices are equally loud.",
    )
    payload = models.BinaryField(null=True, blank=True)
    digest = models.CharField(max_length=64, blank=True, default="", editable=False)
    origin = models.CharField(
        max_length=16, choices=VoiceOrigin.choices, default=VoiceOrigin.MODEL, editable=False
    )
    consent = models.TextField(
        max_length=2_000,
        blank=True,
        default="",
        help_text="Who agreed to the use of this voice, when and how. Recordings need it.",
    )
    consent_by = models.CharField(
        "consent recorded by", max_length=150, blank=True, default="", editable=False
    )
    consent_at = models.DateTimeField("consent recorded at", null=True, blank=True, editable=False)
    changed_by = models.CharField(max_length=150, blank=True, default="", editable=False)
    aliases = models.JSONField(
        default=list, blank=True, help_text='Other names, a list such as ["alloy", "nova"].'
    )
    is_active = models.BooleanField("active", default=True)
    preview_text = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["engine", "name"]
        constraints = [
            models.UniqueConstraint(
                fields=["name"], condition=Q(tenant_id__isnull=True), name="voice_unique_public"
            ),
            models.UniqueConstraint(
                fields=["tenant_id", "name"],
                condition=Q(tenant_id__isnull=False),
                name="voice_unique_in_tenant",
            ),
            models.CheckConstraint(
                condition=Q(gain_db__gte=-GAIN_LIMIT_DB, gain_db__lte=GAIN_LIMIT_DB),
                name="voice_gain_range",
            ),
            models.CheckConstraint(
                condition=~Q(origin__in=[origin.value for origin in REAL_PEOPLE]) | ~Q(consent=""),
                name="voice_consent_recorded",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def get_additional_data(self) -> dict[str, str] | None:
        """What the audit log keeps beside the changes: whose key made them."""
        return {"changed_by": self.changed_by} if self.changed_by else None

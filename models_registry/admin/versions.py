"""Models and versions."""

import json
from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from models_registry import services
from models_registry.admin.common import ReadOnly
from models_registry.adminsite import ErrorsAsMessages, ModelAdmin, TabularInline, column
from models_registry.batching import Batching
from models_registry.errors import RegistryError
from models_registry.forms import ModelVersionForm
from models_registry.models import ModelVersion, ProfileCheck, Shard, SpeechModel
from models_registry.selectors import manifest_problem
from models_registry.states import Verdict, VersionState

STATE_COLOURS = {
    "draft": "info",
    "verified": "info",
    "ready": "success",
    "live": "success",
    "draining": "warning",
    "retired": "default",
    "failed": "danger",
}


VERDICT_COLOURS = {
    "unverified": "info",
    "passed": "success",
    "worse": "warning",
    "unintelligible": "danger",
}
MANIFEST_COLOURS = {"readable": "success", "unreadable": "danger"}
_WORST = (Verdict.UNINTELLIGIBLE, Verdict.WORSE, Verdict.PASSED)


class ProfileCheckInline(ReadOnly, TabularInline[ProfileCheck, ModelVersion]):
    """What a recogniser heard of each profile."""

    model = ProfileCheck
    fields = ("profile", "verdict_label", "heard", "full_precision", "loaded", "checked_at")
    readonly_fields = fields
    extra = 0
    verbose_name_plural = "what was heard (manage.py model_check)"

    @column("verdict", labels=VERDICT_COLOURS)
    def verdict_label(self, check: ProfileCheck) -> str:
        """The verdict, coloured."""
        return check.verdict

    @column("not understood")
    def heard(self, check: ProfileCheck) -> str:
        """Error rates by language."""
        return _percent(check.errors)

    @column("in full precision")
    def full_precision(self, check: ProfileCheck) -> str:
        """Error rates of the same texts in full precision."""
        return _percent(check.reference)

    @column("is loaded")
    def loaded(self, check: ProfileCheck) -> str:
        """In whose numbers."""
        return f"in the numbers of {check.numbers}" if check.numbers else "in its own numbers"


class ShardInline(ReadOnly, TabularInline[Shard, ModelVersion]):
    """The shards of a version."""

    model = Shard
    fields = ("name", "role", "size_bytes", "dtype", "sha256")
    extra = 0


class VersionInline(ReadOnly, TabularInline[ModelVersion, SpeechModel]):
    """The versions of a model."""

    model = ModelVersion
    fields = ("key", "state", "created_at")
    readonly_fields = fields
    show_change_link = True
    extra = 0


@admin.register(SpeechModel)
class SpeechModelAdmin(ModelAdmin[SpeechModel]):
    """Model families; their versions come by `model_import`."""

    list_display = ("name", "engine", "description", "created_at")
    search_fields = ("name", "description")
    search_help_text = "Name or description"
    list_filter = ("engine",)
    list_filter_submit = True
    warn_unsaved_form = True
    fields = ("name", "engine", "description")
    inlines = (VersionInline,)

    def get_readonly_fields(
        self, request: HttpRequest, obj: SpeechModel | None = None
    ) -> tuple[str, ...]:
        """Name and engine are part of every version's key and manifest."""
        return ("name", "engine") if obj else ()

    def save_model(self, request: HttpRequest, obj: SpeechModel, form: Any, change: bool) -> None:
        """Create or describe."""
        if change:
            services.speech_model_describe(obj, description=obj.description)
            return
        created = services.speech_model_create(
            name=obj.name, engine=obj.engine, description=obj.description
        )
        obj.pk = created.pk
        obj.refresh_from_db()

    def has_delete_permission(self, request: HttpRequest, obj: SpeechModel | None = None) -> bool:
        """A model stays, since the history names its versions."""
        return False


@admin.register(ModelVersion)
class ModelVersionAdmin(ErrorsAsMessages, ModelAdmin[ModelVersion]):
    """Versions: state and batching can be changed, everything else is what was imported."""

    told_errors = (RegistryError,)
    form = ModelVersionForm
    list_display = (
        "key", "state_label", "manifest_label", "heard", "engine", "traffic", "max_slots",
        "max_batch", "max_wait_ms",
    )  # fmt: skip
    list_filter = ("state", "model")
    list_filter_submit = True
    list_select_related = ("model",)
    search_fields = ("key",)
    search_help_text = "Key, such as kokoro@1.0"
    warn_unsaved_form = True
    readonly_fields = (
        "key", "engine", "heard", "failure_reason", "created_at", "manifest_label",
        "manifest_problem", "manifest_pretty",
    )  # fmt: skip
    fieldsets = (
        (None, {"fields": ("key", "engine", "state", "heard", "failure_reason", "created_at")}),
        ("Batching", {"fields": ("max_slots", "max_batch", "max_wait_ms")}),
        ("Manifest", {"fields": ("manifest_label", "manifest_problem", "manifest_pretty")}),
    )
    inlines = (ProfileCheckInline, ShardInline)

    @column("state", labels=STATE_COLOURS, ordering="state")
    def state_label(self, version: ModelVersion) -> str:
        """The state, coloured."""
        return version.state

    @column("routes")
    def traffic(self, version: ModelVersion) -> str:
        """The routes that send it traffic."""
        names = [weight.route.name for weight in version.weights.all() if weight.weight]
        return ", ".join(names) or "–"

    @column("heard", labels=VERDICT_COLOURS)
    def heard(self, version: ModelVersion) -> str:
        """The worst verdict on its profiles."""
        verdicts = {check.verdict for check in version.checks.all()}
        return next((verdict for verdict in _WORST if verdict in verdicts), Verdict.UNVERIFIED)

    def get_queryset(self, request: HttpRequest) -> QuerySet[ModelVersion]:
        """With the routes and checks of each."""
        return super().get_queryset(request).prefetch_related("weights__route", "checks")

    @column("engine", ordering="model__engine")
    def engine(self, version: ModelVersion) -> str:
        """The engine of its model."""
        return version.model.engine

    @column("manifest", labels=MANIFEST_COLOURS)
    def manifest_label(self, version: ModelVersion) -> str:
        """Whether the manifest can be read; a version without one is loaded by no worker."""
        return "unreadable" if manifest_problem(version) else "readable"

    @column("what is wrong with it")
    def manifest_problem(self, version: ModelVersion) -> str:
        """Why it cannot be read."""
        return manifest_problem(version) or "–"

    @column("contents")
    def manifest_pretty(self, version: ModelVersion) -> SafeString:
        """The manifest as indented JSON; long inline sources are cut."""
        return format_html(
            '<pre class="overflow-x-auto text-xs">{}</pre>',
            json.dumps(_shortened(version.manifest), indent=2, ensure_ascii=False),
        )

    def save_model(self, request: HttpRequest, obj: ModelVersion, form: Any, change: bool) -> None:
        """Batching first, then the state, if they changed."""
        if {"max_slots", "max_batch", "max_wait_ms"} & set(form.changed_data):
            batching = Batching(obj.max_slots, obj.max_batch, obj.max_wait_ms)
            services.version_batching_set(obj.key, batching)
        if "state" in form.changed_data:
            before = VersionState(form.initial["state"])
            services.version_transition(obj, before, VersionState(obj.state))

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Versions come by `model_import`."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ModelVersion | None = None) -> bool:
        """A version is retired, since the history names it."""
        return False


def _percent(rates: Mapping[str, float]) -> str:
    return ", ".join(f"{language} {rate:.1%}" for language, rate in rates.items()) or "–"


def _shortened(value: object) -> object:
    if isinstance(value, dict):
        return {key: _shortened(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    if isinstance(value, str) and len(value) > 200:
        return f"{value[:200]}… ({len(value)} characters)"
    return value

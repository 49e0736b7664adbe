"""Forms of the admin: lists that people can read and edit."""

# Unfold carries no types.
# mypy: disallow-subclassing-any=False

from typing import TYPE_CHECKING, Any

from django import forms
from unfold.widgets import (
    UnfoldAdminCheckboxSelectMultipleWidget,
    UnfoldAdminDateWidget,
    UnfoldAdminSplitDateTimeWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTimeWidget,
)

from tenants.choices import Scope
from tenants.errors import InvalidValue
from tenants.models import MODELS_HELP, ApiKey, QualityTier, Tenant
from tenants.services import expiry_check

if TYPE_CHECKING:
    TenantModelForm = forms.ModelForm[Tenant]
    TierModelForm = forms.ModelForm[QualityTier]
    KeyModelForm = forms.ModelForm[ApiKey]
else:
    # Generic for the type checker only.
    TenantModelForm = TierModelForm = KeyModelForm = forms.ModelForm


class LinesField(forms.CharField):
    """A list of strings, one a line."""

    widget = UnfoldAdminTextareaWidget

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.widget.attrs["rows"] = 4

    def prepare_value(self, value: Any) -> Any:
        """The list as lines."""
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        """The lines as a list; empty lines are left out."""
        return [line.strip() for line in (value or "").splitlines() if line.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare lists, so that a trailing line break is no change."""
        return bool((initial or []) != self.to_python(data))


class MomentWidget(UnfoldAdminSplitDateTimeWidget):
    """Date and time side by side, each with a name of its own for screen readers."""

    def __init__(self, label: str) -> None:
        super().__init__()
        self.widgets = [
            UnfoldAdminDateWidget({"placeholder": "Date", "aria-label": f"{label}: date"}),
            UnfoldAdminTimeWidget({"placeholder": "Time", "aria-label": f"{label}: time"}),
        ]


class TenantForm(TenantModelForm):
    """A tenant and the limits of its own."""

    class Meta:
        model = Tenant
        fields = (
            "name",
            "slug",
            "is_active",
            "concurrency",
            "requests_per_minute",
            "characters_per_minute",
        )
        labels = {"is_active": "Active", "concurrency": "Requests at the same time"}
        help_texts = {
            "slug": "The short name that commands use.",
            "is_active": "While this is off, all its keys are refused. Nothing is deleted.",
        }


class QualityTierForm(TierModelForm):
    """A tier, its models one a line."""

    allowed_models = LinesField(required=False, help_text=f"{MODELS_HELP} One name a line.")

    class Meta:
        model = QualityTier
        fields = (
            "name",
            "rank",
            "priority",
            "profile",
            "concurrency",
            "requests_per_minute",
            "characters_per_minute",
            "max_characters",
            "max_queue_seconds",
            "allowed_models",
        )
        labels = {
            "concurrency": "Requests at the same time",
            "max_characters": "Longest text",
            "max_queue_seconds": "Longest wait (s)",
        }
        help_texts = {
            "name": "What requests call it (quality_tier).",
            "rank": "A key may also use every tier of a lower rank.",
            "priority": "Who goes first when requests wait.",
            "profile": "How much quality the engine trades for speed.",
            "concurrency": "For each key, and for its tenant as a whole.",
            "requests_per_minute": "For each key, and for its tenant as a whole.",
            "characters_per_minute": "For each key, and for its tenant as a whole.",
            "max_characters": "Characters in one request.",
            "max_queue_seconds": "Requests that would wait longer are refused at once.",
        }


class ApiKeyForm(KeyModelForm):
    """A key, its scopes as check boxes."""

    scopes = forms.MultipleChoiceField(
        choices=Scope.choices,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        initial=list(Scope.values),
        help_text="What the key may be used for. Long recordings and usage have no API yet.",
    )
    expires_at = forms.SplitDateTimeField(
        required=False,
        widget=MomentWidget("Expires at"),
        help_text="UTC; empty: never.",
    )

    class Meta:
        model = ApiKey
        fields = ("tenant", "name", "tier", "scopes", "expires_at")
        help_texts = {
            "name": "What the key is for; shown in lists.",
            "tier": "The highest tier that its requests may use, and the one they get unless they "
            "or the model's route name another. The tier that serves a request decides which "
            "models it may use.",
        }

    def clean_expires_at(self) -> Any:
        """Refuse an end in the past where it is new."""
        value = self.cleaned_data["expires_at"]
        if "expires_at" in self.changed_data:
            try:
                expiry_check(value)
            except InvalidValue as error:
                raise forms.ValidationError(error.message) from error
        return value

    def clean_tenant(self) -> Any:
        """Refuse a new key for a tenant that could not use it."""
        tenant = self.cleaned_data["tenant"]
        if self.instance._state.adding and not tenant.is_active:
            raise forms.ValidationError("This tenant is deactivated: activate it first.")
        return tenant


def form_changes(form: "forms.ModelForm[Any]") -> Any:
    """What the form changed, as a service takes it."""
    return {name: form.cleaned_data[name] for name in form.changed_data}


def row_mirror(target: Any, saved: Any) -> None:
    """Let the instance that the admin holds be the row that the service saved."""
    target.__dict__.update(saved.__dict__)

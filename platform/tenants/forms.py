"""Forms of the admin: lists that people can read and edit."""

from typing import TYPE_CHECKING, Any

from django import forms
from unfold.widgets import UnfoldAdminCheckboxSelectMultipleWidget, UnfoldAdminTextareaWidget

from tenants.choices import Scope
from tenants.errors import InvalidValue
from tenants.models import ApiKey, QualityTier
from tenants.services import expiry_check

if TYPE_CHECKING:
    TierModelForm = forms.ModelForm[QualityTier]
    KeyModelForm = forms.ModelForm[ApiKey]
else:
    # Generic for the type checker only.
    TierModelForm = KeyModelForm = forms.ModelForm


class LinesField(forms.CharField):
    """A list of strings, one a line."""

    widget = UnfoldAdminTextareaWidget

    def prepare_value(self, value: Any) -> Any:
        """The list as lines."""
        return "\n".join(value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> Any:
        """The lines as a list; empty lines are left out."""
        return [line.strip() for line in (value or "").splitlines() if line.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare lists, so that a trailing line break is no change."""
        return bool((initial or []) != self.to_python(data))


class QualityTierForm(TierModelForm):
    """A tier, its models one a line."""

    allowed_models = LinesField(
        required=False, help_text="Names of models, one a line; none means every model."
    )

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


class ApiKeyForm(KeyModelForm):
    """A key, its scopes as check boxes."""

    scopes = forms.MultipleChoiceField(
        choices=Scope.choices,
        widget=UnfoldAdminCheckboxSelectMultipleWidget,
        initial=list(Scope.values),
    )

    class Meta:
        model = ApiKey
        fields = ("tenant", "name", "tier", "scopes", "expires_at")

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

"""Forms of the admin: they check what a service would refuse, before it is called."""

from typing import Any

from django import forms
from unfold.widgets import (
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from models_registry.adminsite import BaseInlineFormSet, ModelForm
from models_registry.batching import Batching
from models_registry.errors import BatchingInvalid, RouteSplitInvalid
from models_registry.models import ModelVersion, Route, RouteWeight
from models_registry.services import split_check
from models_registry.states import VersionState


class RouteForm(ModelForm[Route]):
    """A route, the reason for a change, and the revision the operator was looking at."""

    note = forms.CharField(
        required=False,
        max_length=500,
        help_text="Why the split changes; kept in the history.",
        widget=UnfoldAdminTextInputWidget,
    )
    seen_revision = forms.IntegerField(required=False, widget=forms.HiddenInput)

    class Meta:
        model = Route
        fields = ("name", "description", "default_tier", "is_public")
        labels = {"is_public": "Public"}
        help_texts = {"name": "What requests call the model."}
        widgets = {"description": UnfoldAdminTextareaWidget(attrs={"rows": 2})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Absent, like the revision below, in the read-only form that a viewer gets.
        tier = self.fields.get("default_tier")
        if isinstance(tier, forms.ModelChoiceField):
            tier.empty_label = "the key's own"
        if "seen_revision" in self.fields:
            self.fields["seen_revision"].initial = self.instance.revision

    def clean(self) -> dict[str, Any]:
        """Refuse what was written against an older split."""
        cleaned = super().clean() or self.cleaned_data
        seen = cleaned.get("seen_revision")
        if self.instance.pk and seen is not None:
            current = Route.objects.values_list("revision", flat=True).get(pk=self.instance.pk)
            if seen != current:
                raise forms.ValidationError(
                    "Somebody else changed this route meanwhile. Load the page again and repeat."
                )
        return cleaned


class RouteWeightFormSet(
    BaseInlineFormSet[RouteWeight, Route, "ModelForm[RouteWeight]"],
):
    """The weights of a route, checked together."""

    def add_fields(self, form: Any, index: int | None) -> None:
        """A table has no labels beside its fields: name them for screen readers."""
        super().add_fields(form, index)
        for name in ("version", "weight"):
            if name in form.fields:
                widget = form.fields[name].widget
                # The choice of a related row is wrapped in its add and change links.
                inner = getattr(widget, "widget", widget)
                inner.attrs["aria-label"] = name.capitalize()

    def weights(self) -> dict[str, int]:
        """Version key to weight, as the operator wants it."""
        rows = [form for form in self.forms if form not in self.deleted_forms]
        return {
            row.cleaned_data["version"].key: row.cleaned_data["weight"]
            for row in rows
            if row.cleaned_data.get("version") is not None
        }

    def clean(self) -> None:
        """Show every problem of the split at once; a new route may still have no weights."""
        super().clean()
        if any(self.errors):
            return
        weights = self.weights()
        if not weights and not self.initial_forms:
            return
        try:
            split_check(weights)
        except RouteSplitInvalid as error:
            raise forms.ValidationError(list(error.problems)) from error


class ModelVersionForm(ModelForm[ModelVersion]):
    """Batching settings, and the states that an operator may choose by hand."""

    _BY_HAND = {
        VersionState.VERIFIED: (VersionState.READY,),
        VersionState.READY: (VersionState.DRAINING, VersionState.RETIRED),
        VersionState.DRAINING: (VersionState.READY, VersionState.RETIRED),
        VersionState.FAILED: (VersionState.DRAFT, VersionState.RETIRED),
    }

    class Meta:
        model = ModelVersion
        fields = ("state", "max_slots", "max_batch", "max_wait_ms")
        labels = {
            "max_slots": "Most slots",
            "max_batch": "Largest batch",
            "max_wait_ms": "Longest wait (ms)",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        state = self.fields.get("state")
        if isinstance(state, forms.ChoiceField):
            current = VersionState(self.instance.state)
            states = (current, *self._BY_HAND.get(current, ()))
            state.choices = [(item.value, item.label) for item in states]

    def clean(self) -> dict[str, Any]:
        """Batching settings depend on each other; the message lands on the one that is wrong."""
        cleaned = super().clean() or self.cleaned_data
        settings = {
            name: cleaned[name]
            for name in ("max_slots", "max_batch", "max_wait_ms")
            if cleaned.get(name) is not None
        }
        if len(settings) == 3:
            try:
                Batching(**settings)
            except BatchingInvalid as error:
                self.add_error(error.param, error.message)
        return cleaned

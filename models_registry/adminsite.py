"""Unfold's admin classes with types, which the library itself does not ship.

For the type checker these are Django's own generic classes, whose interface
Unfold keeps; when running they are Unfold's (and ModelForm is Django's, which
takes no parameter then).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponseRedirect

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin, TabularInline
    from django.forms import BaseInlineFormSet, ModelForm
else:
    from django.forms import ModelForm as _ModelForm
    from unfold.admin import ModelAdmin as _ModelAdmin
    from unfold.admin import TabularInline as _TabularInline
    from unfold.forms import PaginationInlineFormSet as _InlineFormSet

    class BaseInlineFormSet(_InlineFormSet):
        """Unfold's inline form set, written BaseInlineFormSet[Child, Parent, Form]."""

        def __class_getitem__(cls, models: object) -> type:
            return cls

    class ModelForm(_ModelForm):
        """Django's ModelForm, written ModelForm[Model]."""

        def __class_getitem__(cls, model: object) -> type:
            return cls

    class ModelAdmin(_ModelAdmin):
        """Unfold's ModelAdmin, written ModelAdmin[Model]."""

        def __class_getitem__(cls, model: object) -> type:
            return cls

    class TabularInline(_TabularInline):
        """Unfold's TabularInline, written TabularInline[Child, Parent]."""

        def __class_getitem__(cls, models: object) -> type:
            return cls


class ErrorsAsMessages:
    """What comes between looking and saving is a message, not a server error.

    Stands before ModelAdmin among the bases; `told_errors` are those that are told.
    """

    told_errors: ClassVar[tuple[type[Exception], ...]]

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """The form, or the same page again with the error on it."""
        try:
            return super().changeform_view(  # type: ignore[misc]  # ModelAdmin's, behind this one
                request, object_id, form_url, extra_context
            )
        except self.told_errors as error:
            messages.error(request, str(error))
            return HttpResponseRedirect(request.path)


F = TypeVar("F", bound=Callable[..., Any])
Labels = dict[str, str]


def column(
    description: str, *, labels: Labels | bool = False, ordering: str = "", boolean: bool = False
) -> Callable[[F], F]:
    """Describe an admin column; `labels` maps its values to Unfold's label colours."""

    def decorate(function: F) -> F:
        options: dict[str, object] = {"short_description": description}
        if labels:
            options["label"] = labels
        if ordering:
            options["admin_order_field"] = ordering
        if boolean:
            options["boolean"] = True
        for name, value in options.items():
            setattr(function, name, value)
        return function

    return decorate


def dialog_action(title: str, description: str, *, icon: str) -> Callable[[F], F]:
    """A button on the change form that asks first; the method gets (request, form, object_id).

    It is called on POST only and needs the permission to change.
    """
    from unfold.decorators import action

    decorate: Callable[[F], F] = action(
        description=title,
        icon=icon,
        permissions=["change"],
        dialog={
            "title": title,
            "description": description,
            "form_class": None,
            "form_submit_text": title,
        },
    )
    return decorate


__all__ = [
    "BaseInlineFormSet",
    "ErrorsAsMessages",
    "ModelAdmin",
    "ModelForm",
    "TabularInline",
    "column",
    "dialog_action",
]

"""The admin's site: what comes in as a row's key is looked at before a query is made of it.

Django's admin lets the database say that a key is of a wrong form, and it says so with an error
that no page tells. Every registered class, and its inlines, gets the checks here.
"""

# Unfold carries no types.
# mypy: disallow-subclassing-any=False

from collections.abc import Callable, Iterable
from functools import cache, wraps
from typing import TYPE_CHECKING, Any

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters, ModelAdmin
from django.contrib.admin.utils import unquote
from django.core.exceptions import BadRequest, ValidationError
from django.db import DataError, models
from django.forms import ModelChoiceField, ModelMultipleChoiceField
from django.http import HttpRequest, HttpResponse
from unfold.sites import UnfoldAdminSite

from coordination.clipping import clipped

BUTTON = "original_function_name"
"""What Unfold's decorator writes on an action."""

if TYPE_CHECKING:
    from django.contrib.admin.options import BaseModelAdmin

    _ChoiceField = ModelChoiceField[Any]
    _ManyField = ModelMultipleChoiceField[Any]
    _Options = BaseModelAdmin[Any]
    _ModelAdmin = ModelAdmin[Any]
else:
    # Generic for the type checker only; the checks stand before the class that is checked.
    _ChoiceField, _ManyField = ModelChoiceField, ModelMultipleChoiceField
    _Options = _ModelAdmin = object


def key_fits(field: "models.Field[Any, Any]", value: object) -> bool:
    """Whether `value` can be a value of the key `field`; no row needs to have it."""
    try:
        field.run_validators(field.to_python(value))
    except ValidationError:
        return False
    # SQLite would look for it, PostgreSQL refuses it.
    return "\0" not in str(value)


class RowField(_ChoiceField):
    """The choice of a row, by a key that may be anything."""

    def to_python(self, value: Any) -> Any:
        """The row; raises ValidationError."""
        if value in self.empty_values or self._fits(value):
            return super().to_python(value)
        raise ValidationError(self.error_messages["invalid_choice"], code="invalid_choice")

    def prepare_value(self, value: Any) -> Any:
        """What the page shows again: no key that its widget could not look up."""
        prepared = super().prepare_value(value)
        return prepared if prepared is None or self._fits(prepared) else None

    def _fits(self, value: Any) -> bool:
        return isinstance(value, models.Model) or _fits(self, value)


class RowsField(_ManyField):
    """The choice of several rows, by keys that may be anything."""

    def clean(self, value: Any) -> Any:
        """The rows; raises ValidationError."""
        for key in value or ():
            if not _fits(self, key):
                raise ValidationError(
                    self.error_messages["invalid_pk_value"],
                    code="invalid_pk_value",
                    params={"pk": clipped(key)},
                )
        return super().clean(value)

    def prepare_value(self, value: Any) -> Any:
        """What the page shows again, without keys of no row."""
        prepared = super().prepare_value(value)
        if isinstance(prepared, list):
            return [key for key in prepared if _fits(self, key)]
        return prepared


def _fits(field: "ModelChoiceField[Any]", value: object) -> bool:
    assert field.queryset is not None  # noqa: S101 - a field of a form has one
    meta = field.queryset.model._meta
    target = meta.get_field(field.to_field_name) if field.to_field_name else meta.pk
    return key_fits(target, value)


class CheckedKeys(_Options):
    """Fields whose rows are chosen by keys of the right form, or refused on the form."""

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """With a check of the key."""
        kwargs.setdefault("form_class", RowField)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """With a check of the keys."""
        kwargs.setdefault("form_class", RowsField)
        return super().formfield_for_manytomany(db_field, request, **kwargs)


class CheckedModelAdmin(CheckedKeys, _ModelAdmin):
    """Lists and forms that refuse keys of a wrong form."""

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        """The inlines, their fields checked as well."""
        return [_inline(inline) for inline in super().get_inlines(request, obj)]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """What the address fills in; no text is a date."""
        values: dict[str, Any] = super().get_changeform_initial_data(request)
        dates = {field.name: field for field in self.opts.fields if _is_date(field)}
        for name in dates.keys() & values.keys():
            try:
                values[name] = dates[name].to_python(values[name])
            except ValidationError:
                del values[name]
        return values

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """The list; a filter that the database cannot take is one that the list does not have."""
        try:
            return super().get_changelist_instance(request)
        except (OverflowError, DataError) as error:
            raise IncorrectLookupParameters(error) from error

    def get_search_results(self, request: HttpRequest, queryset: Any, search_term: str) -> Any:
        """What is found; nothing stored has a NUL, which PostgreSQL does not even look for."""
        if "\0" in search_term:
            return queryset.none(), False
        return super().get_search_results(request, queryset, search_term)

    def response_action(
        self, request: HttpRequest, queryset: Any, *args: Any, **kwargs: Any
    ) -> HttpResponse | None:
        """Do what was asked with the selected rows; raises BadRequest."""
        for key in request.POST.getlist(ACTION_CHECKBOX_NAME):
            if not key_fits(self.opts.pk, key):
                raise BadRequest(f"{clipped(key)} is no key of a {self.opts.verbose_name}")
        return super().response_action(request, queryset, *args, **kwargs)


class AdminSite(UnfoldAdminSite):
    """Unfold's site, its classes with the checks."""

    def admin_view(self, view: Callable[..., Any], cacheable: bool = False) -> Callable[..., Any]:
        """A view for staff; a button of a row is pressed on rows that are there."""
        owner = getattr(view, "__self__", None)
        if isinstance(owner, ModelAdmin) and hasattr(view, BUTTON):
            view = _on_a_row(owner, view)
        guarded: Callable[..., Any] = super().admin_view(view, cacheable)
        return guarded

    def register(
        self,
        model_or_iterable: type[models.Model] | Iterable[type[models.Model]],
        admin_class: type[Any] | None = None,
        **options: Any,
    ) -> None:
        """Register `admin_class` with the checks before it."""
        checked = _with(CheckedModelAdmin, admin_class or ModelAdmin)
        super().register(model_or_iterable, checked, **options)


def _on_a_row(options: Any, view: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        key = kwargs.get("object_id")
        if key is not None and options.get_object(request, unquote(key)) is None:
            # Django's own answer where a page's row is gone.
            return options._get_obj_does_not_exist_redirect(request, options.opts, key)
        return view(request, *args, **kwargs)

    return checked


def _is_date(field: object) -> bool:
    return isinstance(field, models.DateField | models.TimeField)


@cache
def _inline(inline: type[Any]) -> type[Any]:
    return _with(CheckedKeys, inline)


def _with(checks: type[Any], options: type[Any]) -> type[Any]:
    return type(options.__name__, (checks, options), {"__module__": options.__module__})

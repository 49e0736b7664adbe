"""Scheduled tasks (Celery beat) in the admin's own look."""

# Unfold and django-celery-beat carry no types.
# mypy: disallow-subclassing-any=False

from typing import TYPE_CHECKING, Any

from celery.schedules import ParseException, crontab
from django import forms
from django.contrib import admin
from django_celery_beat.admin import ClockedScheduleAdmin as BeatClockedScheduleAdmin
from django_celery_beat.admin import CrontabScheduleAdmin as BeatCrontabScheduleAdmin
from django_celery_beat.admin import PeriodicTaskAdmin as BeatPeriodicTaskAdmin
from django_celery_beat.admin import PeriodicTaskForm, TaskSelectWidget
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from tenants.forms import MomentWidget

if TYPE_CHECKING:
    ScheduleForm = forms.ModelForm[CrontabSchedule]
else:
    # Generic for the type checker only.
    ScheduleForm = forms.ModelForm

for _model in (ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule):
    admin.site.unregister(_model)


class TaskSelect(UnfoldAdminSelectWidget, TaskSelectWidget):
    """The tasks that the code has."""


class ScheduledTaskForm(PeriodicTaskForm):
    """A task and when it runs."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Absent in the read-only form that a viewer gets.
        for name, widget in (
            ("task", UnfoldAdminTextInputWidget()),
            ("regtask", TaskSelect()),
            ("start_time", MomentWidget("Start")),
            ("expires", MomentWidget("Expires")),
        ):
            if name in self.fields:
                self.fields[name].widget = widget

    def clean_headers(self) -> str:
        """A JSON object, as the other arguments are; the library checks those alone."""
        self.cleaned_data["headers"] = self.cleaned_data["headers"] or "{}"
        return str(self._clean_json("headers"))

    def clean(self) -> Any:
        """The library's check wants a task's name, which a refused one is not."""
        return None if "task" in self.errors else super().clean()


@admin.register(PeriodicTask)
class ScheduledTaskAdmin(BeatPeriodicTaskAdmin, ModelAdmin):
    """What runs when."""

    form = ScheduledTaskForm
    list_display = ("name", "enabled", "scheduler", "last_run_at", "total_run_count")
    list_filter = ("enabled", "one_off")
    list_filter_submit = True
    search_help_text = "Name or task"
    date_hierarchy = None


class CrontabForm(ScheduleForm):
    """Times, of which the library lets some pass that Celery cannot read."""

    def clean(self) -> dict[str, Any]:
        """Ask Celery, a field at a time."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        for name in ("minute", "hour", "day_of_week", "day_of_month", "month_of_year"):
            try:
                crontab(**{name: cleaned.get(name, "*")})
            except (ParseException, ValueError) as error:
                self.add_error(name, f"This is no time of a crontab: {error}.")
        return cleaned


@admin.register(CrontabSchedule)
class CrontabScheduleAdmin(BeatCrontabScheduleAdmin, ModelAdmin):
    """Times of the day and week."""

    form = CrontabForm


@admin.register(ClockedSchedule)
class ClockedScheduleAdmin(BeatClockedScheduleAdmin, ModelAdmin):
    """Single moments."""


@admin.register(IntervalSchedule)
class IntervalScheduleAdmin(ModelAdmin):
    """Every so often."""


@admin.register(SolarSchedule)
class SolarScheduleAdmin(ModelAdmin):
    """Sunrise, sunset and the like."""

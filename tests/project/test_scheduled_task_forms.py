"""The admin's form of a scheduled task tells what is wrong with it."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask


@pytest.fixture
def form(db: None) -> dict[str, Any]:
    """The fields of a task that is in order."""
    every = IntervalSchedule.objects.create(every=1, period=IntervalSchedule.HOURS)
    return {
        "name": "hourly", "task": "some.task", "interval": every.pk, "enabled": "on",
        "args": "[]", "kwargs": "{}", "headers": "{}",
    }  # fmt: skip


@pytest.fixture
def admin(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_superuser("root", password="secret"))
    return client


def add(client: Client, form: dict[str, Any]) -> Any:
    return client.post(reverse("admin:django_celery_beat_periodictask_add"), form)


def test_a_good_one_is_saved(admin: Client, form: dict[str, Any]) -> None:
    assert add(admin, form).status_code == 302
    assert PeriodicTask.objects.get(name="hourly").task == "some.task"


def test_headers_may_be_empty(admin: Client, form: dict[str, Any]) -> None:
    assert add(admin, form | {"headers": ""}).status_code == 302
    assert PeriodicTask.objects.get(name="hourly").headers == "{}"


def test_a_crontab_is_saved_when_celery_can_read_it(admin: Client) -> None:
    path = reverse("admin:django_celery_beat_crontabschedule_add")
    every = dict.fromkeys(("hour", "day_of_month", "month_of_year", "day_of_week"), "*")
    no_tasks = {"periodictask_set-TOTAL_FORMS": "0", "periodictask_set-INITIAL_FORMS": "0"}
    form = every | no_tasks | {"minute": "*/5", "timezone": "UTC"}
    assert admin.post(path, form).status_code == 302
    assert CrontabSchedule.objects.filter(minute="*/5").count() == 1
    answer = admin.post(path, form | {"minute": "-9999"})
    assert answer.status_code == 200
    assert "This is no time of a crontab" in answer.context["adminform"].form.errors["minute"][0]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"headers": "{"}, "Unable to parse JSON"),
        ({"task": "x" * 201}, "at most 200 characters"),
        ({"task": "x\0"}, "Null characters are not allowed"),
        ({"task": ""}, "Need name of task"),
    ],
)
def test_what_is_wrong_is_told(
    admin: Client, form: dict[str, Any], wrong: dict[str, str], says: str
) -> None:
    response = add(admin, form | wrong)
    assert response.status_code == 200
    assert says in response.content.decode()
    assert not PeriodicTask.objects.filter(name="hourly").exists()

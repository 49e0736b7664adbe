"""Delete expired sessions every night."""

from typing import Any

from django.db import migrations

NAME = "tenants: clear expired sessions"


def schedule(apps: Any, schema_editor: Any) -> None:
    """Register the task with beat; an operator may move or disable it afterwards."""
    crontab, _ = apps.get_model("django_celery_beat", "CrontabSchedule").objects.get_or_create(
        minute="17", hour="3", day_of_week="*", day_of_month="*", month_of_year="*"
    )
    apps.get_model("django_celery_beat", "PeriodicTask").objects.get_or_create(
        name=NAME, defaults={"task": "tenants.tasks.sessions_clear", "crontab": crontab}
    )


def unschedule(apps: Any, schema_editor: Any) -> None:
    """Take the task out of beat."""
    apps.get_model("django_celery_beat", "PeriodicTask").objects.filter(name=NAME).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("tenants", "0002_seed_tiers"),
        ("django_celery_beat", "0019_alter_periodictasks_options"),
    ]
    operations = [migrations.RunPython(schedule, unschedule)]

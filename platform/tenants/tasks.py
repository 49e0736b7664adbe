"""Periodic work of this app."""

from celery import shared_task
from django.core.management import call_command


@shared_task(name="tenants.tasks.sessions_clear")
def sessions_clear() -> None:
    """Delete expired sessions of the admin and the studio; safe to run twice."""
    call_command("clearsessions")

"""Celery's advice is followed, or not repeated where its reason does not hold."""

import subprocess
import sys
from unittest.mock import Mock

from celery import current_app
from celery.worker.consumer import Consumer
from django.conf import settings

from voicehost.env import ROOT

WARN = """
import warnings
warnings.simplefilter("error")
import voicehost.celery
from celery.exceptions import SecurityWarning
from celery.platforms import ROOT_DISCOURAGED
warnings.warn(SecurityWarning(ROOT_DISCOURAGED.format(uid=0, euid=0, gid=0, egid=0)))
"""


def test_the_warning_is_not_shown() -> None:
    result = subprocess.run(
        [sys.executable, "-c", WARN],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""


def test_its_reason_does_not_hold() -> None:
    assert settings.CELERY_ACCEPT_CONTENT == ["json"]
    assert "pickle" not in current_app.conf.accept_content


def test_lost_broker_is_no_warning() -> None:
    """Warnings are errors here: Celery has one about the tasks that run meanwhile."""
    connection = Mock()
    consumer = Mock(app=current_app, connection=connection, qos_global=False)
    Consumer.on_connection_error_after_connected(consumer, ConnectionError("gone"))
    assert connection.close.called

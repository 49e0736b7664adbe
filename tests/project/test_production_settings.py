"""Production: complete settings have no warnings, and whoever forgets one is told which."""

from pathlib import Path

import pytest

from tests.project.program import CELERY, MANAGE, program_run

PRODUCTION = {
    "DJANGO_SETTINGS_MODULE": "voicehost.settings.prod",
    "SECRET_KEY": "a key of more than fifty characters, none of which is a secret",
    "DATABASE_URL": "postgres://voicehost@127.0.0.1:5432/voicehost",
    "REDIS_URL": "redis://127.0.0.1:6379/7",
    "ALLOWED_HOSTS": "speech.example.com",
}
DEPLOY = (*MANAGE, "check", "--deploy", "--fail-level", "WARNING")


def test_complete_settings_pass_the_deployment_check(tmp_path: Path) -> None:
    result = program_run(DEPLOY, tmp_path, **PRODUCTION)
    assert "WARNINGS" not in result.stderr
    assert result.returncode == 0, result.stderr
    assert list(tmp_path.iterdir()) == [], "nothing is made before it is needed"


def test_a_weak_key_does_not(tmp_path: Path) -> None:
    result = program_run(DEPLOY, tmp_path, **{**PRODUCTION, "SECRET_KEY": "short"})
    assert "SECRET_KEY" in result.stderr
    assert result.returncode == 1


@pytest.mark.parametrize("name", ["SECRET_KEY", "DATABASE_URL", "REDIS_URL", "ALLOWED_HOSTS"])
@pytest.mark.parametrize("value", [None, " "], ids=["missing", "blank"])
def test_what_is_missing_is_named(tmp_path: Path, name: str, value: str | None) -> None:
    given = {key: text for key, text in PRODUCTION.items() if key != name}
    if value is not None:
        given[name] = value
    result = program_run((*MANAGE, "serve"), tmp_path, **given)
    assert result.stderr == (
        f"Not configured: {name} must be set in production (see .env.example)\n"
    )
    assert result.returncode == 1


def test_all_that_is_missing_is_named_at_once(tmp_path: Path) -> None:
    given = {"DJANGO_SETTINGS_MODULE": PRODUCTION["DJANGO_SETTINGS_MODULE"]}
    result = program_run((*CELERY, "beat"), tmp_path, **given)
    assert result.stderr == (
        "Not configured: SECRET_KEY, DATABASE_URL, REDIS_URL, ALLOWED_HOSTS "
        "must be set in production (see .env.example)\n"
    )
    assert result.returncode == 1


def test_the_embedded_redis_is_refused(tmp_path: Path) -> None:
    result = program_run((*MANAGE, "serve"), tmp_path, **PRODUCTION, EMBEDDED_REDIS="1")
    assert result.stderr.startswith("Not configured: EMBEDDED_REDIS=1 is for one machine")
    assert result.stderr.count("\n") == 1
    assert result.returncode == 1

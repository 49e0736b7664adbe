"""The environment is read by kind; what is wrong is named, with what it was and what is allowed."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from voicehost import env
from voicehost.addresses import database_config
from voicehost.env import environment_read

SECRET = "geheim"


@pytest.fixture(autouse=True)
def own_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing but what a test sets."""
    monkeypatch.setenv("VAR_DIR", str(tmp_path))
    for name in ("REDIS_URL", "DATABASE_URL", "EMBEDDED_REDIS", "SECRET_KEY", "PORT"):
        monkeypatch.delenv(name, raising=False)


def refusal(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> str:
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured) as raised:
        environment_read()
    return str(raised.value)


def test_good_values_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "PORT": " 8001 ",
        "PUBLIC_CATALOGUE": "Yes",
        "ASGI_SERVER": "Uvicorn",
        "LOG_LEVEL": "debug",
        "ALLOWED_HOSTS": "speech.example.com, .example.org,*,[::1]",
        "CORS_ORIGINS": "https://app.example.com:8443,capacitor://localhost",
        "REDIS_URL": "rediss://:p%23w@redis.example.com:6380/7",
        "DATABASE_URL": "postgres://voicehost@127.0.0.1:5432/voicehost",
    }.items():
        monkeypatch.setenv(name, value)
    read = environment_read()
    assert (read.port, read.public_catalogue) == (8001, True)
    assert (read.asgi_server, read.log_level) == ("uvicorn", "DEBUG")
    assert read.allowed_hosts == ("speech.example.com", ".example.org", "*", "[::1]")
    assert read.cors_origins == ("https://app.example.com:8443", "capacitor://localhost")
    assert read.redis_url == read.redis_given == "rediss://:p%23w@redis.example.com:6380/7"
    assert database_config(read.database_url)["NAME"] == "voicehost"


@pytest.mark.parametrize("name", ["PORT", "ASGI_SERVER", "REDIS_URL", "DATABASE_URL", "LOG_JSON"])
def test_a_blank_one_is_not_there(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    unset = environment_read()
    monkeypatch.setenv(name, "  ")
    blank = environment_read()
    fields = ("port", "asgi_server", "redis_url", "redis_given", "database_url", "log_json")
    assert [getattr(blank, field) for field in fields] == [
        getattr(unset, field) for field in fields
    ]
    assert name not in blank.given


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("PORT", "abc", "a whole number from 1 to 65535"),
        ("PORT", "0", "a whole number from 1 to 65535"),
        ("METRICS_PORT", "65536", "a whole number from 0 to 65535"),
        ("WEB_PROCESSES", "1.5", "a whole number from 1 to 256"),
        ("LANES", "-1", "a whole number from 0 to 1024"),
        ("LOG_JSON", "maybe", "1 or 0"),
        ("ASGI_SERVER", "x", "one of daphne, uvicorn"),
        ("LOG_LEVEL", "LOUD", "one of INFO, DEBUG, WARNING, ERROR, CRITICAL"),
        ("SYNTHESIS_DEVICES", "gpu", "cpu, cuda or cuda:NUMBER, each once, separated by commas"),
        ("ALLOWED_HOSTS", "http://a.b", "host names without scheme or port, separated by commas"),
        ("ALLOWED_HOSTS", ",", "host names without scheme or port, separated by commas"),
        ("CORS_ORIGINS", "a.b", "origins like https://HOST, separated by commas"),
        ("CSRF_TRUSTED_ORIGINS", "https://a/b", "origins like https://HOST, separated by commas"),
    ],
)
def test_a_wrong_one_is_named_with_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, allowed: str
) -> None:
    assert refusal(monkeypatch, name, value) == f"{name} is {value!r}, but must be {allowed}"


def test_only_the_wrong_word_of_a_list_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "is 'b:1'," in refusal(monkeypatch, "ALLOWED_HOSTS", "a.example.com,b:1")


def test_what_is_long_or_has_lines_stays_one_short_line(monkeypatch: pytest.MonkeyPatch) -> None:
    told = refusal(monkeypatch, "PORT", "line\n" * 1000)
    assert "\n" not in told
    assert len(told) < 200


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("DATABASE_URL", f"{SECRET}", "no URL"),
        ("DATABASE_URL", f"user:{SECRET}@db/voicehost", "no URL"),
        ("DATABASE_URL", f"mysql://user:{SECRET}@db/voicehost", "'mysql://…@db/voicehost'"),
        ("DATABASE_URL", f"postgres://user:{SECRET}@db:port/x", "'postgres://…@db:port/x'"),
        ("DATABASE_URL", f"postgres://user:{SECRET}@db:5432", "'postgres://…@db:5432'"),
        ("DATABASE_URL", f"postgres://user:1?{SECRET}@db/x", "'postgres://…'"),
        ("DATABASE_URL", f"postgres://db/?password={SECRET}", "'postgres://db/'"),
        ("DATABASE_URL", f"postgres://db/?password=a@{SECRET}", "'postgres://…'"),
        ("REDIS_URL", f"http://:{SECRET}@redis:6379/0", "'http://…@redis:6379/0'"),
        ("REDIS_URL", f"redis://:{SECRET}@redis:6379/zero", "'redis://…@redis:6379/zero'"),
        ("REDIS_URL", f"redis://:1#{SECRET}@redis:6379/0", "'redis://…'"),
        ("REDIS_URL", f"redis://:1/{SECRET}@redis:6379/0", "'redis://…@redis:6379/0'"),
        ("DATABASE_URL", f"postgres://user:{SECRET}/", "'postgres://user:…'"),
        ("DATABASE_URL", f"postgres://user:5{SECRET}/", "'postgres://user:…'"),
        ("DATABASE_URL", f"mysql://user:{SECRET}/5/x", "'mysql://user:…'"),
        ("DATABASE_URL", "mysql://db:3306/x", "'mysql://db:3306/x'"),
        ("DATABASE_URL", "mysql://[::1]:3306/x", "'mysql://[::1]:3306/x'"),
        ("DATABASE_URL", "sqlite://", "'sqlite://'"),
        ("DATABASE_URL", "sqlite:///", "'sqlite:///'"),
        ("DATABASE_URL", "sqlite:///:memory:", "'sqlite:///:memory:'"),
        ("REDIS_URL", f"redis://:{SECRET}", "'redis://:…'"),
        ("REDIS_URL", f"redis://user:{SECRET}/0", "'redis://user:…'"),
        ("REDIS_URL", "redis://:6379/0", "'redis://:…'"),
        ("REDIS_URL", "unix://", "'unix://'"),
        ("REDIS_URL", f"redis://redis/0?db={SECRET}", "'redis://redis/0'"),
    ],
)
def test_a_wrong_address_is_shown_without_its_secrets(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, shown: str
) -> None:
    told = refusal(monkeypatch, name, value)
    assert told.startswith(f"{name} is {shown}, but must be like ")
    assert SECRET not in told


def test_redis_is_the_embedded_one_that_runs_where_none_is_given(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "redis.url").write_text("unix:///somewhere/redis.sock")
    read = environment_read()
    assert (read.redis_given, read.redis_url) == ("", "unix:///somewhere/redis.sock")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:6379/7")
    assert environment_read().redis_url == "redis://127.0.0.1:6379/7"
    monkeypatch.setenv("EMBEDDED_REDIS", "1")
    read = environment_read()
    assert (read.redis_given, read.redis_url) == ("", "unix:///somewhere/redis.sock")


def test_a_key_is_taken_as_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", f"$ {SECRET} ")
    assert environment_read().secret_key == f"$ {SECRET} "


def test_a_file_of_settings_is_read_where_the_environment_says_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("PORT=8002\nHOST=192.0.2.1\n")
    monkeypatch.setattr(env, "ROOT", tmp_path)
    monkeypatch.setenv("HOST", "192.0.2.2")
    monkeypatch.setenv("PORT", "")  # so that it is taken away again
    monkeypatch.delenv("PORT")
    read = environment_read()
    assert (read.port, read.host) == (8002, "192.0.2.2")


@pytest.mark.parametrize("kind", ["folder", "bytes"])
def test_a_file_of_settings_that_cannot_be_read_is_named(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(env, "ROOT", tmp_path)
    if kind == "folder":
        (tmp_path / ".env").mkdir()
    else:
        (tmp_path / ".env").write_bytes(b"PORT=\xff")
    why = "Is a directory" if kind == "folder" else "it is not UTF-8"
    with pytest.raises(ImproperlyConfigured) as raised:
        environment_read()
    assert str(raised.value) == f"{tmp_path / '.env'} cannot be read: {why}"


def test_a_state_folder_that_is_none_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    told = refusal(monkeypatch, "VAR_DIR", str(tmp_path / "file"))
    assert told.startswith("VAR_DIR is ")

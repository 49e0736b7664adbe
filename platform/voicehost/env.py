"""The one place that reads the environment. Every setting is described in `.env.example`."""

import io
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured

from coordination.clipping import clipped
from models_registry.shards.budget import HIGH_WATER
from tts.engines.devices import CPU, device_name
from voicehost.addresses import DATABASE_FORMS, REDIS_FORMS, database_config, redis_url_check
from voicehost.object_storage import (
    ENDPOINT_FORMS,
    STORE_FORMS,
    endpoint_check,
    shard_store_check,
)
from voicehost.state import state_folder_make
from voicehost.variables import Variables, refused

ROOT = Path(__file__).resolve().parent.parent.parent
MOST_PORT = 65_535
MOST_PROCESSES = 256
MOST_LANES = 1024
MOST_GRACE = 24 * 3600
_HOSTS = (re.compile(r"[^\s/:]+|\[[0-9a-fA-F:.]+\]").fullmatch, "host names without scheme or port")
# Apps in a shell of their own have other schemes than the web's.
_ORIGINS = (re.compile(r"[a-z][a-z0-9+.-]*://[^\s/]+").fullmatch, "origins like https://HOST")


@dataclass(frozen=True, slots=True)
class Environment:
    """The settings an operator gives by environment, with their defaults applied.

    `redis_url` is the server in force, `redis_given` the one that was asked for:
    "" where the embedded one is to run. `allowed_hosts` are those beside the machine's
    own. `grace_seconds` is how long what is being spoken may go on once a process is
    told to stop. `shard_memory_limit` is in bytes, 0 for the default; `shard_store` is a
    bucket's URL or a folder. `given` names the variables that were set.
    """

    var_dir: Path
    host: str
    port: int
    database_url: str
    redis_url: str
    redis_given: str
    embedded_redis: bool
    web_processes: int
    synthesis_workers: int
    synthesis_devices: tuple[str, ...]
    asgi_server: str
    secret_key: str
    public_catalogue: bool
    allowed_hosts: tuple[str, ...]
    cors_origins: tuple[str, ...]
    csrf_trusted_origins: tuple[str, ...]
    log_level: str
    log_json: bool
    process_id: str
    supervised: bool
    metrics_port: int
    lanes: int
    shard_memory_limit: int
    shard_high_water: float
    chattts: str
    grace_seconds: int
    shard_store: str
    shard_store_endpoint: str
    shard_store_region: str
    given: frozenset[str]

    @property
    def run_dir(self) -> Path:
        """Where sockets and the addresses of running services are kept."""
        return self.var_dir / "run"


def environment_read() -> Environment:
    """Read the environment; raises ImproperlyConfigured naming what is wrong in it."""
    _dotenv_read(ROOT / ".env")
    read = Variables(os.environ)
    var_dir = Path(read.text("VAR_DIR", str(ROOT / "var"))).expanduser().resolve()
    sqlite = f"sqlite:///{var_dir / 'voicehost.sqlite3'}"
    embedded = read.switch("EMBEDDED_REDIS")
    process_id = read.text("VOICEHOST_PROCESS_ID")
    redis_given = "" if embedded else read.url("REDIS_URL", "", redis_url_check, REDIS_FORMS)
    redis_in_force, secret_key = _kept(var_dir)
    return Environment(
        var_dir=var_dir,
        host=read.text("HOST", "127.0.0.1"),
        port=read.number("PORT", 8000, least=1, most=MOST_PORT),
        database_url=read.url("DATABASE_URL", sqlite, database_config, DATABASE_FORMS),
        redis_url=redis_given or redis_in_force,
        redis_given=redis_given,
        embedded_redis=embedded,
        web_processes=read.number("WEB_PROCESSES", 1, least=1, most=MOST_PROCESSES),
        synthesis_workers=read.number("SYNTHESIS_WORKERS", 1, least=0, most=MOST_PROCESSES),
        synthesis_devices=_devices(read.text("SYNTHESIS_DEVICES", CPU)),
        asgi_server=read.choice("ASGI_SERVER", ("daphne", "uvicorn")),
        secret_key=secret_key,
        public_catalogue=read.switch("PUBLIC_CATALOGUE"),
        allowed_hosts=read.names("ALLOWED_HOSTS", *_HOSTS),
        cors_origins=read.names("CORS_ORIGINS", *_ORIGINS),
        csrf_trusted_origins=read.names("CSRF_TRUSTED_ORIGINS", *_ORIGINS),
        log_level=read.choice("LOG_LEVEL", ("INFO", "DEBUG", "WARNING", "ERROR", "CRITICAL")),
        log_json=read.switch("LOG_JSON"),
        process_id=process_id or secrets.token_hex(6),
        # Only a supervisor gives a process its name, and announces its death under it.
        supervised=bool(process_id),
        metrics_port=read.number("METRICS_PORT", 0, least=0, most=MOST_PORT),
        lanes=read.number("LANES", 0, least=0, most=MOST_LANES),
        shard_memory_limit=read.size("SHARD_MEMORY_LIMIT"),
        shard_high_water=read.share("SHARD_HIGH_WATER", HIGH_WATER),
        chattts=read.text("CHATTTS"),
        grace_seconds=read.number("GRACE_SECONDS", 20, least=0, most=MOST_GRACE),
        shard_store=read.url(
            "SHARD_STORE", str(var_dir / "shards"), shard_store_check, STORE_FORMS
        ),
        shard_store_endpoint=read.url("SHARD_STORE_ENDPOINT", "", endpoint_check, ENDPOINT_FORMS),
        shard_store_region=read.text("SHARD_STORE_REGION"),
        given=frozenset(name for name, value in os.environ.items() if value.strip()),
    )


def _dotenv_read(path: Path) -> None:
    """Have what the file sets, where the environment does not; it need not be there."""
    try:
        content = path.read_text("utf-8")
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as error:
        # The library goes on without what it cannot open.
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ImproperlyConfigured(f"{path} cannot be read: {why}") from error
    environ.Env.read_env(io.StringIO(content))


def _devices(text: str) -> tuple[str, ...]:
    """Their full names, each once: a GPU is one process' own."""
    try:
        devices = tuple(device_name(name.strip()) for name in text.split(","))
    except ValueError:
        devices = ()
    if len(set(devices)) < len(devices) or not devices:
        allowed = "cpu, cuda or cuda:NUMBER, each once, separated by commas"
        raise refused("SYNTHESIS_DEVICES", clipped(text), allowed)
    return devices


def _kept(var_dir: Path) -> tuple[str, str]:
    """What the state folder tells: the URL of the Redis in force, and the secret key."""
    try:
        return _redis_url_in_force(var_dir), _secret_key(var_dir)
    except OSError as error:
        raise refused("VAR_DIR", clipped(str(var_dir)), f"usable ({error})") from error


def _redis_url_in_force(var_dir: Path) -> str:
    """The URL of the server that `serve` started, so that other commands find it."""
    try:
        return (var_dir / "run" / "redis.url").read_text().strip()
    except FileNotFoundError:
        return "redis://127.0.0.1:6379/0"


def _secret_key(var_dir: Path) -> str:
    """The key that was given, as it stands, else the installation's own.

    That is made at the first start and kept with mode 0600.
    """
    given = os.environ.get("SECRET_KEY", "")
    if given.strip():
        return given
    path = var_dir / "secret_key"
    try:
        return path.read_text().strip()
    except FileNotFoundError:
        state_folder_make(var_dir)
    candidate = secrets.token_urlsafe(50)
    draft = path.with_name(f".secret_key.{secrets.token_hex(4)}")
    draft.touch(mode=0o600)
    draft.write_text(candidate)
    try:
        # A hard link is atomic and fails when another process was first.
        path.hardlink_to(draft)
    except FileExistsError:
        candidate = path.read_text().strip()
    finally:
        draft.unlink()
    return candidate

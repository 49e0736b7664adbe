"""The one place that reads the environment. Every setting is described in `.env.example`."""

import secrets
from dataclasses import dataclass
from pathlib import Path

import environ
from django.core.exceptions import ImproperlyConfigured

from tts.engines.devices import device_name
from voicehost.state import state_folder_make

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True, slots=True)
class Environment:
    """The settings an operator gives by environment, with their defaults applied.

    `redis_url` is the server in force, `redis_given` the one that was asked for:
    "" where the embedded one is to run. `allowed_hosts` are those beside the machine's
    own. `given` names the variables that were set.
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
    chattts: str
    given: frozenset[str]

    @property
    def run_dir(self) -> Path:
        """Where sockets and the addresses of running services are kept."""
        return self.var_dir / "run"


def environment_read() -> Environment:
    """Read the environment; raises ImproperlyConfigured naming the variable that is wrong."""
    env = environ.Env()
    dotenv = ROOT / ".env"
    if dotenv.is_file():
        env.read_env(str(dotenv))
    var_dir = Path(env.str("VAR_DIR", default=str(ROOT / "var"))).expanduser().resolve()
    sqlite = f"sqlite:///{var_dir / 'voicehost.sqlite3'}"
    embedded = env.bool("EMBEDDED_REDIS", default=False)
    process_id = env.str("VOICEHOST_PROCESS_ID", default="")
    redis_given = "" if embedded else env.str("REDIS_URL", default="")
    return Environment(
        var_dir=var_dir,
        host=env.str("HOST", default="127.0.0.1"),
        port=env.int("PORT", default=8000),
        database_url=env.str("DATABASE_URL", default="") or sqlite,
        redis_url=redis_given or _redis_url_in_force(var_dir),
        redis_given=redis_given,
        embedded_redis=embedded,
        web_processes=env.int("WEB_PROCESSES", default=1),
        synthesis_workers=env.int("SYNTHESIS_WORKERS", default=1),
        synthesis_devices=_devices(env.list("SYNTHESIS_DEVICES", default=["cpu"])),
        asgi_server=env.str("ASGI_SERVER", default="daphne"),
        secret_key=env.str("SECRET_KEY", default="") or _secret_key(var_dir),
        public_catalogue=env.bool("PUBLIC_CATALOGUE", default=False),
        allowed_hosts=tuple(env.list("ALLOWED_HOSTS", default=[])),
        cors_origins=tuple(env.list("CORS_ORIGINS", default=[])),
        csrf_trusted_origins=tuple(env.list("CSRF_TRUSTED_ORIGINS", default=[])),
        log_level=env.str("LOG_LEVEL", default="INFO").upper(),
        log_json=env.bool("LOG_JSON", default=False),
        process_id=process_id or secrets.token_hex(6),
        # Only a supervisor gives a process its name, and announces its death under it.
        supervised=bool(process_id),
        metrics_port=env.int("METRICS_PORT", default=0),
        lanes=env.int("LANES", default=0),
        chattts=env.str("CHATTTS", default=""),
        given=frozenset(name for name, value in env.ENVIRON.items() if value),
    )


def _devices(names: list[str]) -> tuple[str, ...]:
    """Their full names, each once: a GPU is one process' own."""
    try:
        devices = tuple(device_name(name.strip()) for name in names)
    except ValueError as error:
        raise ImproperlyConfigured(f"SYNTHESIS_DEVICES: {error}") from error
    if len(set(devices)) < len(devices) or not devices:
        raise ImproperlyConfigured(
            f"SYNTHESIS_DEVICES names devices, each once, not {', '.join(devices) or 'none'}"
        )
    return devices


def _redis_url_in_force(var_dir: Path) -> str:
    """The URL of the server that `serve` started, so that other commands find it."""
    try:
        return (var_dir / "run" / "redis.url").read_text().strip()
    except FileNotFoundError:
        return "redis://127.0.0.1:6379/0"


def _secret_key(var_dir: Path) -> str:
    """The installation's own key, made at the first start and kept with mode 0600."""
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

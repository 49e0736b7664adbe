"""URLs of the database and of Redis: checked, and shown without what may be secret in them."""

import re
from typing import Any
from urllib.parse import quote, urlsplit

import environ
from redis.connection import parse_url

from coordination.clipping import clipped

DATABASE_SCHEMES = ("postgres", "postgresql", "sqlite")
DATABASE_FORMS = "like postgres://USER:PASSWORD@HOST:PORT/NAME or sqlite:///PATH"
REDIS_FORMS = "like redis://:PASSWORD@HOST:PORT/NUMBER, rediss://… or unix://PATH"
# A path, or a host with or without its port: what may stand where no account is.
_PLACE = re.compile(r"((\[[0-9a-fA-F:.]+\]|[^:/]+)(:\d{1,5})?)?(/|\Z)")


def url_shown(url: str) -> str:
    """The URL, quoted, without its account and its query, where passwords may be.

    What follows a colon is one as well where it is no port after a host: its @ was forgotten.
    """
    scheme, there, rest = url.partition("://")
    if not there:
        # Where its parts are cannot be told, nor which of them is the password.
        return "no URL"
    account, at, place = rest.rpartition("@")
    if "?" in account or "#" in account:
        # That @ may stand in the query.
        at, place = "", "…"
    place = re.split("[?#]", place)[0]
    if not at and not _PLACE.match(place):
        place = f"{place.partition(':')[0]}:…"
    return clipped(f"{scheme}://{'…@' if at else ''}{place}")


def database_config(url: str) -> dict[str, Any]:
    """Django's settings for the database; raises ValueError where the URL gives none."""
    scheme, there, _ = url.partition("://")
    if not there or scheme not in DATABASE_SCHEMES:
        raise ValueError("it names no database that is supported")
    config: dict[str, Any] = environ.Env.db_url_config(url)
    if not config.get("NAME"):
        raise ValueError("it does not name a database on that server")
    if scheme == "sqlite" and ":memory:" in config["NAME"]:
        raise ValueError("each process would have a database of its own")
    return config


def redis_url_check(url: str) -> None:
    """Raise ValueError where it names no server, or a database that is no number.

    The library takes what is missing or unknown for its defaults: database 0 of a server
    on this machine.
    """
    options: dict[str, Any] = parse_url(url)  # type: ignore[no-untyped-call]  # of the library
    if "path" not in options and "host" not in options:
        raise ValueError("it names no server")
    if "host" in options and urlsplit(url).path.strip("/") and "db" not in options:
        raise ValueError("the database is a number")


def celery_broker_url(redis_url: str) -> str:
    """The same server and database as Celery wants them: its sockets are URLs of another form."""
    if urlsplit(redis_url).scheme != "unix":
        return redis_url
    options: dict[str, Any] = parse_url(redis_url)  # type: ignore[no-untyped-call]  # of the library
    account = ":".join(quote(options.get(name) or "", "") for name in ("username", "password"))
    at = f"{account}@" if account != ":" else ""
    return f"redis+socket://{at}{options['path']}?virtual_host={options.get('db', 0)}"

"""A connection that the database closed is dropped, not used for ever."""

from collections.abc import Awaitable, Callable

import pytest

from coordination.epoch import ConfigCache
from models_registry.errors import RouteNotFound
from models_registry.selectors import models_listed, route, versions_with_weight
from monitoring.health import database_answers
from tests.epoch import Epoch
from tts.selectors import voices_listed

pytestmark = pytest.mark.django_db


async def _route() -> None:
    with pytest.raises(RouteNotFound):
        await route("tts-9", "key", cache=ConfigCache(read_epoch=Epoch().read))


@pytest.mark.parametrize(
    "read", [versions_with_weight, models_listed, _route, voices_listed, database_answers]
)
async def test_each_look_drops_what_the_database_closed(
    read: Callable[..., Awaitable[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    await versions_with_weight()
    looks = 0

    def note(**_: object) -> None:
        nonlocal looks
        looks += 1

    monkeypatch.setattr("channels.db.close_old_connections", note)
    arguments = (None,) if read is voices_listed else ()
    await read(*arguments)
    assert looks >= 2  # before and after the query

"""Splits are set and shown from the command line, with helpful errors."""

import json

import pytest
from django.core.management import CommandError, call_command

from coordination.command import os_user
from models_registry.models import Route, RouteEvent
from models_registry.selectors import route_weights
from models_registry.services import route_create, route_set
from tests.models_registry.registering import VersionMaker


@pytest.fixture
def split(version_make: VersionMaker) -> None:
    """Route tts-1 on demo@1; demo@2 and other@9 beside it."""
    version_make("1")
    version_make("2")
    version_make("9", model="other")
    version_make("2", model="other")
    route_create(name="tts-1")
    route_create(name="new")
    route_set("tts-1", {"demo@1": 1}, "test")


@pytest.mark.usefixtures("split")
def test_split_is_set(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("route_set", "tts-1", "demo@1=90", "demo@2=10", "--note", "canary")
    assert route_weights("tts-1") == {"demo@1": 90, "demo@2": 10}
    event = RouteEvent.objects.first()
    assert event is not None
    assert event.note == "canary"
    assert event.actor == f"command:route_set by {os_user()}"
    assert "tts-1: demo@2 10 (10 %)" in capsys.readouterr().out


@pytest.mark.usefixtures("split")
def test_version_alone_is_enough_where_it_is_plain() -> None:
    call_command("route_set", "tts-1", "2=1")
    assert route_weights("tts-1") == {"demo@2": 1}
    call_command("route_set", "new", "9=1")
    assert route_weights("new") == {"other@9": 1}


@pytest.mark.usefixtures("split")
def test_name_without_a_route_gets_one(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("route_set", "mine", "other@9=1")
    made, split = capsys.readouterr().out.splitlines()
    assert made == "mine: a new route, public, without a quality tier"
    assert split == "mine: other@9 1 (100 %)"
    route = Route.objects.get(name="mine")
    assert (route.is_public, route.default_tier) == (True, None)
    call_command("route_set", "mine", "demo@1=1")
    assert "new route" not in capsys.readouterr().out


@pytest.mark.usefixtures("split")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tts-1", "demo@1"], "'demo@1' is not VERSION=WEIGHT"),
        (["tts-1", "demo@1=half"], "whole number of 0 to 10000"),
        (["tts-1", "demo@1=-1"], "whole number of 0 to 10000"),
        (["tts-1", "demo@1=1", "demo@1=2"], "named twice"),
        (["tts-1", "demo@1=1", "1=2"], "named twice"),
        (["tts-1", "demo@7=1"], "no version 'demo@7'; known: demo@1, demo@2, other@9, other@2."),
        (["tts-1", "demo@1=0"], "needs a weight above 0"),
        (["new", "2=1"], "needs its model, as model@version; known: demo@2, other@2"),
        (["tts-9", "demo@7=1"], "no version 'demo@7'"),
        (["tts/9", "demo@1=1"], "Use Latin letters, digits"),
    ],
)
def test_wrong_arguments_are_explained(arguments: list[str], message: str) -> None:
    with pytest.raises(CommandError) as caught:
        call_command("route_set", *arguments)
    assert message in str(caught.value)
    assert route_weights("tts-1") == {"demo@1": 1}
    assert Route.objects.count() == 2


@pytest.mark.usefixtures("split")
def test_splits_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("route_show")
    assert capsys.readouterr().out.splitlines() == ["new: no weights", "tts-1: demo@1 1 (100 %)"]
    call_command("route_show", "tts-1", "--json")
    assert json.loads(capsys.readouterr().out) == {"tts-1": {"demo@1": 1}}
    call_command("route_show", "tts-1", "--at", "2020-01-01T00:00:00")
    assert capsys.readouterr().out.splitlines() == ["tts-1: no weights"]


@pytest.mark.usefixtures("split")
def test_showing_an_unknown_route_fails() -> None:
    with pytest.raises(CommandError, match="available: new, tts-1"):
        call_command("route_show", "tts-9")

"""The platform's own address leads on, and its release is the package's."""

from importlib.metadata import PackageNotFoundError, version

import pytest
from django.test import Client

from voicehost import release as release_module
from voicehost.api import api
from voicehost.release import release


def test_it_leads_to_admin_api_and_health() -> None:
    answer = Client().get("/")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/html")
    page = answer.content.decode()
    for link in ("/v1/docs", "/admin/", "/readyz"):
        assert f'href="{link}"' in page
    assert f"Voicehost {version('voicehost')}" in page


def test_it_is_only_read() -> None:
    assert Client().head("/").status_code == 200
    answer = Client().post("/")
    assert answer.status_code == 405
    assert answer.json()["error"]["code"] == "method_not_allowed"


def test_the_api_says_which_release_it_is() -> None:
    assert api.version == release() == version("voicehost")


def test_code_that_is_not_installed_has_no_release(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(release_module, "version", missing)
    assert release() == "0"

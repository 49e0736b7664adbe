"""Every page has the platform's icon, which the platform itself serves."""

from contextlib import closing

import pytest
from django.test import Client

pytestmark = pytest.mark.django_db

ICON = "/static/voicehost/favicon.svg"


@pytest.mark.parametrize("page", ["/", "/v1/docs", "/admin/login/"])
def test_pages_have_the_icon(page: str) -> None:
    found = Client().get(page).content.decode()
    assert found.count('rel="icon"') == 1
    assert f'<link rel="icon" href="{ICON}" type="image/svg+xml"' in found


def test_browsers_that_look_for_it_find_it() -> None:
    client = Client()
    answer = client.get("/favicon.ico")
    assert (answer.status_code, answer["Location"]) == (302, ICON)
    with closing(client.get(ICON)) as icon:
        assert (icon.status_code, icon["Content-Type"]) == (200, "image/svg+xml")

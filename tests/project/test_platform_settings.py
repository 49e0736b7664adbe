"""The platform's settings: one row, opened at once, changed through the service."""

import pytest
from django.db import IntegrityError
from django.test import Client
from pytest_django import Settings

from voicehost.models import PlatformSettings
from voicehost.services import platform_settings_update


@pytest.fixture(autouse=True)
def no_collected_static_files(settings: Settings) -> None:
    settings.WHITENOISE_AUTOREFRESH = True


def test_switch_is_changed_in_the_admin(admin_client: Client) -> None:
    response = admin_client.get("/admin/voicehost/platformsettings/", follow=True)
    assert response.status_code == 200
    assert response.redirect_chain[-1][0].endswith("/1/change/")
    admin_client.post(response.redirect_chain[-1][0], {"public_catalogue": "on"})
    assert PlatformSettings.objects.get().public_catalogue


def test_there_is_nothing_to_add_or_delete(admin_client: Client) -> None:
    assert admin_client.get("/admin/voicehost/platformsettings/add/").status_code == 403
    platform_settings_update(public_catalogue=False)
    url = "/admin/voicehost/platformsettings/1/delete/"
    assert admin_client.post(url, {"post": "yes"}).status_code == 403


@pytest.mark.django_db
def test_a_second_row_is_refused() -> None:
    with pytest.raises(IntegrityError):
        PlatformSettings.objects.create(pk=2)

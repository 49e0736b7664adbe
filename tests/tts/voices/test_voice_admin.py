"""Operators edit voices in the admin, within what the services allow."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tenants.models import Tenant
from tts.models import Voice

ADD = "admin:tts_voice_add"


@pytest.fixture
def heart(kokoro: None) -> Voice:
    """A public voice."""
    return Voice.objects.get(name="af_heart")


def form_of(voice: Voice, **changes: Any) -> dict[str, Any]:
    """What the change form would post."""
    return {
        "display_name": voice.display_name,
        "speaker": voice.speaker,
        "languages": "en",
        "companion": voice.companion.pk if voice.companion else "",
        "gain_db": voice.gain_db,
        "aliases": "alloy",
        "preview_text": voice.preview_text,
        "is_active": "on",
    } | changes


def test_voice_is_changed(heart: Voice, admin_client: Client) -> None:
    change = reverse("admin:tts_voice_change", args=[heart.pk])
    assert admin_client.get(change).status_code == 200
    assert admin_client.post(change, form_of(heart, gain_db="-1.5")).status_code == 302
    heart.refresh_from_db()
    assert (heart.name, heart.gain_db, heart.aliases) == ("af_heart", -1.5, ["alloy"])
    assert heart.companion is not None


def test_voice_is_added(heart: Voice, admin_client: Client) -> None:
    data = form_of(heart, name="house", engine="kokoro", tenant_id="", aliases="casa")
    assert admin_client.get(reverse(ADD)).status_code == 200
    assert admin_client.post(reverse(ADD), data).status_code == 302
    assert Voice.objects.get(name="house").speaker == "af_heart"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"languages": " \n"}, "required"),
        ({"languages": "English"}, "at least one tag"),
        ({"aliases": "ash\n"}, "used more than once"),
        ({"gain_db": "99"}, "less than or equal to 24"),
    ],
)
def test_wrong_voice_is_shown_on_the_form(
    heart: Voice, admin_client: Client, changes: dict[str, Any], message: str
) -> None:
    change = reverse("admin:tts_voice_change", args=[heart.pk])
    answer = admin_client.post(change, form_of(heart, **changes))
    assert answer.status_code == 200
    assert message in answer.content.decode()
    heart.refresh_from_db()
    assert "nova" in heart.aliases


def test_new_voice_of_a_tenant_is_shown_with_its_name(heart: Voice, admin_client: Client) -> None:
    tenant = Tenant.objects.create(slug="acme", name="Acme")
    data = form_of(heart, name="house", engine="kokoro", tenant_id=str(tenant.pk), aliases="")
    assert admin_client.post(reverse(ADD), data).status_code == 302
    assert Voice.objects.get(name="house").tenant_id == tenant.pk
    listed = admin_client.get(reverse("admin:tts_voice_changelist"), {"q": "house"})
    assert "acme" in listed.content.decode()


def test_voices_are_listed_and_taken_out_of_use(heart: Voice, admin_client: Client) -> None:
    listed = reverse("admin:tts_voice_changelist")
    assert "af_heart" in admin_client.get(listed, {"q": "heart"}).content.decode()
    data = {"action": "deactivate", "_selected_action": [heart.pk]}
    admin_client.post(listed, data)
    assert not Voice.objects.get(pk=heart.pk).is_active
    admin_client.post(listed, data | {"action": "activate"})
    assert Voice.objects.get(pk=heart.pk).is_active
    assert admin_client.get(reverse("admin:tts_voice_delete", args=[heart.pk])).status_code == 403

"""Operators make voices of their own in the admin: seeds, ChatTTS' strings, and recordings."""

from pathlib import Path
from typing import Any

import pytest
from auditlog.models import LogEntry
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from tenants.models import Tenant
from tests.tts.api.own_voices.material import (
    CONSENT,
    TRANSCRIPT,
    embedding,
    recording,
    sample,
)
from tts import forms
from tts.engines.chattts.random_checkpoint import RandomCheckpoint, Size
from tts.engines.chattts.voice import Recording, Seed, material_unpack
from tts.models import Voice, VoiceOrigin
from tts.services import chattts_import, voice_deactivate

ADD = "admin:tts_voice_add"
LIST = "admin:tts_voice_changelist"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny ChatTTS checkpoint."""
    folder = tmp_path_factory.mktemp("admin-voices") / "tiny"
    RandomCheckpoint(Size.TINY).write(folder)
    return folder


@pytest.fixture
def chattts(db: None, checkpoint: Path) -> None:
    """A usable ChatTTS version."""
    chattts_import(str(checkpoint), "1")


@pytest.fixture
def acme(db: None) -> Tenant:
    """A tenant."""
    return Tenant.objects.create(slug="acme", name="Acme")


def fields(**changes: Any) -> dict[str, Any]:
    """What the form for a new voice would post, but for what it is made from."""
    return {
        "name": "anna", "display_name": "Anna", "tenant_id": "", "engine": "chattts", "speaker": "",
        "languages": "zh\nen", "companion": "", "gain_db": "0", "aliases": "", "preview_text": "",
        "consent": "", "is_active": "on", "seed": "", "embedding": "", "sample": "",
        "transcript": "",
    } | changes  # fmt: skip


def file(content: bytes) -> SimpleUploadedFile:
    return SimpleUploadedFile("anna.wav", content, "audio/wav")


def recorded(**changes: Any) -> dict[str, Any]:
    """The form with a recording."""
    made = {"recording": file(recording()), "transcript": TRANSCRIPT, "consent": CONSENT}
    return fields(**(made | changes))


@pytest.mark.usefixtures("chattts")
def test_seed_becomes_a_public_voice(admin_client: Client) -> None:
    page = admin_client.get(reverse(ADD)).content.decode()
    for help_text in ("the same number is the same voice", "spk_emb", "one person speaks: WAV"):
        assert help_text in page
    assert 'enctype="multipart/form-data"' in page
    assert admin_client.post(reverse(ADD), fields(seed="42")).status_code == 302
    voice = Voice.objects.get(name="anna")
    assert (voice.origin, voice.tenant_id, voice.speaker) == (VoiceOrigin.SEED, None, "anna")
    assert material_unpack(bytes(voice.payload or b"")) == Seed(42)


@pytest.mark.usefixtures("chattts")
def test_strings_of_chattts_become_a_tenants_voices(admin_client: Client, acme: Tenant) -> None:
    said = {"transcript": TRANSCRIPT, "consent": CONSENT}
    for name, made in (("e", {"embedding": embedding()}), ("s", {"sample": sample(), **said})):
        data = fields(name=name, tenant_id=str(acme.pk), **made)
        assert admin_client.post(reverse(ADD), data).status_code == 302
    found = Voice.objects.filter(tenant_id=acme.pk).order_by("name")
    assert [voice.origin for voice in found] == [VoiceOrigin.EMBEDDING, VoiceOrigin.SAMPLE]


@pytest.mark.usefixtures("chattts")
def test_recording_is_kept_with_who_recorded_the_consent(admin_client: Client) -> None:
    assert admin_client.post(reverse(ADD), recorded()).status_code == 302
    voice = Voice.objects.get(name="anna")
    material = material_unpack(bytes(voice.payload or b""))
    assert isinstance(material, Recording)
    assert material.transcript == TRANSCRIPT
    assert (voice.consent, voice.consent_by) == (CONSENT, "admin")
    assert voice.consent_at is not None
    change = reverse("admin:tts_voice_change", args=[voice.pk])
    page = admin_client.get(change).content.decode()
    assert CONSENT in page
    assert "Consent recorded by" in page
    assert TRANSCRIPT not in page
    entry = LogEntry.objects.get_for_object(voice).get()
    assert entry.actor is not None
    assert entry.actor.get_username() == "admin"
    assert entry.changes_dict["consent"] == ["None", CONSENT]
    assert "payload" not in entry.changes_dict


@pytest.mark.usefixtures("chattts")
def test_wrong_material_is_told_beside_its_field(
    admin_client: Client, subtests: pytest.Subtests, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases: list[tuple[dict[str, Any], str, str]] = [
        (fields(), "seed", "exactly one of seed, embedding, sample and recording"),
        (fields(seed="1", embedding=embedding()), "embedding", "exactly one"),
        (fields(seed="-1"), "seed", "greater than or equal to 0"),
        (fields(seed="many"), "seed", "whole number"),
        (fields(embedding="hello"), "embedding", "not of base16384"),
        (fields(sample=embedding(), transcript=TRANSCRIPT, consent=CONSENT), "sample", "spk_emb"),
        (recorded(transcript=""), "transcript", "the words that are spoken"),
        (recorded(consent=""), "consent", "who agreed"),
        (recorded(recording=file(b"no audio")), "recording", "send WAV, FLAC"),
        (recorded(recording=file(recording(1.0))), "recording", "2 to 8 are taken"),
        (recorded(recording=file(b"")), "recording", "empty"),
        (fields(seed="1", engine="kokoro"), "engine", "Only the engine chattts speaks with a seed"),
        (fields(engine="kokoro"), "speaker", "Which speaker of the model"),
        (fields(seed="1", aliases="anna"), "aliases", "used more than once"),
        (fields(seed="1", name="chattts_1"), "name", "used more than once"),
        (fields(seed="1", name="an na"), "name", "Use Latin letters, digits"),
    ]
    for data, field, message in cases:
        with subtests.test(f"{field} {message}"):
            check_refused(admin_client, data, field, message)
    with subtests.test("large"):
        monkeypatch.setattr(forms, "MAX_RECORDING_BYTES", 1_000)
        check_refused(admin_client, recorded(), "recording", "larger than 1,000 bytes")


def check_refused(client: Client, data: dict[str, Any], field: str, message: str) -> None:
    answer = client.post(reverse(ADD), data)
    assert answer.status_code == 200
    errors = answer.context["adminform"].form.errors
    assert set(errors) == {field}
    assert message in str(errors[field][0])
    assert message in answer.content.decode().replace("&#x27;", "'")
    assert not Voice.objects.filter(name__in=["anna", "an na"]).exists()


def test_without_chattts_there_is_nothing_to_make_it_for(admin_client: Client) -> None:
    answer = admin_client.post(reverse(ADD), fields(seed="1"))
    assert "speaks with own voices" in answer.content.decode()


@pytest.mark.usefixtures("chattts")
def test_list_is_filtered_by_origin_and_tenant(admin_client: Client, acme: Tenant) -> None:
    admin_client.post(reverse(ADD), fields(seed="1", tenant_id=str(acme.pk)))
    for query, count in (
        ({"tenant": str(acme.pk)}, 1),
        ({"tenant": "public"}, 8),
        ({"tenant": "nobody"}, 9),
        ({"origin__exact": "seed"}, 9),
        ({"origin__exact": "recording"}, 0),
        ({"tenant": str(acme.pk), "is_active__exact": "0"}, 0),
    ):
        page = admin_client.get(reverse(LIST), query)
        assert page.context["cl"].result_count == count
    assert "acme" in admin_client.get(reverse(LIST)).content.decode()


@pytest.mark.usefixtures("chattts")
def test_consent_that_is_rewritten_is_its_writers(admin_client: Client, acme: Tenant) -> None:
    admin_client.post(reverse(ADD), recorded(tenant_id=str(acme.pk)))
    Voice.objects.filter(name="anna").update(consent_by="vh_abcdefgh")
    voice = Voice.objects.get(name="anna")
    change = reverse("admin:tts_voice_change", args=[voice.pk])
    data = fields(speaker="anna", consent=CONSENT, seed="7", preview_text="Hello.")
    assert admin_client.post(change, data).status_code == 302
    after = Voice.objects.get(pk=voice.pk)
    # What a voice was made from stays, whatever is posted, and so does whose the consent is.
    assert (after.payload, after.origin) == (voice.payload, VoiceOrigin.RECORDING)
    assert (after.consent_by, after.consent_at) == ("vh_abcdefgh", voice.consent_at)
    admin_client.post(change, data | {"consent": f"{CONSENT}, and again by mail"})
    assert Voice.objects.get(pk=voice.pk).consent_by == "admin"
    answer = admin_client.post(change, data | {"consent": ""})
    assert "who agreed" in answer.content.decode()


@pytest.mark.usefixtures("chattts")
def test_tenants_voice_is_deleted_with_its_recording(admin_client: Client, acme: Tenant) -> None:
    admin_client.post(reverse(ADD), recorded(tenant_id=str(acme.pk)))
    voice = Voice.objects.get(name="anna")
    delete = reverse("admin:tts_voice_delete", args=[voice.pk])
    assert admin_client.get(delete).status_code == 200
    assert admin_client.post(delete, {"post": "yes"}).status_code == 302
    assert not Voice.objects.filter(name="anna").exists()
    entry = LogEntry.objects.filter(object_repr="anna", action=LogEntry.Action.DELETE).get()
    assert entry.changes_dict["consent"] == [CONSENT, "None"]
    public = Voice.objects.get(name="chattts_1")
    assert admin_client.post(reverse("admin:tts_voice_delete", args=[public.pk])).status_code == 403


@pytest.mark.usefixtures("chattts")
def test_audit_log_names_the_key_or_the_operator(admin_client: Client) -> None:
    admin_client.post(reverse(ADD), fields(seed="1"))
    voice = Voice.objects.get(name="anna")
    data = {"action": "deactivate", "_selected_action": [voice.pk]}
    admin_client.post(reverse(LIST), data)
    voice_deactivate(voice, changed_by="vh_abcdefgh")
    log = reverse("admin:auditlog_logentry_changelist")
    page = admin_client.get(log, {"q": "anna"}).content.decode()
    assert "Active: True → False" in page
    voice.refresh_from_db()
    voice.is_active = True
    voice.changed_by = "vh_abcdefgh"
    voice.save()
    assert "key vh_abcdefgh" in admin_client.get(log, {"q": "anna"}).content.decode()

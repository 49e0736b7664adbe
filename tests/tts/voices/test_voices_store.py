"""Voices are stored through services, which refuse what would be ambiguous or leak."""

from dataclasses import replace
from uuid import uuid4

import pytest
from auditlog.models import LogEntry
from django.db import IntegrityError, transaction

from tests.tts.voices.seeds import KOKORO
from tts.errors import VoiceInvalid
from tts.models import Voice, VoiceOrigin
from tts.services import (
    VoiceDraft,
    voice_create,
    voice_deactivate,
    voice_update,
    voices_sync,
)
from tts.voice_catalogue import tone_voices

TENANT = uuid4()
DRAFT = VoiceDraft(name="v", engine="kokoro", languages=("en",), aliases=("other",))


def test_voice_is_created_changed_and_taken_out_of_use(db: None) -> None:
    voice = voice_create(DRAFT)
    assert (voice.speaker, voice.display_name, voice.is_active) == ("v", "v", True)
    voice_update(voice, lambda draft: replace(draft, gain_db=-2.0, aliases=()))
    voice.refresh_from_db()
    assert (voice.gain_db, voice.aliases) == (-2.0, [])
    voice_deactivate(voice)
    assert not Voice.objects.get(name="v").is_active


def test_change_keeps_what_others_changed_since_it_was_read(db: None) -> None:
    voice = voice_create(DRAFT)
    stale = Voice.objects.get(pk=voice.pk)
    voice_update(voice, lambda draft: replace(draft, gain_db=-2.0))
    voice_update(stale, lambda draft: replace(draft, preview_text="Hello."))
    voice.refresh_from_db()
    assert (voice.gain_db, voice.preview_text) == (-2.0, "Hello.")


def test_changes_are_audited(db: None) -> None:
    voice = voice_create(DRAFT)
    voice_update(voice, lambda draft: replace(draft, gain_db=1.5))
    entry = LogEntry.objects.get_for_object(voice).filter(action=LogEntry.Action.UPDATE).get()
    assert entry.changes == {"gain_db": ["0.0", "1.5"]}


@pytest.mark.parametrize(
    ("draft", "message"),
    [
        (replace(DRAFT, languages=()), "languages: expected"),
        (replace(DRAFT, languages=("English",)), "languages: expected"),
        (replace(DRAFT, aliases=("../x",)), "aliases: expected"),
        (replace(DRAFT, aliases=("a", "a")), "names a are used more than once"),
        (replace(DRAFT, aliases=("v",)), "names v are used more than once"),
        (replace(DRAFT, name="../x"), "Use Latin letters"),
        (replace(DRAFT, gain_db=40.0), "24"),
        (replace(DRAFT, payload=b"x" * 65_537), "payload: at most 65536 bytes"),
    ],
)
def test_wrong_voice_is_refused(db: None, draft: VoiceDraft, message: str) -> None:
    with pytest.raises(VoiceInvalid) as caught:
        voice_create(draft)
    assert message in caught.value.message


@pytest.mark.parametrize(
    "second",
    [
        replace(DRAFT, aliases=()),
        replace(DRAFT, name="w"),
        replace(DRAFT, name="other", aliases=()),
        replace(DRAFT, name="w", aliases=("v",)),
    ],
)
def test_names_and_aliases_are_unique_among_public_voices(db: None, second: VoiceDraft) -> None:
    voice_create(DRAFT)
    with pytest.raises(VoiceInvalid, match="used more than once"):
        voice_create(second)


def test_names_are_free_for_another_tenant_and_aliases_for_another_engine(db: None) -> None:
    voice_create(DRAFT)
    voice_create(replace(DRAFT, tenant_id=TENANT))
    voice_create(replace(DRAFT, name="w", engine="tone"))
    with pytest.raises(VoiceInvalid):
        voice_create(replace(DRAFT, tenant_id=TENANT, aliases=()))


def test_companion_must_be_reachable(db: None) -> None:
    foreign = voice_create(replace(DRAFT, tenant_id=TENANT))
    tone = voice_create(replace(DRAFT, name="t", engine="tone"))
    for companion, message in ((foreign, "same tenant"), (tone, "is of engine 'tone'")):
        with pytest.raises(VoiceInvalid, match=message):
            voice_create(replace(DRAFT, companion=companion))
    own = voice_create(DRAFT)
    with pytest.raises(VoiceInvalid, match="its own companion"):
        voice_update(own, lambda draft: replace(draft, companion=own))


def test_engine_and_tenant_stay(db: None) -> None:
    voice = voice_create(DRAFT)
    with pytest.raises(VoiceInvalid, match="cannot be changed"):
        voice_update(voice, lambda draft: replace(draft, tenant_id=TENANT))


def test_sync_twice_changes_nothing_and_keeps_what_operators_changed(db: None) -> None:
    assert len(voices_sync("kokoro", KOKORO)) == 8
    heart = Voice.objects.get(name="af_heart")
    voice_update(heart, lambda draft: replace(draft, gain_db=1.0, aliases=("alloy",)))
    assert voices_sync("kokoro", KOKORO) == ()
    heart.refresh_from_db()
    assert (heart.gain_db, heart.aliases) == (1.0, ["alloy"])


def test_sync_leaves_an_alias_to_whom_has_it(db: None) -> None:
    voice_create(replace(DRAFT, name="house", aliases=("alloy",)))
    voices_sync("kokoro", KOKORO)
    assert Voice.objects.get(name="house").aliases == ["alloy"]
    assert "alloy" not in Voice.objects.get(name="af_heart").aliases


def test_sync_refuses_a_voice_of_another_engine(db: None) -> None:
    voices_sync("tone", tone_voices())
    with pytest.raises(VoiceInvalid, match="belongs to engine 'tone'"):
        voices_sync("kokoro", tone_voices())


@pytest.mark.django_db
@pytest.mark.parametrize("origin", [VoiceOrigin.SAMPLE, VoiceOrigin.RECORDING])
def test_voice_of_a_real_person_needs_consent(origin: VoiceOrigin) -> None:
    draft = VoiceDraft(name="anna", engine="chattts", languages=("en",), origin=origin)
    with pytest.raises(VoiceInvalid, match="who agreed") as caught:
        voice_create(replace(draft, consent="  "))
    assert caught.value.param == "consent"
    voice = voice_create(replace(draft, consent="Anna, by letter of 2026-01-02", changed_by="key"))
    assert voice.consent == "Anna, by letter of 2026-01-02"
    with pytest.raises(IntegrityError), transaction.atomic():
        Voice.objects.filter(pk=voice.pk).update(consent="")


@pytest.mark.django_db
def test_audit_log_says_whose_key_changed_a_voice() -> None:
    voice = voice_create(
        VoiceDraft(name="anna", engine="chattts", languages=("en",), changed_by="vh_abcd")
    )
    voice_deactivate(voice, changed_by="vh_efgh")
    entries = LogEntry.objects.get_for_object(voice).order_by("id")
    assert [entry.additional_data for entry in entries] == [
        {"changed_by": "vh_abcd"},
        {"changed_by": "vh_efgh"},
    ]

"""Consent is on record with who gave it to us and when; what was said stays out of every log."""

import logging
from datetime import UTC, datetime
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from auditlog.models import LogEntry

from tests.tts.api.own_voices.conftest import PATH, OwnVoices
from tests.tts.api.own_voices.material import CONSENT, embedding, recording, sample
from tts.models import Voice, VoiceOrigin
from tts.services import own_voices

TRANSCRIPT = "The heron waits quietly."
SECRETS = ("heron", "RIFF", "OggS", embedding()[:8], sample()[:8])


@sync_to_async
def audit() -> list[dict[str, Any]]:
    """The audit log's entries of the voice anna, oldest first."""
    entries = LogEntry.objects.filter(object_repr="anna").order_by("id")
    return [
        {"action": entry.get_action_display(), "by": entry.additional_data, **entry.changes_dict}
        for entry in entries
    ]


async def test_consent_says_who_and_when(own: OwnVoices) -> None:
    before = datetime.now(UTC)
    recorded = {"recording": recording(), "transcript": TRANSCRIPT, "consent": f" {CONSENT} "}
    assert (await own.upload({"name": "anna", **recorded})).status_code == 201
    voice = await Voice.objects.aget(name="anna")
    prefix = own.api.key[:11]
    assert (voice.origin, voice.consent, voice.consent_by) == (
        VoiceOrigin.RECORDING, CONSENT, prefix,
    )  # fmt: skip
    assert voice.consent_at is not None
    assert before <= voice.consent_at <= datetime.now(UTC)
    (made,) = await audit()
    assert (made["action"], made["by"]) == ("create", {"changed_by": prefix})
    assert made["consent"] == ["None", CONSENT]
    assert made["consent_by"] == ["None", prefix]
    assert made["digest"][1] == voice.digest
    assert "payload" not in made


async def test_deleted_voice_leaves_its_consent_on_record_and_nothing_else(own: OwnVoices) -> None:
    recorded = {"recording": recording(), "transcript": TRANSCRIPT, "consent": CONSENT}
    await own.upload({"name": "anna", **recorded})
    await own.api.delete(f"{PATH}/anna")
    assert not await Voice.objects.filter(name="anna").aexists()
    entries = await audit()
    assert [entry["action"] for entry in entries] == ["create", "delete"]
    assert entries[1]["by"] == {"changed_by": own.api.key[:11]}
    assert entries[1]["consent"] == [CONSENT, "None"]
    assert not any(secret in str(entries) for secret in SECRETS)


async def test_voice_without_a_person_has_no_consent(own: OwnVoices) -> None:
    await own.make("anna", seed=1)
    voice = await Voice.objects.aget(name="anna")
    assert (voice.consent, voice.consent_by, voice.consent_at) == ("", "", None)


@pytest.mark.parametrize("broken", [False, True])
async def test_nothing_that_was_said_or_sent_is_logged(
    own: OwnVoices,
    broken: bool,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if broken:

        def fail(draft: object) -> None:
            raise RuntimeError(f"cannot store {draft}")

        monkeypatch.setattr(own_voices, "voice_create", fail)
    caplog.set_level(logging.DEBUG)
    said = {"transcript": TRANSCRIPT, "consent": CONSENT}
    answers = [
        await own.upload({"name": "anna", "recording": recording(), **said}),
        await own.upload({"name": "bad", "recording": b"RIFF heron", **said}),
        await own.upload({"name": "bad", "recording": recording(), **said, "heron": "heron"}),
        await own.make("emma", embedding=embedding()),
        await own.make("sam", sample=sample(), **said),
        await own.make("bad", sample=sample() + "x", **said),
        await own.make("bad", embedding=embedding() + "heron", **said),
    ]
    statuses = [answer.status_code for answer in answers]
    worked = 500 if broken else 201
    assert statuses == [worked, 400, 400, worked, worked, 400, 400]
    output = capfd.readouterr()
    logged = output.out + output.err + caplog.text
    assert "request_finished" in logged
    for secret in (*SECRETS, CONSENT):
        assert secret not in logged
    if broken:
        assert answers[0].json()["error"]["message"] == "An internal error occurred."
        assert "RuntimeError" in logged

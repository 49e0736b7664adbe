"""An own voice is its tenant's alone, and making one needs the scope `voices`."""

from typing import Any

from tests.tts.api.own_voices.conftest import PATH, OwnVoices
from tts.models import Voice


def refused(answer: Any, status: int, code: str) -> None:
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


async def test_another_tenant_neither_sees_nor_deletes_it(own: OwnVoices) -> None:
    await own.make("anna", seed=1)
    assert "anna" in await own.listed()
    assert "anna" not in await own.listed(own.other)
    refused(await own.api.get(f"{PATH}/anna", key=own.other), 404, "voice_not_found")
    refused(await own.api.delete(f"{PATH}/anna", key=own.other), 404, "voice_not_found")
    assert "anna" in await own.listed()


async def test_both_may_have_one_of_the_same_name(own: OwnVoices) -> None:
    assert (await own.make("anna", seed=1, display_name="Mine")).status_code == 201
    answer = await own.make("anna", key=own.other, seed=2, display_name="Theirs")
    assert answer.status_code == 201
    assert (await own.api.delete(f"{PATH}/anna", key=own.other)).status_code == 200
    assert (await own.api.get(f"{PATH}/anna")).json()["name"] == "Mine"


async def test_own_voice_hides_a_public_one_of_its_name(own: OwnVoices) -> None:
    await own.make("chattts_1", seed=1)
    assert not (await own.api.get(f"{PATH}/chattts_1")).json()["is_public"]
    assert (await own.api.get(f"{PATH}/chattts_1", key=own.other)).json()["is_public"]
    assert (await own.api.delete(f"{PATH}/chattts_1")).status_code == 200
    assert (await own.api.get(f"{PATH}/chattts_1")).json()["is_public"]


async def test_public_voice_is_nobodys_to_delete(own: OwnVoices) -> None:
    refused(await own.api.delete(f"{PATH}/chattts_1"), 404, "voice_not_found")
    assert await Voice.objects.filter(name="chattts_1").aexists()


async def test_key_is_needed(own: OwnVoices) -> None:
    for key in ("", "vh_wrong"):
        refused(await own.make("anna", key=key, seed=1), 401, "invalid_api_key")
        refused(await own.api.delete(f"{PATH}/anna", key=key), 401, "invalid_api_key")


async def test_scope_is_needed(own: OwnVoices) -> None:
    await own.make("anna", seed=1)
    refused(await own.make("eva", key=own.speaker, seed=1), 403, "scope_missing")
    refused(await own.api.delete(f"{PATH}/anna", key=own.speaker), 403, "scope_missing")
    # Speaking with it, and looking, does not need it.
    assert "anna" in await own.listed(own.speaker)
    token = (await own.api.post("/v1/tokens", {})).json()["token"]
    refused(await own.make("eva", key=token, seed=1), 403, "scope_missing")

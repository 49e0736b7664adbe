"""Models and voices in the shapes that OpenAI's clients and Open WebUI read."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from pytest_django import Settings

from models_registry.services import route_create, route_set
from tenants.models import QualityTier
from tenants.services import tier_update
from tests.tts.api.conftest import Api
from tts.models import Voice
from voicehost.services import platform_settings_update


async def test_models(api: Api) -> None:
    response = await api.get("/v1/models")
    assert response.status_code == 200
    body = response.json()
    assert body["object"] == "list"
    (model,) = body["data"]
    assert set(model) == {"id", "object", "created", "owned_by"}
    assert (model["id"], model["object"]) == ("demo", "model")
    assert isinstance(model["created"], int)


async def test_one_model(api: Api) -> None:
    assert (await api.get("/v1/models/demo")).json()["id"] == "demo"
    response = await api.get("/v1/models/nope")
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "model_not_found"


async def test_audio_models_have_id_and_name(api: Api) -> None:
    response = await api.get("/v1/audio/models")
    assert response.json() == {"models": [{"id": "demo", "name": "demo"}]}


async def test_both_lists_of_models_hold_the_same(api: Api) -> None:
    await sync_to_async(_second_route)()
    models = (await api.get("/v1/models")).json()["data"]
    speech = (await api.get("/v1/audio/models")).json()["models"]
    assert [model["id"] for model in models] == [model["id"] for model in speech]
    assert len(models) == 2
    for model in speech:
        assert set(model) == {"id", "name"}
        assert (await api.get(f"/v1/models/{model['id']}")).json()["id"] == model["id"]


async def test_voices_are_objects_whose_id_is_the_voice(api: Api) -> None:
    body = (await api.get("/v1/audio/voices")).json()
    assert body["object"] == "list"
    assert body["voices"] == body["data"]
    names = {voice["id"]: voice["name"] for voice in body["voices"]}
    assert names == {"af_heart": "Heart", "zf_xiaoxiao": "晓晓"}
    voice = body["voices"][0]
    assert (voice["language"], voice["languages"]) == ("en", ["en"])
    assert voice["companion"] == "zf_xiaoxiao"
    assert voice["aliases"] == ["alloy"]
    assert "preview_url" in voice


async def test_a_voice_by_name_and_by_alias(api: Api) -> None:
    for name in ("af_heart", "alloy"):
        response = await api.get(f"/v1/audio/voices/{name}")
        assert (response.status_code, response.json()["id"]) == (200, "af_heart")
    response = await api.get("/v1/audio/voices/alloyed")
    assert (response.status_code, response.json()["error"]["code"]) == (404, "voice_not_found")


async def test_a_name_comes_before_an_alias(api: Api) -> None:
    def rename() -> None:
        Voice.objects.filter(name="zf_xiaoxiao").update(name="alloy", preview_text="你好")

    await sync_to_async(rename)()
    assert (await api.get("/v1/audio/voices/alloy")).json()["name"] == "晓晓"


async def test_a_voice_without_a_preview_has_null(api: Api) -> None:
    def clear() -> None:
        Voice.objects.filter(name="af_heart").update(preview_text="")
        Voice.objects.filter(name="zf_xiaoxiao").update(preview_text="你好")

    await sync_to_async(clear)()
    heart, xiaoxiao = (await api.get("/v1/audio/voices")).json()["data"]
    assert (heart["preview_text"], heart["preview_url"]) == (None, None)
    assert (xiaoxiao["preview_text"], xiaoxiao["preview_url"]) == ("你好", None)


async def test_voices_as_strings(api: Api) -> None:
    response = await api.get("/v1/audio/voices?legacy=true")
    assert response.json() == {"voices": ["af_heart", "zf_xiaoxiao"]}


async def test_voices_of_a_model(api: Api) -> None:
    assert len((await api.get("/v1/audio/voices?model=demo")).json()["voices"]) == 2
    response = await api.get("/v1/audio/voices?model=nope")
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "model_not_found"


@pytest.mark.parametrize(
    "path", ["/v1/models", "/v1/models/demo", "/v1/audio/models", "/v1/audio/voices"]
)
async def test_key_is_needed(api: Api, path: str) -> None:
    for key in ("", "vh_wrong"):
        response = await api.get(path, key=key)
        assert response.status_code == 401
        assert response.json()["error"]["type"] == "authentication_error"
        assert response["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("path", ["/v1/models", "/v1/audio/models", "/v1/audio/voices"])
async def test_switch_in_the_admin_makes_the_catalogue_public(api: Api, path: str) -> None:
    assert (await api.get(path, key="")).status_code == 401
    await sync_to_async(platform_settings_update)(public_catalogue=True)
    response = await _until_status(api, path, 200)
    assert "demo" in str(response.json()) or "af_heart" in str(response.json())
    # A key that is sent is still checked.
    assert (await api.get(path, key="vh_wrong")).status_code == 401
    await sync_to_async(platform_settings_update)(public_catalogue=False)
    await _until_status(api, path, 401)


async def test_environment_makes_the_catalogue_public(api: Api, settings: Settings) -> None:
    settings.ENVIRONMENT = replace(settings.ENVIRONMENT, public_catalogue=True)
    assert (await api.get("/v1/audio/voices", key="")).status_code == 200


@pytest.mark.parametrize("path", ["/v1/models", "/v1/audio/models", "/v1/audio/voices"])
async def test_pages_of_an_allowed_origin_read_the_lists(
    api: Api, settings: Settings, path: str
) -> None:
    settings.CORS_ALLOWED_ORIGINS = ["https://app.example"]
    for origin, permission in (("https://app.example",) * 2, ("https://evil.example", None)):
        headers = {"Authorization": f"Bearer {api.key}", "Origin": origin}
        response = await api.client.get(path, headers=headers)
        assert response.status_code == 200
        assert response.get("access-control-allow-origin") == permission
        assert "origin" in response["vary"].lower()


async def test_hidden_model_is_not_listed(api: Api) -> None:
    await sync_to_async(_secret_route)()
    body = (await api.get("/v1/models")).json()
    assert [model["id"] for model in body["data"]] == ["demo"]
    response = await api.get("/v1/audio/voices?model=secret")
    assert response.status_code == 404
    assert "available: demo" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("naming", "expected"),
    [
        (("hq",), ["demo"]),  # a tier above the key's own is not the key's
        (("standard",), ["demo", "secret"]),
        (("realtime", "standard"), ["secret"]),
    ],
)
async def test_listed_is_what_the_key_may_use_in_one_of_its_tiers(
    api: Api, naming: tuple[str, ...], expected: list[str]
) -> None:
    def name_secret() -> None:
        _secret_route()
        for tier in QualityTier.objects.filter(name__in=naming):
            tier_update(tier=tier, allowed_models=["secret"])

    await sync_to_async(name_secret)()
    body = (await api.get("/v1/models")).json()
    assert [model["id"] for model in body["data"]] == expected
    for name in ("demo", "secret"):
        status = 200 if name in expected else 404
        assert (await api.get(f"/v1/models/{name}")).status_code == status
        assert (await api.get(f"/v1/audio/voices?model={name}")).status_code == status


def _second_route() -> None:
    route_create(name="second", is_public=True)
    route_set("second", {"demo@1": 1}, actor="test")


def _secret_route() -> None:
    route_create(name="secret", is_public=False)
    route_set("secret", {"demo@1": 1}, actor="test")


async def _until_status(api: Api, path: str, status: int) -> Any:
    """The answer once the epoch was read again (twice a second)."""
    async with asyncio.timeout(1.0):
        while True:
            response = await api.get(path, key="")
            if response.status_code == status:
                return response
            await asyncio.sleep(0.02)

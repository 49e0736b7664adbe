"""The OpenAPI page describes what the consumer takes, and loads nothing from elsewhere."""

import re

import pytest
from django.test import AsyncClient
from pytest_django import Settings

from tts.speech.order import SpeechBody


@pytest.fixture(autouse=True)
def no_collected_static_files(settings: Settings) -> None:
    settings.WHITENOISE_AUTOREFRESH = True


async def test_speech_is_described_with_its_own_schema(async_client: AsyncClient) -> None:
    description = (await async_client.get("/v1/openapi.json")).json()
    speech = description["paths"]["/v1/audio/speech"]["post"]
    content = speech["requestBody"]["content"]["application/json"]
    schema = content["schema"]
    name = schema["$ref"].rpartition("/")[2]
    properties = description["components"]["schemas"][name]["properties"]
    assert set(properties) == set(SpeechBody.model_fields)
    assert len(content["examples"]) >= 3
    responses = {str(code): response for code, response in speech["responses"].items()}
    assert set(responses) == {
        "200", "400", "401", "403", "404", "413", "415", "429", "500", "503",
    }  # fmt: skip
    assert set(responses["200"]["content"]) == {
        "audio/mpeg", "audio/ogg", "audio/aac", "audio/flac", "audio/wav", "audio/pcm",
        "text/event-stream",
    }  # fmt: skip
    assert speech["security"]


async def test_examples_are_valid(async_client: AsyncClient) -> None:
    description = (await async_client.get("/v1/openapi.json")).json()
    speech = description["paths"]["/v1/audio/speech"]["post"]
    for example in speech["requestBody"]["content"]["application/json"]["examples"].values():
        SpeechBody.model_validate(example["value"])


async def test_everything_is_described(async_client: AsyncClient) -> None:
    description = (await async_client.get("/v1/openapi.json")).json()
    assert set(description["paths"]) >= {
        "/v1/audio/speech", "/v1/audio/models", "/v1/audio/voices", "/v1/models",
        "/v1/models/{model_id}", "/v1/tokens",
    }  # fmt: skip


async def test_docs_page_loads_nothing_from_elsewhere(async_client: AsyncClient) -> None:
    response = await async_client.get("/v1/docs")
    assert response.status_code == 200
    page = response.content.decode()
    assert re.findall(r"""(?:src|href)=["'](?:https?:)?//""", page) == []


async def test_unknown_address_has_the_envelope(async_client: AsyncClient) -> None:
    response = await async_client.get("/v1/nope")
    assert response.status_code == 404
    assert response.json()["error"]["code"] == "unknown_url"

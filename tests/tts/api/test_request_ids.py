"""Every answer of the API names the request, and so do the log lines about it."""

import re

import pytest

from tests.tts.api.conftest import Api
from tts.runtime import runtime_get


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/models", 200), ("/v1/models/nope", 404), ("/v1/audio/models", 200),
        ("/v1/audio/voices", 200), ("/v1/audio/voices?legacy=perhaps", 400), ("/v1/tokens", 405),
        ("/v1/openapi.json", 200), ("/v1/docs", 200), ("/v1/nothing", 404), ("/v1/", 404),
    ],
)  # fmt: skip
async def test_answer_has_an_id(api: Api, path: str, status: int) -> None:
    response = await api.get(path)
    assert response.status_code == status
    assert re.fullmatch(r"req_[0-9a-f]{24}", response["X-Request-Id"])
    assert response["X-Request-Id"] != (await api.get(path))["X-Request-Id"]


async def test_refusals_have_one_too(api: Api) -> None:
    for response in (
        await api.get("/v1/models", key="vh_wrong"),
        await api.post("/v1/tokens", "{"),
        await api.client.post("/v1/tokens", {"a": "form"}),
        await api.client.options(
            "/v1/models",
            headers={"origin": "https://app.example", "access-control-request-method": "GET"},
        ),
    ):
        assert response["X-Request-Id"].startswith("req_")


async def test_id_of_the_client_goes_nowhere(api: Api) -> None:
    given = {"authorization": f"Bearer {api.key}", "x-request-id": "mine"}
    response = await api.client.get("/v1/models", headers=given)
    assert response["X-Request-Id"].startswith("req_")


async def test_defect_is_logged_under_its_id(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(secret: str) -> None:
        raise ValueError(secret)

    monkeypatch.setattr((await runtime_get()).service, "authenticate", broken)
    response = await api.get("/v1/models")
    assert response.status_code == 500
    (record,) = [r for r in caplog.records if r.name == "voicehost.api"]
    assert response["X-Request-Id"] in str(record.msg)
    assert "in broken" in str(record.msg)
    assert api.key not in caplog.text

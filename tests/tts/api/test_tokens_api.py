"""Tokens for browsers: issued for a key, used like one, without the right to issue more."""

from datetime import UTC, datetime

from coordination.clipping import SHOWN_MAX
from tests.tts.api.conftest import Api


async def test_token_stands_for_the_key(api: Api) -> None:
    response = await api.post("/v1/tokens", {"ttl_seconds": 60})
    assert response.status_code == 201
    body = response.json()
    assert body["object"] == "token"
    assert body["scopes"] == ["speech"]
    assert 50 < body["expires_at"] - datetime.now(UTC).timestamp() <= 60
    assert (await api.get("/v1/models", key=body["token"])).status_code == 200


async def test_an_unknown_field_is_named(api: Api) -> None:
    error = (await api.post("/v1/tokens", {"ttl": 600})).json()["error"]
    assert error["message"] == "There is no field 'ttl' here."
    assert (error["code"], error["param"]) == ("invalid_value", "ttl")


async def test_body_is_optional(api: Api) -> None:
    response = await api.post("/v1/tokens", "")
    assert response.status_code == 201


async def test_token_issues_no_tokens(api: Api) -> None:
    token = (await api.post("/v1/tokens", {})).json()["token"]
    response = await api.post("/v1/tokens", {}, key=token)
    assert (response.status_code, response.json()["error"]["code"]) == (403, "scope_missing")


async def test_lone_surrogate_is_told_as_such(api: Api) -> None:
    response = await api.post("/v1/tokens", '{"scopes": ["\\ud800"]}')
    error = response.json()["error"]
    assert (response.status_code, error["code"], error["param"]) == (
        400, "invalid_character", "scopes",
    )  # fmt: skip


async def test_refusals_name_the_field(api: Api) -> None:
    for body, param in (
        ({"ttl_seconds": 1}, "ttl_seconds"),
        ({"ttl_seconds": "soon"}, "ttl_seconds"),
        ({"ttl_seconds": "60"}, "ttl_seconds"),
        ({"ttl_seconds": True}, "ttl_seconds"),
        ({"ttl_seconds": 10**4_200}, "ttl_seconds"),
        ({"scopes": ["fly"]}, "scopes"),
        ({"scopes": ["x" * 9_000]}, "scopes"),
        ({"scopes": ["speech", 5]}, "scopes"),
        ({"scopes": ["tokens"]}, "scopes"),
        ({"scopes": []}, "scopes"),
        ({"ttl": 600}, "ttl"),
        ({"ttl_seconds": 60, "x" * 9_000: 1}, "x" * SHOWN_MAX),
    ):
        response = await api.post("/v1/tokens", body)
        assert response.status_code == 400
        error = response.json()["error"]
        assert error["param"] == param
        assert len(error["message"]) < 200
    assert (await api.post("/v1/tokens", {}, key="")).status_code == 401

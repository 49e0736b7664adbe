"""Keys and tokens that are wrong, and what others own: each is refused, and nobody learns more."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import jwt
import pytest

from tests.e2e.bad_input import REQUEST, Target, error_of
from tests.e2e.speech_client import PATH

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("platform")]

HIDDEN_WORD = "pneumonoultra"
"""In texts and names of requests; it must be in no log."""


def ask(target: Target, authorization: str | None, path: str = PATH) -> httpx.Response:
    headers = {} if authorization is None else {"authorization": authorization}
    if path == PATH:
        return target.http.post(path, json=REQUEST, headers=headers)
    return target.http.get(path, headers=headers)


@pytest.mark.parametrize("path", [PATH, "/v1/models", "/v1/audio/voices"])
@pytest.mark.parametrize(
    "authorization",
    [None, "", "Bearer", "Basic dXNlcjpwYXNz", "Token vh_x", "Bearer vh_", "Bearer vh_wrong",
     f"Bearer vh_{'a' * 8}_{'b' * 43}", "Bearer a.b.c", "Bearer 'quoted'", "Bearer " + "x" * 5_000],
)  # fmt: skip
def test_missing_and_wrong_key(target: Target, path: str, authorization: str | None) -> None:
    response = ask(target, authorization, path)
    message = error_of(response, 401, "invalid_api_key")
    assert response.headers["www-authenticate"] == "Bearer"
    secret = (authorization or "").partition(" ")[2]
    assert not secret or len(secret) < 5 or secret not in message


@pytest.mark.parametrize(("key", "says"), [("revoked", "revoked"), ("expired", "expired")])
def test_key_that_has_ended(target: Target, key: str, says: str) -> None:
    for path in (PATH, "/v1/models"):
        response = ask(target, target.headers(key)["Authorization"], path)
        message = error_of(response, 401, "invalid_api_key")
        assert says in message
        assert target.keys[key] not in response.text


def test_part_of_a_key(target: Target) -> None:
    key = target.keys["wide"]
    for wrong in (key[:-1], key + "x", key.upper(), key[:-1] + ("A" if key[-1] != "A" else "B")):
        error_of(ask(target, f"Bearer {wrong}"), 401, "invalid_api_key")


def test_key_without_the_scope(target: Target) -> None:
    message = error_of(target.post("mute"), 403, "scope_missing")
    assert "'speech'" in message
    assert "'voices'" in message


def test_tier_that_the_key_may_not_use(target: Target) -> None:
    response = target.post("narrow", quality_tier="hq")
    message = error_of(response, 403, "tier_not_allowed", "quality_tier")
    assert message.endswith("may use: 'narrow'.")


def test_model_that_the_tier_does_not_include(target: Target) -> None:
    response = target.post("narrow", model="tone-crawl", quality_tier=None)
    message = error_of(response, 403, "model_not_allowed", "model")
    assert message.endswith("includes: 'tone', 'tts-1'.")


def test_voice_of_another_tenant_is_like_one_that_is_not(target: Target) -> None:
    assert target.post("wide", voice="own-voice").status_code == 200
    theirs = target.post("other", voice="own-voice")
    nobodys = target.post("other", voice="ano-voice")
    message = error_of(theirs, 404, "voice_not_found", "voice")
    assert theirs.text.replace("own-voice", "ano-voice") == nobodys.text
    assert "english-only" not in message
    for mixed in ("tone-a+own-voice", "own-voice(2)+tone-a"):
        error_of(target.post("other", voice=mixed), 404, "voice_not_found", "voice")
    listed = target.http.get("/v1/audio/voices?model=tone", headers=target.headers("other"))
    assert "own-voice" not in listed.text
    own = target.http.get("/v1/audio/voices?model=tone", headers=target.headers("wide"))
    assert "own-voice" in own.text


def token_of(target: Target, key: str, **body: Any) -> str:
    response = target.http.post("/v1/tokens", json=body, headers=target.headers(key))
    assert response.status_code == 201, response.text
    return str(response.json()["token"])


def test_token_does_only_what_it_is_for(target: Target) -> None:
    token = f"Bearer {token_of(target, 'wide', scopes=['voices'])}"
    error_of(ask(target, token), 403, "scope_missing")
    headers = {"authorization": token}
    again = target.http.post("/v1/tokens", json={}, headers=headers)
    error_of(again, 403, "scope_missing")
    more = target.http.post(
        "/v1/tokens", json={"scopes": ["speech"]}, headers=target.headers("mute")
    )
    error_of(more, 403, "scope_missing")


def test_forged_tokens(target: Target) -> None:
    token = token_of(target, "wide")
    claims = jwt.decode(token, options={"verify_signature": False})
    head, body, signature = token.split(".")
    forged = [
        jwt.encode(claims, "", algorithm="none"),
        jwt.encode(claims, "a-guess-of-the-key-that-is-long-enough", algorithm="HS256"),
        f"{head}.{body}.", f"{head}.{body}.{signature[::-1]}", f"{head}..{signature}",
        f"{head}.{body[:-2]}.{signature}", token + "x", "." * 500,
    ]  # fmt: skip
    for wrong in forged:
        error_of(ask(target, f"Bearer {wrong}"), 401, "invalid_api_key")
    assert ask(target, f"Bearer {token}").status_code == 200


def test_token_ends_with_its_key(target: Target) -> None:
    token = f"Bearer {token_of(target, 'leaving')}"
    assert ask(target, token).status_code == 200
    target.platform.manage("apikey_revoke", "_".join(target.keys["leaving"].split("_")[:2]))
    message = error_of(ask(target, token), 401, "invalid_api_key")
    assert "revoked" in message


def test_token_lives_no_longer_than_it_says(target: Target) -> None:
    body = target.http.post("/v1/tokens", json={"ttl_seconds": 5}, headers=target.headers()).json()
    ends = datetime.fromtimestamp(body["expires_at"], UTC)
    assert ends <= datetime.now(UTC) + timedelta(seconds=6)


@pytest.mark.parametrize(
    "path",
    ["/admin/", "/admin/tenants/apikey/", "/admin/tenants/apikey/add/", "/admin/tts/voice/",
     "/admin/auth/user/", "/admin/auditlog/logentry/", "/admin/django_celery_beat/periodictask/"],
)  # fmt: skip
def test_admin_shows_nothing_without_login(target: Target, path: str) -> None:
    for headers in ({}, target.headers()):
        response = target.http.get(path, headers=headers, follow_redirects=False)
        assert response.status_code == 302
        assert response.headers["location"] == f"/admin/login/?next={path}"
        assert target.http.post(path, headers=headers).status_code == 403


@pytest.mark.parametrize("address", ["https://evil.example/", "//evil.example", "javascript:a()"])
def test_login_leads_to_no_other_site(target: Target, address: str) -> None:
    known = json.loads((target.platform.var_dir / "credentials.json").read_text())
    with httpx.Client(base_url=target.platform.url, trust_env=False) as browser:
        browser.get("/admin/login/")
        form = {
            "username": known["admin_user"], "password": known["admin_password"],
            "next": address, "csrfmiddlewaretoken": browser.cookies["csrftoken"],
        }  # fmt: skip
        response = browser.post(
            "/admin/login/", data=form, headers={"referer": str(browser.base_url)}
        )
    assert response.status_code == 302, response.text[:500]
    assert response.headers["location"].startswith("/")
    assert not response.headers["location"].startswith("//")


def test_readiness_tells_no_secret(target: Target) -> None:
    response = target.http.get("/readyz")
    assert response.json() == {
        "status": "ready",
        "checks": {"process": "ok", "database": "ok", "redis": "ok", "speech": "ok"},
    }
    for path in ("/metrics", "/static/../manage.py", "/static/%2e%2e/%2e%2e/manage.py"):
        assert target.http.get(path).status_code == 404


def test_no_key_token_or_text_in_a_log(target: Target) -> None:
    token = token_of(target, "wide")
    wrong = f"vh_{'w' * 8}_{'z' * 43}"
    for path in (PATH, PATH + "/stream", "/v1/models", "/v1/nothing", "/admin/"):
        target.http.get(f"{path}?token={token}&api_key={target.keys['wide']}&input={HIDDEN_WORD}")
    for body in (
        REQUEST | {"input": f"{HIDDEN_WORD} spoken"}, REQUEST | {"input": HIDDEN_WORD + "\0"},
        REQUEST | {"voice": HIDDEN_WORD}, REQUEST | {"model": HIDDEN_WORD},
        REQUEST | {"quality_tier": HIDDEN_WORD}, REQUEST | {"speed": HIDDEN_WORD},
        REQUEST | {"instructions": HIDDEN_WORD}, {HIDDEN_WORD: 1}, [HIDDEN_WORD],
    ):  # fmt: skip
        target.send(json.dumps(body).encode())
        target.send(json.dumps(body).encode()[:-1])
        target.http.post("/v1/tokens", json=body, headers=target.headers())
    target.http.post(PATH, json=REQUEST, headers={"authorization": f"Bearer {wrong}"})
    for secret in (target.keys["wide"], token, HIDDEN_WORD + " spoken"):
        ids = {"x-request-id": secret, "x-correlation-id": secret, "user-agent": secret}
        target.send(b"{}", **ids)
        target.http.get("/v1/nothing", headers=ids)
    log = target.log()
    assert "speech_finished" in log
    for secret in (token, wrong, wrong.split("_")[2], HIDDEN_WORD):
        assert secret not in log
    for key in target.keys.values():
        assert key.split("_", 2)[2] not in log

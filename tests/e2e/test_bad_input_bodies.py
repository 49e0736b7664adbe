"""Bodies that are not what the API takes: each is refused with what, where and what is allowed."""

import gzip
import json
from typing import Any

import pytest

from tests.e2e.bad_input import REQUEST, Target, envelope_check, error_of
from tests.e2e.speech_client import PATH

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("platform")]

TEXT = json.dumps(REQUEST)


def spoilt(field: str, raw: str) -> bytes:
    """REQUEST with `raw` JSON, valid or not, as the value of `field`."""
    rest = json.dumps({name: value for name, value in REQUEST.items() if name != field})
    return f'{rest[:-1]}, "{field}": {raw}}}'.encode()


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("input", 5, "string"), ("input", ["a"], "string"), ("input", {"a": 1}, "string"),
        ("model", 5, "string"), ("model", "", "at least 1"), ("model", "m" * 201, "at most 200"),
        ("voice", 5, "string"), ("voice", [], "string"), ("voice", "", "1 to 200"),
        ("voice", {}, "id"), ("voice", {"id": 5}, "id"), ("voice", {"id": ""}, "id"),
        ("response_format", "ogg", "mp3"), ("response_format", 1, "mp3"),
        ("response_format", "MP3", "mp3"),
        ("stream_format", "xml", "sse"), ("stream", "yes", "boolean"),
        ("speed", 0.24, "0.25"), ("speed", 4.01, "4"), ("speed", -1, "0.25"),
        ("speed", "1", "number"), ("speed", True, "number"), ("speed", 1e300, "4"),
        ("language", "fr", "'zh' or 'en'"), ("language", "EN", "'zh' or 'en'"),
        ("language", 1, "'zh'"),
        ("seed", -1, "0"), ("seed", 2**32, "4294967295"), ("seed", 1.5, "integer"),
        ("seed", 1.0, "integer"), ("seed", True, "integer"), ("seed", 2**200, "4294967295"),
        ("sample_rate", 0, "24000"), ("sample_rate", -8000, "24000"),
        ("sample_rate", 10**9, "24000"), ("sample_rate", "24000", "integer"),
        ("instructions", 5, "string"), ("instructions", "x" * 4097, "at most 4096"),
        ("quality_tier", 5, "string"), ("quality_tier", "", "at least 1"),
    ],
)  # fmt: skip
def test_value_that_is_not_taken(target: Target, field: str, value: Any, says: str) -> None:
    message = error_of(target.post(**{field: value}), 400, "invalid_value", field)
    assert says in message


def test_sample_rate_that_the_format_does_not_take(target: Target) -> None:
    response = target.post(response_format="opus", sample_rate=44_100)
    assert "48000" in error_of(response, 400, "invalid_value", "sample_rate")


@pytest.mark.parametrize("field", ["input", "model", "voice"])
def test_required_field(target: Target, field: str) -> None:
    for body in ({k: v for k, v in REQUEST.items() if k != field}, REQUEST | {field: None}):
        response = target.send(json.dumps(body).encode())
        assert repr(field) in error_of(response, 400, "missing_required_parameter", field)


@pytest.mark.parametrize(
    ("field", "value", "status", "code"),
    [
        ("model", "nothing", 404, "model_not_found"),
        ("model", "m\0", 404, "model_not_found"),
        ("model", "../tone", 404, "model_not_found"),
        ("voice", "nobody", 404, "voice_not_found"),
        ("voice", "no\0body", 404, "voice_not_found"),
        ("voice", "' OR 1=1 --", 404, "voice_not_found"),
        ("voice", "tone-a+", 400, "voice_mix_invalid"),
        ("voice", "tone-a(0)+tone-b", 400, "voice_mix_invalid"),
        ("voice", "tone-a(1e9)", 400, "voice_mix_invalid"),
        ("voice", "+".join(["tone-a"] * 9), 400, "voice_mix_invalid"),
        ("voice", "tone-a+nobody", 404, "voice_not_found"),
        ("quality_tier", "gold", 400, "unknown_quality_tier"),
    ],
)  # fmt: skip
def test_name_that_means_nothing(
    target: Target, field: str, value: str, status: int, code: str
) -> None:
    error_of(target.post(**{field: value}), status, code, field)


@pytest.mark.parametrize("text", ["1e999", "-1e999", "NaN", "Infinity", "-Infinity"])
def test_number_that_is_none(target: Target, text: str) -> None:
    message = error_of(target.send(spoilt("speed", text)), 400, "invalid_value", "speed")
    assert "finite" in message


@pytest.mark.parametrize("field", ["seed", "sample_rate"])
def test_number_of_thousands_of_digits(target: Target, field: str) -> None:
    error_of(target.send(spoilt(field, "9" * 5_000)), 400, "invalid_body")


BROKEN = {
    "nothing": b"",
    "begun": b"{",
    "no value": b'{"a"}',
    "quote": b"'",
    "form": b"model=tone&input=hi",
    "more behind": TEXT.encode() + b"x",
    "cut": TEXT.encode()[:-1],
    "single quotes": TEXT.replace('"', "'").encode(),
    "twice": TEXT.encode() * 2,
    "deep array": b"[" * 100_000,
    "deep object": b'{"a":' * 5_000,
    "utf-16": TEXT.encode("utf-16"),
    "utf-16 without mark": TEXT.encode("utf-16-le"),
    "utf-32": TEXT.encode("utf-32"),
    "latin-1": TEXT.replace("Hi", "caf\xe9").encode("latin-1"),
    "overlong": TEXT.encode().replace(b"Hi", b"\xc0\xaf"),
    "coded surrogate": TEXT.encode().replace(b"Hi", b"\xed\xa0\x80"),
    "nul": b"\x00",
    "nul behind": TEXT.encode() + b"\x00",
    "bare nul": spoilt("input", '"a\x00b"'),
    "bare control": spoilt("input", '"a\x07b"'),
    "hex escape": spoilt("input", '"\\x41"'),
    "short escape": spoilt("input", '"\\u12"'),
    "leading zero": spoilt("seed", "01"),
    "hex number": spoilt("seed", "0x1"),
    "gzip": gzip.compress(TEXT.encode()),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_json(target: Target, name: str) -> None:
    message = error_of(target.send(BROKEN[name]), 400, "invalid_body")
    assert "valid JSON in UTF-8" in message
    assert "line 1 column" in message


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("input", '"\\ud800"'), ("input", '"a\\udfffb"'), ("input", '"\\ud800\\ud800"'),
        ("voice", '"\\ud800"'),
    ],
)  # fmt: skip
def test_lone_surrogate(target: Target, field: str, value: str) -> None:
    message = error_of(target.send(spoilt(field, value)), 400, "invalid_character", field)
    assert "lone surrogate" in message


@pytest.mark.parametrize("body", [b"null", b"[]", b'"text"', b"1", b"true", b"[{}]"])
def test_json_that_is_no_object(target: Target, body: bytes) -> None:
    assert "JSON object" in error_of(target.send(body), 400, "invalid_body")


def test_byte_order_mark_is_passed_over(target: Target) -> None:
    assert target.send(b"\xef\xbb\xbf" + TEXT.encode()).status_code == 200


def test_last_of_duplicate_keys_counts(target: Target) -> None:
    assert target.send(b'{"model": "nothing", ' + TEXT.encode()[1:]).status_code == 200
    again = target.send(TEXT.encode()[:-1] + b', "model": "nothing"}')
    error_of(again, 404, "model_not_found", "model")


def test_unknown_fields_are_passed_over(target: Target) -> None:
    extra: dict[str, Any] = {"user": "me", "__proto__": {}, "": 1, "x" * 1_000: [1, 2]}
    assert target.post(**extra).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"content_type": "text/plain"}, {"content_type": "application/x-www-form-urlencoded"},
        {"content_type": "application/jsonx"}, {"content_type": ""},
        {"content_type": "application/json; charset=utf-16"}, {"content_encoding": "gzip"},
        {"content_encoding": "br, gzip"},
    ],
)  # fmt: skip
def test_kind_of_body_that_is_not_taken(target: Target, headers: dict[str, str]) -> None:
    error_of(target.send(TEXT.encode(), **headers), 415, "unsupported_media_type")


def test_form_is_not_taken(target: Target) -> None:
    files = {"input": ("a.txt", b"Hi.")}
    response = target.http.post(PATH, data={"model": "tone"}, files=files, headers=target.headers())
    error_of(response, 415, "unsupported_media_type")


def test_body_that_is_too_large(target: Target) -> None:
    large = target.send(b" " * (2 * 2**20) + TEXT.encode())
    assert "2,097,152" in error_of(large, 413, "body_too_large")
    announced = target.raw(
        b"POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: 99999999999\r\n\r\n"
    )
    envelope_check(json.loads(announced.body), 413, "body_too_large")


@pytest.mark.parametrize(
    ("body", "status", "code", "param"),
    [
        (b"{", 400, "invalid_body", None), (b"[]", 400, "invalid_body", None),
        (b'"x"', 400, "invalid_body", None), ("{}".encode("utf-16"), 400, "invalid_body", None),
        (b'{"scopes": ["\xe9"]}', 400, "invalid_body", None),
        (b"[" * 100_000, 400, "invalid_body", None),
        (b'{"ttl_seconds": NaN}', 400, "invalid_body", None),
        (b'{"ttl_seconds": 1e999}', 400, "invalid_value", "ttl_seconds"),
        (b'{"ttl_seconds": "soon"}', 400, "invalid_value", "ttl_seconds"),
        (b'{"ttl_seconds": 4}', 400, "invalid_value", "ttl_seconds"),
        (b'{"ttl_seconds": 601}', 400, "invalid_value", "ttl_seconds"),
        (b'{"scopes": "speech"}', 400, "invalid_value", "scopes"),
        (b'{"scopes": []}', 400, "invalid_value", "scopes"),
        (b'{"scopes": ["fly"]}', 400, "invalid_value", "scopes"),
        (b'{"scopes": ["tokens"]}', 400, "invalid_value", "scopes"),
        (b'{"scopes": ["' + b"a" * 3_000_000 + b'"]}', 413, "body_too_large", None),
    ],
    ids=lambda value: None if not isinstance(value, bytes) else value[:20].decode("latin-1"),
)  # fmt: skip
def test_body_of_a_token(
    target: Target, body: bytes, status: int, code: str, param: str | None
) -> None:
    headers = target.headers() | {"content-type": "application/json"}
    error_of(target.http.post("/v1/tokens", content=body, headers=headers), status, code, param)


def test_kind_of_body_of_a_token(target: Target) -> None:
    for headers in ({"content-type": "text/plain"}, {"content-encoding": "gzip"}):
        given = target.headers() | {"content-type": "application/json"} | headers
        response = target.http.post("/v1/tokens", content=b"{}", headers=given)
        error_of(response, 415, "unsupported_media_type")

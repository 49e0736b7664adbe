"""HTTP at its edges: odd addresses, methods, headers and framing, and a fuzzer let loose."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.bad_input import REQUEST, Target, envelope_check, error_of
from tests.e2e.speech_client import PATH

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("platform")]

BODY = json.dumps(REQUEST | {"input": ""}).encode()
"""Refused, so that its answer is an error with a code that is known."""

EMPTY = "missing_required_parameter"


def head(target: Target, path: str = PATH, version: str = "1.1", *headers: str) -> bytes:
    """The head of a request, without its last empty line."""
    lines = [
        f"POST {path} HTTP/{version}", "Host: localhost", "Content-Type: application/json",
        f"Authorization: Bearer {target.keys['wide']}", *headers,
    ]  # fmt: skip
    return "".join(f"{line}\r\n" for line in lines).encode("latin-1")


def whole(target: Target, path: str = PATH, version: str = "1.1", *headers: str) -> bytes:
    """A request with BODY."""
    length = f"Content-Length: {len(BODY)}"
    return head(target, path, version, length, *headers) + b"\r\n" + BODY


@pytest.mark.parametrize(
    "path",
    ["/v1//audio/speech", "/v1/audio/speech/", "/v1/audio/../audio/speech", "/v1/./audio/speech",
     "/v1/audio/speech;a=b", "/v1/audio/speech%00", "/v1/audio/speech%20",
     "/v1/audio/speech%0d%0aX:1", "/v1/audio/speech/stream", "/v1/nothing", "/v1/", "/v1/models/",
     "/nothing", "/healthz/", "/static/nothing.css"],
)  # fmt: skip
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_address_where_nothing_is(target: Target, path: str, method: str) -> None:
    data = whole(target, path).replace(b"POST", method.encode(), 1)
    response = target.raw(data)
    message = envelope_check(json.loads(response.body), 404, "unknown_url")
    assert response.status == 404
    assert message.startswith(f"There is no {method} ")
    assert response.getheader("X") is None


def test_query_and_escapes_change_nothing(target: Target) -> None:
    for path in ("/v1/audio/speech?x=1", "/v1/audio/%73peech"):
        response = target.raw(whole(target, path))
        envelope_check(json.loads(response.body), 400, EMPTY, "input")


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "FLY"])
def test_method_that_means_nothing(target: Target, method: str) -> None:
    for path, allowed in ((PATH, {"POST", "OPTIONS"}), ("/v1/tokens", {"POST"})):
        response = target.raw(whole(target, path).replace(b"POST", method.encode(), 1))
        assert response.status == 405
        assert set((response.getheader("Allow") or "").split(", ")) == allowed
        message = envelope_check(json.loads(response.body), 405, "method_not_allowed")
        assert message.startswith(f"{method} is not allowed here; use ")


@pytest.mark.parametrize("method", ["POST", "DELETE", "OPTIONS", "FLY"])
def test_health_is_only_read(target: Target, method: str) -> None:
    response = target.raw(whole(target, "/readyz").replace(b"POST", method.encode(), 1))
    envelope_check(json.loads(response.body), 405, "method_not_allowed")
    assert response.getheader("Allow") == "GET, HEAD"


def test_wrong_method_of_a_list(target: Target) -> None:
    response = target.http.post("/v1/models", json={}, headers=target.headers())
    assert "use GET" in error_of(response, 405, "method_not_allowed")
    assert response.headers["allow"] == "GET"


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example:80"])
def test_host_that_is_not_served(target: Target, host: str) -> None:
    head = f"GET /v1/models HTTP/1.1\r\nHost: {host}\r\n\r\n"
    response = target.raw(head.encode())
    envelope_check(json.loads(response.body), 400, "unknown_host")
    assert response.status == 400
    assert (response.getheader("X-Request-Id") or "").startswith("req_")


def test_head_has_no_body(target: Target) -> None:
    for path in (PATH, "/v1/models", "/healthz"):
        response = target.http.head(path, headers=target.headers())
        assert response.content == b""
        assert response.status_code == (200 if path == "/healthz" else 405)


def test_options_says_what_is_allowed(target: Target) -> None:
    response = target.http.options(PATH)
    assert (response.status_code, response.headers["allow"]) == (204, "POST, OPTIONS")


@pytest.mark.parametrize(
    "given", ["a\x01b", "ok\r\n folded: yes", "x" * 5_000, "\xe9", "%0d%0aSet-Cookie: a"]
)
def test_request_id_of_the_client_goes_nowhere(target: Target, given: str) -> None:
    response = target.raw(whole(target, PATH, "1.1", f"X-Request-Id: {given}"))
    envelope_check(json.loads(response.body), 400, EMPTY, "input")
    assert (response.getheader("X-Request-Id") or "").startswith("req_")
    assert response.getheader("Set-Cookie") is None
    assert response.getheader("folded") is None


@pytest.mark.parametrize(
    "lines",
    [
        ["Content-Length: 5", "Content-Length: 6"], ["Content-Length: -1"],
        ["Content-Length: five"], ["Content-Length: 5", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: gzip"], ["Transfer-Encoding: chunked, chunked"],
        ["No colon"], ["X: a\0b"],
    ],
    ids=["two-lengths", "negative", "word", "length-and-chunks", "coding", "twice-chunked",
         "no-colon", "nul"],
)  # fmt: skip
def test_ambiguous_framing(target: Target, lines: list[str]) -> None:
    response = target.raw(head(target, PATH, "1.1", *lines) + b"\r\n" + BODY)
    assert response.status == 400


def test_too_many_headers(target: Target) -> None:
    lines = [f"X{i}: y" for i in range(2_000)]
    response = target.raw(head(target, PATH, "1.1", *lines) + b"\r\n" + BODY)
    assert response.status == 431


@pytest.mark.parametrize("size", ["zz", "-1", "0x5", ""])
def test_broken_chunks(target: Target, size: str) -> None:
    data = head(target, PATH, "1.1", "Transfer-Encoding: chunked")
    assert target.raw(data + f"\r\n{size}\r\n".encode() + BODY).status == 400


def test_chunks_without_a_length(target: Target) -> None:
    pieces = b"".join(b"1\r\n%c\r\n" % byte for byte in BODY) + b"0\r\n\r\n"
    data = head(target, PATH, "1.1", "Transfer-Encoding: chunked") + b"\r\n" + pieces
    envelope_check(json.loads(target.raw(data).body), 400, EMPTY, "input")


def test_no_body_at_all(target: Target) -> None:
    response = target.raw(head(target) + b"\r\n")
    envelope_check(json.loads(response.body), 400, "invalid_body")


def test_expect_is_answered(target: Target) -> None:
    # The client of the standard library reads on past "100 Continue".
    response = target.raw(whole(target, PATH, "1.1", "Expect: 100-continue"))
    envelope_check(json.loads(response.body), 400, EMPTY, "input")


def test_http_1_0_gets_bytes_and_a_close(target: Target) -> None:
    body = json.dumps(REQUEST).encode()
    data = head(target, PATH, "1.0", f"Content-Length: {len(body)}") + b"\r\n" + body
    response = target.raw(data)
    assert response.status == 200
    assert response.getheader("Transfer-Encoding") is None
    assert len(response.body) == len(target.post().content)


def test_pipelined_requests_are_answered_in_order(target: Target) -> None:
    spoken = json.dumps(REQUEST).encode()
    good = head(target, PATH, "1.1", f"Content-Length: {len(spoken)}") + b"\r\n" + spoken
    last = whole(target, "/v1/nothing", "1.1", "Connection: close")
    answer = target.read_all(good + whole(target) + good + whole(target) + last)
    statuses = re.findall(rb"HTTP/1\.1 (\d+) ", answer)
    assert statuses == [b"200", b"400", b"200", b"400", b"404"]


@pytest.mark.parametrize(
    "data",
    [b"GET /healthz\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\r\n\r\n", b"POST\r\n\r\n",
     b"PRI * HTTP/2.0\r\n\r\n"],
    ids=["0.9", "tls", "no-address", "http-2"],
)  # fmt: skip
def test_what_is_no_http(target: Target, data: bytes) -> None:
    assert target.raw(data).status == 400


def test_fuzzer_finds_nothing(target: Target, tmp_path: Path) -> None:
    """Schemathesis, on every JSON endpoint: answers are as documented, and none is a 500."""
    result = subprocess.run(
        [
            str(Path(sys.executable).with_name("schemathesis")), "run",
            f"{target.platform.url}/v1/openapi.json",
            "--header", target_header(target), "--exclude-path", PATH,
            "--phases", "coverage,fuzzing", "--max-examples", "15", "--generation-deterministic",
            "--checks", "all", "--exclude-checks", "positive_data_acceptance",
            "--continue-on-failure", "--no-color",
        ],
        cwd=tmp_path, env=target.platform.environment, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout[-4_000:] + result.stderr[-1_000:]
    selected = re.search(r"(\d+) selected / (\d+) total", result.stdout)
    assert selected is not None
    assert int(selected[1]) == int(selected[2]) - 1 >= 5, "all but that of speech itself"


def target_header(target: Target) -> str:
    """The header that lets the fuzzer in."""
    return f"Authorization: Bearer {target.keys['wide']}"

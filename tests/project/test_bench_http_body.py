"""A response is decoded in whatever pieces its bytes arrive."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voicehost.bench.errors import RequestFailed
from voicehost.bench.http_body import ResponseDecoder

CHUNKS = [b"a", b"bc" * 40, b"\r\n0\r\n\r\n", bytes(300)]
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: audio/pcm\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in CHUNKS)
    + b"0\r\n\r\n"
)
WHOLE = b'HTTP/1.1 429 Too Many\r\nContent-Length: 11\r\nretry-after: 1\r\n\r\n{"error":1}'


def decode(data: bytes, cuts: list[int]) -> tuple[ResponseDecoder, bytes]:
    decoder, body = ResponseDecoder(), b""
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for start, end in itertools.pairwise(edges):
        assert not decoder.complete or start == len(data)
        body += b"".join(decoder.feed(data[start:end]))
    return decoder, body


def test_chunked_body() -> None:
    decoder, body = decode(CHUNKED, [])
    assert decoder.complete
    assert decoder.status == 200
    assert decoder.headers["content-type"] == "audio/pcm"
    assert body == b"".join(CHUNKS)


@given(st.lists(st.integers(0, 2000), max_size=30))
def test_cuts_change_nothing(cuts: list[int]) -> None:
    for data, expected in ((CHUNKED, b"".join(CHUNKS)), (WHOLE, b'{"error":1}')):
        decoder, body = decode(data, cuts)
        assert decoder.complete
        assert body == expected


def test_every_byte_by_itself() -> None:
    decoder, body = decode(CHUNKED, list(range(len(CHUNKED))))
    assert decoder.complete
    assert body == b"".join(CHUNKS)


def test_length_and_status_of_an_error() -> None:
    decoder, body = decode(WHOLE, [])
    assert (decoder.status, decoder.headers["retry-after"]) == (429, "1")
    assert body == b'{"error":1}'


def test_a_response_that_breaks_off_is_not_complete() -> None:
    decoder, body = decode(CHUNKED[:-5], [])
    assert not decoder.complete
    assert body == b"".join(CHUNKS)


def test_no_body() -> None:
    decoder, body = decode(b"HTTP/1.1 204 No Content\r\n\r\n", [])
    assert decoder.complete
    assert body == b""


def test_other_protocols_are_named() -> None:
    with pytest.raises(RequestFailed, match="SSH-2"):
        ResponseDecoder().feed(b"SSH-2.0-OpenSSH\r\n\r\n")

"""Bodies as clients send them: what is taken, and how everything else is refused."""

import json
from typing import Any

import pytest

from tts.audio.errors import UnsupportedSampleRate
from tts.audio.format import AudioFormat
from tts.speech.errors import (
    InvalidBody,
    InvalidParameter,
    InvalidUnicode,
    MissingParameter,
    SpeechError,
)
from tts.speech.order import SpeechOrder, StreamFormat, order_from_json, order_from_mapping
from tts.speech.problem import problem_of

BODY: dict[str, Any] = {"input": "Hi", "model": "tone", "voice": "both"}


def order(**changes: Any) -> SpeechOrder:
    return order_from_json(json.dumps({**BODY, **changes}).encode())


def test_defaults() -> None:
    assert order() == SpeechOrder(model="tone", voice="both", input="Hi")
    assert (order().format, order().output_rate) == (AudioFormat.MP3, 24_000)


def test_everything_given() -> None:
    assert order(
        voice={"id": "x"}, response_format="wav", stream_format="sse", speed=2, language="zh",
        seed=0, sample_rate=16_000, quality_tier="hq", instructions="calmly", stream=True,
    ) == SpeechOrder(
        "tone", "x", "Hi", AudioFormat.WAV, StreamFormat.SSE, 2.0, "zh", 0, 16_000, "hq", "calmly"
    )  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["instructions", "response_format", "speed", "stream_format", "stream", "language", "seed",
     "sample_rate", "quality_tier"],
)  # fmt: skip
def test_null_is_absent(name: str) -> None:
    assert order(**{name: None}) == order()


@pytest.mark.parametrize("stream", [True, False])
def test_stream_and_unknown_fields_are_accepted(stream: bool) -> None:
    assert order(stream=stream, user="me", extra={"a": [1]}) == order()


def test_byte_order_mark_is_accepted() -> None:
    assert order_from_json(b"\xef\xbb\xbf" + json.dumps(BODY).encode()) == order()


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"input": 1}, "input"),
        ({"input": ["a"]}, "input"),
        ({"model": ""}, "model"),
        ({"model": "m" * 201}, "model"),
        ({"voice": ""}, "voice"),
        ({"voice": 3}, "voice"),
        ({"voice": {"name": "x"}}, "voice"),
        ({"voice": {"id": ""}}, "voice"),
        ({"response_format": "ogg"}, "response_format"),
        ({"stream_format": "json"}, "stream_format"),
        ({"stream": "yes"}, "stream"),
        ({"speed": 0.2}, "speed"),
        ({"speed": 4.1}, "speed"),
        ({"speed": "1"}, "speed"),
        ({"speed": True}, "speed"),
        ({"speed": float("nan")}, "speed"),
        ({"speed": float("inf")}, "speed"),
        ({"language": "fr"}, "language"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**32}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"seed": True}, "seed"),
        ({"sample_rate": "24000"}, "sample_rate"),
        ({"instructions": "a" * 4_097}, "instructions"),
        ({"quality_tier": ""}, "quality_tier"),
    ],
)
def test_wrong_values_name_the_parameter(changes: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        order(**changes)
    assert caught.value.param == param
    assert repr(param) in caught.value.message


@pytest.mark.parametrize("name", ["input", "model", "voice"])
@pytest.mark.parametrize("body", [{}, {"input": None, "model": None, "voice": None}])
def test_missing_parameters(name: str, body: dict[str, Any]) -> None:
    given = {key: value for key, value in BODY.items() if key != name} | {
        key: value for key, value in body.items() if key == name
    }
    with pytest.raises(MissingParameter) as caught:
        order_from_json(json.dumps(given).encode())
    assert caught.value.param == name


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b'"text"', b"null", b"[" * 100_000, b"\xff\xfe{\x00}\x00",
     b'{"input": "\xff"}', b'{"input": "\\ud800"', b'{"input": "\\ud800", "model": NaN'],
)  # fmt: skip
def test_bodies_that_are_no_json_object(body: bytes) -> None:
    with pytest.raises(InvalidBody):
        order_from_json(body)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b'{"input": "\\ud800", "model": "m", "voice": "v"}', "input"),
        (b'\xef\xbb\xbf{"model": "m", "input": "a\\udfff"}', "input"),
        (b'{"voice": {"id": "\\udc00\\ud800"}}', "voice"),
        (b'{"extra": [1, {"\\ud800": 2}]}', "extra"),
        (b'{"\\ud800": 2}', None),
    ],
)
def test_lone_surrogates_are_told_as_such(body: bytes, param: str | None) -> None:
    with pytest.raises(InvalidUnicode, match="lone surrogate") as caught:
        order_from_json(body)
    assert (caught.value.param, caught.value.code) == (param, "invalid_character")


def test_surrogate_pairs_are_text() -> None:
    body = json.dumps(BODY | {"input": "\U0001f600"}).encode()
    assert rb"\ud83d\ude00" in body
    assert order_from_json(body).input == "\U0001f600"


@pytest.mark.parametrize("name", ["seed", "sample_rate"])
def test_long_numbers_are_not_repeated(name: str) -> None:
    with pytest.raises((InvalidParameter, UnsupportedSampleRate)) as caught:
        order(**{name: 10**4_200})
    problem = problem_of(caught.value)
    assert (problem.status, problem.param) == (400, name)
    assert len(problem.message) < 150


def test_sample_rate_must_suit_the_format() -> None:
    with pytest.raises(UnsupportedSampleRate):
        order(response_format="opus", sample_rate=22_050)


def test_no_error_repeats_the_text() -> None:
    with pytest.raises(SpeechError) as caught:
        order(input={"secret": "text"})
    assert "secret" not in caught.value.message


def test_mapping_needs_no_text() -> None:
    assert order_from_mapping({"model": "tone", "voice": "both"}).input == ""
    with pytest.raises(MissingParameter):
        order_from_mapping({"model": "tone"})

"""What is no voice is refused with the field, a code, and what is allowed; nothing is stored."""

import json
from typing import Any

import numpy as np
import pytest

from tests.tts.api.own_voices.conftest import PATH, OwnVoices, form
from tests.tts.api.own_voices.material import (
    CONSENT,
    TRANSCRIPT,
    embedding,
    not_finite,
    recording,
    sample,
)
from tests.tts.engines.chattts.speaker_strings import embedding_encode
from tts.api import voice_body
from tts.models import Voice
from tts.services import own_voices, voice_material

NAME = "anna"
SAID = {"transcript": TRANSCRIPT, "consent": CONSENT}
RECORDED: dict[str, Any] = {"name": NAME, "recording": recording(), **SAID}


async def refusal(
    answer: Any, status: int, code: str, param: str | None, *parts: str
) -> dict[str, Any]:
    """Check an answer's envelope; returns the error."""
    assert answer.status_code == status, answer.content
    error: dict[str, Any] = answer.json()["error"]
    assert (error["code"], error["param"]) == (code, param), error
    for part in parts:
        assert part in error["message"]
    assert len(error["message"]) < 400
    assert not await Voice.objects.filter(tenant_id__isnull=False).aexists()
    return error


FIELDS_OF_JSON: list[tuple[dict[str, Any], str, str, str]] = [
    ({}, "voice_invalid", "seed", "exactly one of seed, embedding, sample and recording"),
    ({"seed": 1, "embedding": embedding()}, "voice_invalid", "embedding", "exactly one"),
    ({"seed": -1}, "invalid_value", "seed", "greater than or equal to 0"),
    ({"seed": 2**53}, "invalid_value", "seed", "less than or equal to 9007199254740991"),
    ({"seed": "5"}, "invalid_value", "seed", "valid integer"),
    ({"seed": 1.5}, "invalid_value", "seed", "integer"),
    ({"seed": True}, "invalid_value", "seed", "integer"),
    ({"seed": 1, "colour": "red"}, "invalid_value", "colour", "fields are: name, languages,"),
    ({"seed": 1, "x" * 5_000: 1}, "invalid_value", "x" * 80, "fields are: name"),
    ({"seed": 1, "languages": ["fr"]}, "invalid_value", "languages", "'zh' or 'en'"),
    ({"seed": 1, "languages": []}, "invalid_value", "languages", "at least 1"),
    ({"seed": 1, "gain_db": 25}, "invalid_value", "gain_db", "less than or equal to 24"),
    ({"seed": 1, "display_name": "x" * 101}, "invalid_value", "display_name", "at most 100"),
    ({"seed": 1, "preview_text": "a\0"}, "voice_invalid", "preview_text", "NUL"),
    ({"seed": 1, "transcript": "Hello"}, "voice_invalid", "transcript", "belongs to a sample"),
    ({"seed": 1, "name": "an na"}, "voice_invalid", "name", "Use Latin letters, digits"),
    ({"seed": 1, "name": "anna\n"}, "voice_invalid", "name", "Use Latin letters, digits"),
    ({"seed": 1, "name": "a" * 65}, "voice_invalid", "name", "at most 64"),
    ({"seed": 1, "name": ""}, "voice_invalid", "name", "Use Latin letters, digits"),
    ({"seed": 1, "name": None}, "missing_required_parameter", "name", "name"),
    ({"recording": "UklGRg=="}, "invalid_value", "recording", "multipart/form-data"),
]


async def test_fields_of_json(own: OwnVoices, subtests: pytest.Subtests) -> None:
    for fields, code, param, part in FIELDS_OF_JSON:
        with subtests.test(repr(fields)[:80]):
            answer = await own.make(**{"name": NAME} | fields)
            await refusal(answer, 400, code, param, part)


BAD_STRINGS = [
    ("embedding", "", "is empty"),
    ("embedding", "hello", "is not of base16384"),
    ("embedding", embedding()[:-2], "cut off"),
    ("embedding", "一" * 40_000, "at most 32,768"),
    ("embedding", sample(), "this is a spk_smp"),
    (
        "embedding",
        embedding_encode(np.ones(768, np.float32)),
        "has 768 numbers, speakers of this model version have 64",
    ),
    ("embedding", embedding_encode(np.zeros(64, np.float32)), "all zeros"),
    ("sample", embedding(), "this is a spk_emb"),
    ("sample", sample()[:-4], "cut off"),
    ("sample", sample(1.0), "has 1.0 seconds, 2 to 8 are taken"),
    ("sample", sample(12.0), "has 12.0 seconds, 2 to 8 are taken"),
]


async def test_strings_of_chattts(own: OwnVoices, subtests: pytest.Subtests) -> None:
    for field, text, part in BAD_STRINGS:
        said = SAID if field == "sample" else {}
        with subtests.test(f"{field} {part}"):
            answer = await own.make(NAME, **{field: text}, **said)
            await refusal(answer, 400, "voice_invalid", field, part)


BAD_RECORDINGS = [
    (b"", "cannot be read; send WAV, FLAC, MP3"),
    (b"This is a text and no audio.", "cannot be read; send WAV, FLAC, MP3"),
    (recording(1.5), "has 1.5 seconds, 2 to 8 are taken"),
    (recording(9.0), "has more than 8 seconds, 2 to 8 are taken"),
    (recording(level=0.0), "is silent"),
    (recording(level=0.005), "is silent, or nearly so"),
    (not_finite(), "not finite"),
]


async def test_recordings(own: OwnVoices, subtests: pytest.Subtests) -> None:
    for file, part in BAD_RECORDINGS:
        with subtests.test(part):
            answer = await own.upload(RECORDED | {"recording": file})
            await refusal(answer, 400, "voice_invalid", "recording", part)


async def test_large_recording(own: OwnVoices, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (voice_material, voice_body):
        monkeypatch.setattr(module, "MAX_RECORDING_BYTES", 1_000)
        answer = await own.upload(RECORDED)
        await refusal(answer, 413, "recording_too_large", "recording", "1,000 bytes")


FIELDS_OF_A_FORM: list[tuple[dict[str, Any], str, str, str]] = [
    ({"recording": None}, "missing_required_parameter", "recording", "recording"),
    ({"recording": "no file"}, "missing_required_parameter", "recording", "recording"),
    ({"name": None}, "missing_required_parameter", "name", "name"),
    ({"transcript": None}, "voice_invalid", "transcript", "the words that are spoken"),
    ({"transcript": " … "}, "voice_invalid", "transcript", "the words that are spoken"),
    ({"transcript": "a\0b"}, "voice_invalid", "transcript", "control characters"),
    ({"transcript": "a" * 100}, "voice_invalid", "transcript", "in 3.0 seconds"),
    ({"transcript": "好" * 100}, "voice_invalid", "transcript", "nobody says so much"),
    ({"transcript": "a" * 501}, "invalid_value", "transcript", "at most 500"),
    ({"consent": None}, "voice_invalid", "consent", "who agreed"),
    ({"consent": " \n"}, "voice_invalid", "consent", "who agreed"),
    ({"consent": "x" * 2_001}, "invalid_value", "consent", "at most 2000"),
    ({"seed": 1}, "voice_invalid", "recording", "not seed and recording"),
    ({"seed": "x"}, "invalid_value", "seed", "integer"),
    ({"gain_db": "nan"}, "invalid_value", "gain_db", "finite"),
    ({"languages": ["en", "fr"]}, "invalid_value", "languages", "'zh' or 'en'"),
    ({"colour": "red"}, "invalid_value", "colour", "There is no field 'colour'"),
    ({"photo": b"GIF89a"}, "invalid_value", "photo", "There is no field 'photo'"),
]


async def test_fields_of_a_form(own: OwnVoices, subtests: pytest.Subtests) -> None:
    for changes, code, param, part in FIELDS_OF_A_FORM:
        fields = {name: value for name, value in (RECORDED | changes).items() if value is not None}
        with subtests.test(repr(changes)[:80]):
            await refusal(await own.upload(fields), 400, code, param, part)


async def test_sample_without_consent(own: OwnVoices) -> None:
    answer = await own.make(NAME, sample=sample(), transcript=TRANSCRIPT)
    await refusal(answer, 400, "voice_invalid", "consent", "who agreed")


async def test_content_types(own: OwnVoices) -> None:
    for content_type in ("text/plain", "audio/wav", "", "application/jsonx"):
        answer = await own.api.post(PATH, b'{"name": "anna", "seed": 1}', content_type=content_type)
        parts = ("application/json", "multipart/form-data")
        await refusal(answer, 415, "unsupported_media_type", None, *parts)


async def test_packed_bodies(own: OwnVoices) -> None:
    for body, content_type in ((b"{}", "application/json"), form(RECORDED)):
        answer = await own.api.post(
            PATH, body, content_type=content_type, **{"Content-Encoding": "gzip"}
        )
        await refusal(answer, 415, "unsupported_media_type", None, "Content-Encoding")


BROKEN_BODIES = [
    (b'{"name": ', "application/json", "invalid_body"),
    (b'["anna"]', "application/json", "invalid_body"),
    (b'{"name": "anna", "gain_db": NaN}', "application/json", "invalid_body"),
    (b"--x\r\n", "multipart/form-data", "invalid_body"),
    (b"rubbish", "multipart/form-data; boundary=x", "missing_required_parameter"),
    (b"null", "application/json", "missing_required_parameter"),
]


async def test_broken_bodies(own: OwnVoices, subtests: pytest.Subtests) -> None:
    for body, content_type, code in BROKEN_BODIES:
        with subtests.test(repr(body)):
            answer = await own.api.post(PATH, body, content_type=content_type)
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)


async def test_lone_surrogate(own: OwnVoices) -> None:
    answer = await own.api.post(PATH, '{"name": "anna", "seed": 1, "display_name": "\\ud800"}')
    await refusal(answer, 400, "invalid_character", "display_name")


async def test_bodies_beyond_all_measure(own: OwnVoices) -> None:
    """More text, fields or files than Django takes of anybody."""
    answer = await own.make(NAME, embedding="一" * 3_000_000)
    await refusal(answer, 413, "body_too_large", None)
    answer = await own.upload(RECORDED | {"consent": "x" * 3_000_000})
    await refusal(answer, 413, "body_too_large", None)
    answer = await own.upload({f"f{number}": "" for number in range(1_100)})
    await refusal(answer, 400, "invalid_body", None, "form cannot be read")


async def test_name_that_is_taken(own: OwnVoices) -> None:
    await own.make(NAME, seed=1)
    voice = await Voice.objects.aget(name=NAME)
    voice.aliases, voice.engine = ["annie"], "tone"
    await voice.asave()
    for name in (NAME, "annie"):
        answer = await own.make(name, seed=2)
        error = answer.json()["error"]
        assert (answer.status_code, error["code"], error["param"]) == (409, "voice_exists", "name")
        assert "choose another name" in error["message"]


async def test_number_of_voices(own: OwnVoices, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_voices, "MAX_VOICES", 2)
    for name in "ab":
        assert (await own.make(name, seed=1)).status_code == 201
    # Out of use is not deleted.
    await Voice.objects.filter(name="b").aupdate(is_active=False)
    answer = await own.make("c", seed=1)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (409, "voice_limit", None)
    assert "at most 2 voices" in error["message"]
    assert (await own.make("c", key=own.other, seed=1)).status_code == 201
    assert (await own.api.delete(f"{PATH}/b")).status_code == 200
    assert (await own.make("c", seed=1)).status_code == 201


async def test_key_whose_models_take_no_own_voices(own: OwnVoices) -> None:
    answer = await own.make(NAME, key=own.elsewhere, seed=1)
    await refusal(answer, 403, "own_voices_unavailable", None, "ChatTTS")


async def test_description_names_both_bodies(own: OwnVoices) -> None:
    paths = json.loads((await own.api.get("/v1/openapi.json")).content)["paths"]
    assert set(paths["/v1/audio/voices"]) == {"get", "post"}
    assert set(paths["/v1/audio/voices/{voice_id}"]) == {"get", "delete"}
    post = paths["/v1/audio/voices"]["post"]
    content = post["requestBody"]["content"]
    assert set(content) == {"application/json", "multipart/form-data"}
    assert content["application/json"]["schema"]["required"] == ["name"]
    recorded = content["multipart/form-data"]["schema"]
    assert recorded["required"] == ["name", "recording", "transcript", "consent"]
    assert "seed" not in recorded["properties"]
    assert set(post["responses"]) == {"201", "400", "401", "403", "409", "413", "415", "503"}

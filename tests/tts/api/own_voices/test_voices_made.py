"""A tenant makes a voice of each kind, finds it, and deletes it."""

import pytest

from tests.tts.api.own_voices.conftest import PATH, OwnVoices
from tests.tts.api.own_voices.material import (
    CONSENT,
    HIDDEN,
    TRANSCRIPT,
    embedding,
    recording,
    sample,
    stereo,
)
from tts.audio.format import AudioFormat
from tts.audio.reading import audio_read
from tts.engines.chattts.speaker import embedding_decode, sample_decode
from tts.engines.chattts.voice import (
    Embedding,
    Recording,
    Sample,
    Seed,
    VoiceMaterial,
    material_unpack,
)
from tts.models import Voice

RECORDED = {"name": "anna", "transcript": TRANSCRIPT, "consent": CONSENT}


async def material_of(name: str) -> VoiceMaterial:
    voice = await Voice.objects.aget(name=name)
    return material_unpack(bytes(voice.payload or b""))


def seconds_of(file: bytes) -> float:
    return len(audio_read(file, 24_000, 10)) / 24_000


async def test_voice_of_a_seed_is_made_found_and_deleted(own: OwnVoices) -> None:
    answer = await own.make("anna", seed=42, display_name="Anna", preview_text="你好。")
    assert answer.status_code == 201
    made = answer.json()
    assert made["created"] > 0
    expected = {
        "id": "anna", "name": "Anna", "object": "voice", "origin": "seed", "language": "zh",
        "languages": ["zh", "en"], "is_public": False, "preview_text": "你好。", "aliases": [],
    }  # fmt: skip
    assert made | expected == made
    assert (await own.api.get(f"{PATH}/anna")).json() == made
    # The tenant's own come first.
    listed = (await own.api.get(f"{PATH}?model=chattts")).json()["data"]
    assert [voice["id"] for voice in listed][:2] == ["anna", "chattts_1"]
    answer = await own.api.delete(f"{PATH}/anna")
    assert answer.json() == {"id": "anna", "object": "voice.deleted", "deleted": True}
    assert "anna" not in await own.listed()
    for gone in (await own.api.get(f"{PATH}/anna"), await own.api.delete(f"{PATH}/anna")):
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "voice_not_found")


async def test_seed_is_the_same_speaker_everywhere(own: OwnVoices) -> None:
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        assert (await own.make(name, seed=seed)).status_code == 201
    found = [await material_of(name) for name in "abc"]
    assert found[0] == found[1] != found[2]
    assert found[0] == Seed(7)


async def test_embedding_is_kept_as_it_is(own: OwnVoices) -> None:
    text = embedding(3)
    answer = await own.make("anna", embedding=f" {text}\n", languages=["en"], gain_db=-2.5)
    assert (answer.status_code, answer.json()["origin"]) == (201, "embedding")
    expected = embedding_decode(text, HIDDEN).astype("<f2").tobytes()
    assert await material_of("anna") == Embedding(expected)
    voice = await Voice.objects.aget(name="anna")
    assert (voice.gain_db, voice.languages, voice.tenant_id) == (-2.5, ["en"], own.tenant.pk)


async def test_sample_is_kept_with_its_words(own: OwnVoices) -> None:
    text = sample()
    said = {"transcript": f"  {TRANSCRIPT}\n", "consent": CONSENT}
    answer = await own.make("anna", sample=text, **said)
    assert (answer.status_code, answer.json()["origin"]) == (201, "sample")
    codes = sample_decode(text, 4).astype("<u2").tobytes()
    assert await material_of("anna") == Sample(codes, 4, TRANSCRIPT)


async def test_recording_is_kept_as_opus_at_24_kilohertz(
    own: OwnVoices, subtests: pytest.Subtests
) -> None:
    files = {
        "wav": recording(),
        "48000": recording(2.0, rate=48_000),
        "16000": recording(8.0, rate=16_000),
        "mp3": recording(audio_format=AudioFormat.MP3),
        "opus": recording(audio_format=AudioFormat.OPUS),
        "stereo": stereo(),
    }
    for name, file in files.items():
        with subtests.test(name):
            fields = {**RECORDED, "name": name, "recording": file, "languages": ["zh", "en"]}
            answer = await own.upload(fields)
            assert (answer.status_code, answer.json()["origin"]) == (201, "recording")
            material = await material_of(name)
            assert isinstance(material, Recording)
            assert material.transcript == TRANSCRIPT
            assert material.audio.startswith(b"OggS")
            assert len(material.audio) < 48_000
            assert seconds_of(material.audio) == pytest.approx(seconds_of(file), abs=0.05)


async def test_null_is_the_same_as_absent(own: OwnVoices) -> None:
    answer = await own.make("anna", seed=1, embedding=None, languages=None, gain_db=None)
    assert answer.status_code == 201


async def test_repeated_request_makes_no_second_voice(own: OwnVoices) -> None:
    assert (await own.make("anna", seed=2)).status_code == 201
    error = (await own.make("anna", seed=2)).json()["error"]
    assert (error["code"], error["param"]) == ("voice_exists", "name")
    assert await Voice.objects.filter(name="anna").acount() == 1
    # What was deleted is free again.
    await own.api.delete(f"{PATH}/anna")
    assert (await own.make("anna", seed=2)).status_code == 201

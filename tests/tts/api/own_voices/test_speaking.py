"""Requests are spoken with own voices, by a real engine in this process."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async

from tests.tts.api.own_voices.conftest import PATH, OwnVoices
from tests.tts.api.own_voices.material import CONSENT, TRANSCRIPT, embedding, recording, sample
from tests.tts.consumers.http_exchange import Exchange, begin
from tts.consumers.http import SpeechHttpConsumer
from tts.engine.config import BatchingConfig, CoreConfig
from tts.engine.core import EngineCore
from tts.engine.observer import NullObserver
from tts.engine.request import Profile, SpeechRequest
from tts.engines.base import Device
from tts.engines.chattts.manifest import chattts_manifest
from tts.engines.registry import engine_create
from tts.engines.shards import LocalShards
from tts.gateway.local import EventSink, InProcessGateway, SpeechCore
from tts.gateway.stream import RequestStream
from tts.models import Voice
from tts.services import voice_deactivate
from tts.text.segment import Segment

VERSION = "chattts@1"
SAID = {"transcript": TRANSCRIPT, "consent": CONSENT}


class HeardGateway(InProcessGateway):
    """Keeps what it was asked; `opened` has the newest last."""

    def __init__(self, make_core: Callable[[EventSink], SpeechCore]) -> None:
        super().__init__(make_core, versions=(VERSION,))
        self.opened: list[SpeechRequest] = []

    def open(self, request: SpeechRequest, segments: AsyncIterator[Segment]) -> RequestStream:
        self.opened.append(request)
        return super().open(request, segments)


@pytest.fixture
def gateway(checkpoint: Path) -> HeardGateway:
    """A gateway to the tiny version, in the profile of the tier `standard`."""
    cores: list[EngineCore] = []

    def core_make(sink: EventSink) -> EngineCore:
        cores.append(EngineCore(CoreConfig(lanes=1), sink, NullObserver()))
        return cores[0]

    made = HeardGateway(core_make)
    engine = engine_create("chattts")
    shards = LocalShards(chattts_manifest(checkpoint).shards)
    engine.load(shards, Device(threads=1), Profile.STANDARD, cores[0].notify)
    cores[0].engine_add(VERSION, Profile.STANDARD, engine, BatchingConfig(max_wait_seconds=0.0))
    return made


async def ask(
    own: OwnVoices, voice: str, *, key: str = "", text: str = "Hello there, this is me."
) -> Exchange:
    headers = {
        "authorization": f"Bearer {key or own.api.key}",
        "content-type": "application/json",
    }
    exchange = begin(SpeechHttpConsumer.as_asgi(), headers=headers)
    fields = {"model": "chattts", "input": text, "voice": voice, "response_format": "pcm"}
    exchange.give(json.dumps(fields | {"seed": 5}).encode())
    return await exchange.done()


async def spoken(own: OwnVoices, voice: str, **fields: str) -> bytes:
    exchange = await ask(own, voice, **fields)
    assert exchange.status == 200, exchange.body
    assert len(exchange.body) > 4_800
    return exchange.body


async def test_each_kind_speaks_at_once(own: OwnVoices, gateway: HeardGateway) -> None:
    assert (await ask(own, "s")).status == 404
    await own.make("s", seed=1)
    await own.make("e", embedding=embedding())
    await own.make("t", sample=sample(), **SAID)
    await own.upload({"name": "r", "recording": recording(), **SAID})
    # Each of them the moment it was made.
    audio = {name: await spoken(own, name) for name in "setr"}
    assert audio["r"] != audio["s"] != audio["t"] != audio["r"]
    for name, request in zip("setr", gateway.opened, strict=True):
        (part,) = request.voice.parts
        assert part.payload == (await Voice.objects.aget(name=name)).payload
    assert await spoken(own, "r") == audio["r"]
    assert await spoken(own, "s", key=own.speaker) == audio["s"]


async def test_embeddings_mix_and_recordings_do_not(own: OwnVoices, gateway: HeardGateway) -> None:
    await own.make("a", seed=1)
    await own.make("b", embedding=embedding())
    await own.make("t", sample=sample(), **SAID)
    await own.upload({"name": "r", "recording": recording(), **SAID})
    names = ("a", "b", "chattts_1")
    payloads = {name: (await Voice.objects.aget(name=name)).payload for name in names}
    for mix, weights in (
        ("a(2)+b(1)", {"a": 2.0, "b": 1.0}),
        ("a+chattts_1(0.5)", {"a": 1.0, "chattts_1": 0.5}),
        ("a+b(3)+a", {"a": 2.0, "b": 3.0}),
    ):
        await spoken(own, mix)
        parts = {part.payload: part.weight for part in gateway.opened[-1].voice.parts}
        assert parts == {payloads[name]: weight for name, weight in weights.items()}
    asked = len(gateway.opened)
    for mix, position in (("r+a", 0), ("a(2)+t(1)", 5), ("a+r", 2)):
        exchange = await ask(own, mix)
        assert (exchange.status, exchange.error["code"]) == (400, "voice_mix_invalid")
        message = exchange.error["message"]
        assert f"at position {position}: voice" in message
        assert "cannot be mixed" in message
    assert len(gateway.opened) == asked


async def test_own_name_that_is_a_public_alias(own: OwnVoices) -> None:
    """A mix goes by whom the name stands for, here a recording."""
    alias = (await Voice.objects.aget(name="chattts_1")).aliases[0]
    await spoken(own, f"{alias}+chattts_2")
    await own.upload({"name": alias, "recording": recording(), **SAID})
    exchange = await until_refused(own, f"{alias}+chattts_2", own.api.key)
    assert exchange.error["code"] == "voice_mix_invalid"


async def test_longest_recording_leaves_room_for_a_long_sentence(own: OwnVoices) -> None:
    await own.upload({"name": "r", "recording": recording(8.0), **SAID})
    await spoken(own, "r", text="The quick brown fox jumps over the lazy dog and " * 4 + "rests.")


@pytest.mark.parametrize("end", ["deleted", "disabled", "foreign"])
async def test_voice_that_is_not_there(own: OwnVoices, end: str) -> None:
    await own.make("anna", seed=1)
    before = await spoken(own, "anna")
    key = own.api.key
    if end == "deleted":
        await own.api.delete(f"{PATH}/anna")
    elif end == "disabled":
        voice = await Voice.objects.aget(name="anna")
        await sync_to_async(voice_deactivate)(voice, changed_by="ada")
    else:
        key = own.other
    for name in ("anna", "anna+chattts_1"):
        exchange = await until_refused(own, name, key)
        assert (exchange.status, exchange.error["code"]) == (404, "voice_not_found")
        assert "available: chattts_1" in exchange.error["message"]
    if end == "disabled":
        assert "anna" not in await own.listed()
        assert (await own.api.get(f"{PATH}/anna")).status_code == 404
        # What is out of use is still its tenant's to delete.
        assert (await own.make("anna", seed=1)).status_code == 409
        assert (await own.api.delete(f"{PATH}/anna")).status_code == 200
        await own.make("anna", seed=1)
        assert await spoken(own, "anna") == before


async def until_refused(own: OwnVoices, voice: str, key: str) -> Exchange:
    """Ask until the epoch has been read again, which happens twice a second."""
    while (exchange := await ask(own, voice, key=key)).status == 200:
        pass
    return exchange

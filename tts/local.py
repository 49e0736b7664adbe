"""Speech without a server: the bundled model in this process, no database and no Redis."""

import base64
import hashlib
import uuid
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tts.engine.config import BatchingConfig, CoreConfig
from tts.engine.core import EngineCore
from tts.engine.errors import ErrorCode, error_from_code
from tts.engine.event import AudioChunk, FinishReason, SpeechFinished
from tts.engine.observer import NullObserver
from tts.engine.request import Priority, Profile, SpeechRequest, VoicePart, VoiceSpec
from tts.engines.base import Device
from tts.engines.registry import engine_create
from tts.engines.shards import LocalShards, Locate, ShardSpec
from tts.errors import VoiceNotFound
from tts.gateway.local import EventSink, InProcessGateway
from tts.text.segment import Segment
from tts.voice_catalogue import VoiceSeed, kokoro_voices, tone_voices
from tts.voice_mix import voice_mix_parse, voice_mixed

PATIENCE_SECONDS = 3600.0
_PRIORITIES = {
    Profile.REALTIME: Priority.REALTIME,
    Profile.STANDARD: Priority.STANDARD,
    Profile.HQ: Priority.OFFLINE,
}


@dataclass(frozen=True, slots=True)
class LocalModel:
    """What speaks here: an engine's name, its shards and voices; `note` says why no better one.

    `locate` finds what is in the store of shards.
    """

    engine: str
    shards: tuple[ShardSpec, ...]
    voices: tuple[VoiceSeed, ...]
    note: str = ""
    locate: Locate | None = None

    def voice(self, name: str) -> VoiceSpec:
        """A voice, an alias or a mix; raises VoiceNotFound, VoiceMixInvalid."""
        found = [(part, self._named(part.name)) for part in voice_mix_parse(name)]
        return found[0][1] if len(found) == 1 else voice_mixed(found)

    def _named(self, name: str) -> VoiceSpec:
        by_name = {seed.name: seed for seed in self.voices}
        aliases = {alias: seed for seed in self.voices for alias in seed.aliases}
        seed = by_name.get(name) or aliases.get(name)
        if seed is None:
            raise VoiceNotFound(name, tuple(by_name))
        companion = by_name.get(seed.companion)
        return self._spec(seed, None if companion is None else self._spec(companion, None))

    def _spec(self, seed: VoiceSeed, companion: VoiceSpec | None) -> VoiceSpec:
        return VoiceSpec(
            name=seed.name,
            engine=self.engine,
            parts=(VoicePart(seed.speaker or seed.name, payload=seed.payload),),
            languages=seed.languages,
            companion=companion,
            gain_db=seed.gain_db,
        )


def local_model() -> LocalModel:
    """Kokoro where its bundled voices are installed, else tones."""
    from tts.engines.kokoro.manifest import ENGINE, bundled_available, bundled_manifest

    reason = bundled_available()
    if reason is None:
        manifest = bundled_manifest()
        return LocalModel(ENGINE, manifest.shards, kokoro_voices(manifest.speakers))
    return LocalModel("tone", (_tone_config(),), tone_voices(), f"Speaking in tones: {reason}.")


def _tone_config() -> ShardSpec:
    content = b"{}"
    source = f"inline:{base64.b64encode(content).decode()}"
    digest = hashlib.sha256(content).hexdigest()
    return ShardSpec("config", "preprocess", (source,), len(content), digest)


class LocalSpeaker:
    """Speaks with one model; made by `local_speaker`."""

    def __init__(
        self, model: LocalModel, gateway: InProcessGateway, sample_rate: int, profile: Profile
    ) -> None:
        self.sample_rate = sample_rate
        self._model = model
        self._gateway = gateway
        self._profile = profile

    async def speak(
        self,
        segments: Iterable[Segment],
        *,
        voice: str,
        speed: float = 1.0,
        seed: int | None = None,
    ) -> AsyncIterator[bytes]:
        """Mono s16le audio as it is made; raises EngineError and the errors of voices."""
        request = SpeechRequest(
            request_id=uuid.uuid4().hex,
            tenant_id="local",
            version=self._model.engine,
            profile=self._profile,
            priority=_PRIORITIES[self._profile],
            voice=self._model.voice(voice),
            speed=speed,
            seed=seed,
            max_queue_seconds=PATIENCE_SECONDS,
        )
        async with self._gateway.open(request, segments_ready(segments)) as stream:
            async for event in stream:
                if isinstance(event, AudioChunk):
                    yield event.pcm
                    await stream.grant(event.samples)
                elif isinstance(event, SpeechFinished) and event.reason is FinishReason.ERROR:
                    code = event.error_code or ErrorCode.SYNTHESIS_FAILED
                    raise error_from_code(code, event.message, event.retry_after)


@asynccontextmanager
async def local_speaker(
    model: LocalModel,
    profile: Profile = Profile.REALTIME,
    *,
    numbers: Profile | None = None,
    threads: int = 2,
) -> AsyncIterator[LocalSpeaker]:
    """A speaker whose engine is loaded; it is freed at the end. Raises VersionUnavailable.

    `numbers` is the profile in whose number formats it computes, if not in its own.
    """
    opening = local_gateway(model, (profile,), lanes=threads, numbers=numbers)
    async with opening as (gateway, sample_rate):
        yield LocalSpeaker(model, gateway, sample_rate, profile)


@asynccontextmanager
async def local_gateway(
    model: LocalModel,
    profiles: Iterable[Profile],
    *,
    lanes: int,
    numbers: Profile | None = None,
) -> AsyncIterator[tuple[InProcessGateway, int]]:
    """A gateway to the model in `profiles`, as a worker with `lanes` has it, and its sample rate.

    The shards' objects are shared between the profiles. Raises VersionUnavailable.
    """
    cores: list[EngineCore] = []

    def core_make(sink: EventSink) -> EngineCore:
        cores.append(EngineCore(CoreConfig(lanes=lanes), sink, NullObserver()))
        return cores[0]

    gateway = InProcessGateway(core_make, versions=(model.engine,))
    shards = LocalShards(model.shards, model.locate)
    sample_rate = 0
    for profile in profiles:
        engine = engine_create(model.engine)
        engine.load(shards, Device(threads=lanes), profile, cores[0].notify, numbers)
        cores[0].engine_add(model.engine, profile, engine, BatchingConfig(max_wait_seconds=0.0))
        sample_rate = engine.traits.sample_rate
    await gateway.start()
    try:
        yield gateway, sample_rate
    finally:
        await gateway.stop()


async def segments_ready(segments: Iterable[Segment]) -> AsyncIterator[Segment]:
    """Segments that need no waiting, as gateways take them."""
    for segment in segments:
        yield segment

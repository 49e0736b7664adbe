"""The engine without a platform around it: the same model, core and texts in this process."""

import itertools
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from tts.engine.event import AudioChunk, FinishReason, SpeechFinished
from tts.engine.request import Priority, Profile, SpeechRequest
from tts.engines.kokoro.manifest import ENGINE as KOKORO
from tts.gateway.local import InProcessGateway
from tts.local import LocalModel, local_gateway, local_model, segments_ready
from tts.speech.splitter import PlatformSplitter
from tts.text.segment import Segment
from voicehost.bench.client import Spoken
from voicehost.bench.errors import BenchError, RequestFailed

PATIENCE_SECONDS = 60.0


class EngineSide:
    """Speaks straight through an engine core; made by `engine_side`."""

    def __init__(self, model: LocalModel, gateway: InProcessGateway) -> None:
        self._model = model
        self._gateway = gateway
        self._numbers = itertools.count()

    async def speak(self, segments: Iterable[Segment], voice: str, profile: Profile) -> Spoken:
        """Speak segments that were made before: splitting is the platform's cost.

        Raises RequestFailed.
        """
        request = self._request(voice, profile)
        first = 0.0
        samples = rate = 0
        began = time.perf_counter()
        async with self._gateway.open(request, segments_ready(segments)) as stream:
            async for event in stream:
                if isinstance(event, AudioChunk):
                    first = first or time.perf_counter()
                    samples, rate = samples + event.samples, event.sample_rate
                    await stream.grant(event.samples)
                elif isinstance(event, SpeechFinished) and event.reason is FinishReason.ERROR:
                    raise RequestFailed(f"the engine says: {event.message}")
        if not samples:
            raise RequestFailed("the engine made no audio")
        ended = time.perf_counter()
        return Spoken(first - began, ended - began, samples / rate, {})

    def _request(self, voice: str, profile: Profile) -> SpeechRequest:
        return SpeechRequest(
            request_id=f"bench-{next(self._numbers)}",
            tenant_id="bench",
            version=self._model.engine,
            profile=profile,
            priority=Priority.REALTIME if profile is Profile.REALTIME else Priority.STANDARD,
            voice=self._model.voice(voice),
            seed=1,
            max_queue_seconds=PATIENCE_SECONDS,
        )


def segments_of(text: str) -> tuple[Segment, ...]:
    """The text as the platform's splitter cuts it."""
    return tuple(PlatformSplitter().segments(text, None, None, KOKORO))


@asynccontextmanager
async def engine_side(lanes: int, profiles: Iterable[Profile]) -> AsyncIterator[EngineSide]:
    """The bundled model in `profiles`, configured as a worker with `lanes` has it.

    Raises BenchError where the bundled voices are not installed.
    """
    model = local_model()
    if model.note:
        raise BenchError(f"this benchmark needs the bundled voices. {model.note}")
    async with local_gateway(model, profiles, lanes=lanes) as (gateway, _):
        yield EngineSide(model, gateway)

"""Builds what a process needs to speak from the parts of the platform."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings

from coordination.connection import redis_async, redis_async_close
from coordination.epoch import ConfigCache
from models_registry.leases import RouteLeases
from monitoring import metrics
from monitoring.lag import loop_lag_watch
from monitoring.observer import LogObserver, MetricsObserver
from tenants.limits import Limiter
from tts.audio.encoder import StreamEncoder
from tts.audio.format import DEFAULT_RATE, AudioFormat
from tts.engines.devices import cores
from tts.gateway.redis import RedisGateway
from tts.runtime import SpeechRuntime
from tts.speech.directory import PlatformDirectory
from tts.speech.service import SpeechParts, SpeechService
from tts.speech.splitter import PlatformSplitter
from tts.text.normalise import warm_up as text_warm_up
from voicehost.selectors import catalogue_is_public

# Codecs run without the GIL; text is Python, and a second thread only lets a short
# text pass a long one.
_TEXT_THREADS = 2
_ENCODE_THREADS_MAX = 4


def runtime_build() -> SpeechRuntime:
    """The runtime of a web process, on the running event loop."""
    client = redis_async()
    process_id = settings.ENVIRONMENT.process_id
    cache = ConfigCache()
    limiter = Limiter(client, cache)
    text = ThreadPoolExecutor(_TEXT_THREADS, thread_name_prefix="text")
    encode = ThreadPoolExecutor(min(_ENCODE_THREADS_MAX, cores()), thread_name_prefix="encode")
    service = SpeechService(
        SpeechParts(
            gateway=RedisGateway(process_id, client, supervised=settings.ENVIRONMENT.supervised),
            directory=PlatformDirectory(cache),
            limiter=limiter,
            leases=RouteLeases(),
            splitter=PlatformSplitter(),
            text_executor=text,
            encode_executor=encode,
            owner=process_id,
            observers=(MetricsObserver(), LogObserver()),
        )
    )

    text.submit(text_warm_up)
    encode.submit(_codec_warm_up)

    lag = asyncio.create_task(loop_lag_watch(metrics.LOOP_LAG.observe), name="loop-lag")

    async def close() -> None:
        lag.cancel()
        await limiter.aclose()
        await redis_async_close()
        text.shutdown(wait=False, cancel_futures=True)
        encode.shutdown(wait=False)

    async def is_public() -> bool:
        return await catalogue_is_public(cache)

    return SpeechRuntime(service, cache, is_public, close)


def _codec_warm_up() -> None:
    """Load the codecs before the first listener waits for them."""
    for audio_format in AudioFormat:
        with StreamEncoder(audio_format, DEFAULT_RATE, DEFAULT_RATE) as encoder:
            encoder.encode(bytes(2 * DEFAULT_RATE // 10))
            encoder.finish()

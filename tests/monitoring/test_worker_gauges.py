"""The gauges of a worker follow its requests at every beat, also down to none."""

import redis.asyncio
from prometheus_client import REGISTRY

from monitoring.observer import MetricsObserver
from tests.scripted_core import ScriptedCore, speech_request
from tests.tts.gateway.platform_in_process import InstantLoader, Registry
from tts.consumers.batching import BatchingConsumer
from tts.engine.event import SpeechStarted
from tts.gateway.wire import CancelSent, Open, message_encode


def gauges() -> tuple[float | None, float | None]:
    return (
        REGISTRY.get_sample_value("voicehost_waiting_requests"),
        REGISTRY.get_sample_value("voicehost_active_requests"),
    )


async def test_gauges_show_what_the_worker_has_at_a_beat() -> None:
    registry = Registry("tone@1")
    consumer = BatchingConsumer(
        "w1",
        redis.asyncio.Redis(),
        ScriptedCore,
        InstantLoader(),
        registry.read,
        registry.count,
        counted=MetricsObserver().requests_counted,
    )
    intake = consumer._intake
    for serial, request_id in enumerate(("r1", "r2", "r3")):
        intake.message(message_encode(Open("g1", speech_request(request_id), serial)))
    intake.events([SpeechStarted("r1", 1, 0.0, 24_000)])
    consumer.load()
    assert gauges() == (2.0, 1.0)
    for request_id in ("r1", "r2", "r3"):
        intake.message(message_encode(CancelSent(request_id, 1)))
    consumer.load()
    assert gauges() == (0.0, 0.0)

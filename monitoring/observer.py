"""Outcomes and engine events become metrics and log lines."""

import structlog

from models_registry.shards.stats import ShardCounters, ShardStats
from monitoring import metrics
from tts.engine.observer import StepStats
from tts.engine.outcome import SpeechOutcome

log = structlog.get_logger(__name__)


_SHARD_COUNTERS = {
    metrics.SHARD_EVENTS: {
        "hit": "hits",
        "load": "loads",
        "failed_load": "failed_loads",
        "unload": "unloads",
        "refused": "refused",
    },
    metrics.SHARD_BYTES: {
        "loaded": "loaded_bytes",
        "unloaded": "unloaded_bytes",
        "freed": "freed_bytes",
    },
    metrics.SHARD_SECONDS: {"load": "load_seconds", "unload": "unload_seconds"},
}
"""The fields of a manager's counters, by metric and label."""


class MetricsObserver:
    """Counts what the engine and the web process report."""

    def __init__(self) -> None:
        self._shards = ShardCounters()

    def step_finished(self, stats: StepStats) -> None:
        """Record one engine step."""
        metrics.BATCH_SIZE.labels(stats.version, stats.profile).observe(stats.batch_size)
        metrics.STEP.labels(stats.version, stats.profile).observe(stats.step_seconds)

    def requests_counted(self, waiting: int, active: int) -> None:
        """Show what the worker has at this moment."""
        metrics.WAITING.set(waiting)
        metrics.ACTIVE.set(active)

    def shards_counted(self, stats: ShardStats) -> None:
        """Show what the worker's shards take, and count what happened since the last time."""
        metrics.SHARD_LIMIT.set(stats.limit)
        metrics.SHARD_ACCOUNTED.set(stats.accounted)
        metrics.SHARD_RESERVED.set(stats.reserved)
        metrics.SHARD_DEVICE.set(stats.reported)
        metrics.SHARD_RESIDENTS.set(len(stats.residents))
        before, now = self._shards, stats.counters
        self._shards = now
        for counter, events in _SHARD_COUNTERS.items():
            for event, field in events.items():
                counter.labels(event).inc(getattr(now, field) - getattr(before, field))

    def speech_finished(self, outcome: SpeechOutcome) -> None:
        """Record one request."""
        by = (outcome.model, outcome.tier)
        metrics.REQUESTS.labels(
            outcome.transport, outcome.model, outcome.version, outcome.tier, outcome.reason.value
        ).inc()
        if outcome.error_code:
            metrics.FAILURES.labels(outcome.error_code).inc()
        if outcome.first_audio_seconds is not None:
            metrics.FIRST_AUDIO.labels(*by).observe(outcome.first_audio_seconds)
        if outcome.rtf is not None:
            metrics.RTF.labels(*by).observe(outcome.rtf)
        metrics.DURATION.labels(*by).observe(outcome.total_seconds)
        metrics.AUDIO.labels(*by).inc(outcome.audio_seconds)
        metrics.CHARACTERS.labels(*by).inc(outcome.characters_spoken)
        stages = {
            "queue": outcome.stages.queue,
            "prepare": outcome.stages.prepare,
            "compute": outcome.stages.compute,
            "postprocess": outcome.stages.postprocess,
            "encode": outcome.encode_seconds,
            "send": outcome.send_seconds,
        }
        for stage, seconds in stages.items():
            metrics.STAGE.labels(stage).observe(seconds)


class LogObserver:
    """One line per request: what an operator searches for. Never text, never a key."""

    def speech_finished(self, outcome: SpeechOutcome) -> None:
        """Write the line."""
        log.info(
            "speech_finished",
            request_id=outcome.request_id,
            tenant_id=outcome.tenant_id,
            model=outcome.model,
            version=outcome.version,
            tier=outcome.tier,
            voice=outcome.voice,
            transport=outcome.transport,
            worker=outcome.worker_id,
            attempts=outcome.attempts,
            outcome=outcome.reason.value,
            error=outcome.error_code or None,
            characters=outcome.characters_spoken,
            audio_seconds=round(outcome.audio_seconds, 3),
            first_audio_ms=_milliseconds(outcome.first_audio_seconds),
            total_ms=_milliseconds(outcome.total_seconds),
            queue_ms=_milliseconds(outcome.stages.queue),
        )


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 1)

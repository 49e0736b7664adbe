"""How fast an engine speaks several streams at once, each window as it comes due."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.tts.engines.chattts.speaking import Bench, embedding, voice_of
from tts.engine.request import Profile
from tts.engines.base import Device
from tts.engines.chattts import SAMPLE_RATE, TOKEN_SAMPLES

TEXT = "hello there, this is a somewhat longer test of speech"
STEPS = 160


@dataclass(frozen=True, slots=True)
class Pace:
    """`first_audio` is the slowest stream's, in seconds; `real_time` each stream's own."""

    streams: int
    tokens_per_second: float
    first_audio: float

    @property
    def real_time(self) -> float:
        """How many times as fast as it is heard each stream is spoken."""
        return self.tokens_per_second * TOKEN_SAMPLES / SAMPLE_RATE / self.streams


def engine_pace(
    folder: Path, profile: Profile, device: str, batches: Sequence[int]
) -> Iterator[Pace]:
    """Speak for some steps at every number of streams; the first go does not count."""
    bench = Bench.load(folder, profile, Device(device, threads=2))
    hidden = bench.engine._config.hidden
    _speak(bench, 1, hidden)
    for streams in batches:
        yield _speak(bench, streams, hidden)
    bench.engine.close()


def _speak(bench: Bench, streams: int, hidden: int) -> Pace:
    voice = voice_of(embedding(1, hidden))
    active = [bench.prepare(TEXT, voice, seed) for seed in range(streams)]
    waiting = {utterance.utterance_id for utterance in active}
    began, first, samples = time.perf_counter(), 0.0, 0
    for _ in range(STEPS):
        for result in bench.engine.step(active):
            if result.error is not None:
                raise result.error
            samples += len(result.audio)
            if len(result.audio) and result.utterance_id in waiting:
                waiting.discard(result.utterance_id)
                first = time.perf_counter() - began
            if result.finished:
                active = [u for u in active if u.utterance_id != result.utterance_id]
        if not active:
            break
    seconds = time.perf_counter() - began
    for utterance in active:
        bench.engine.release(utterance)
    return Pace(streams, samples / TOKEN_SAMPLES / seconds, first)

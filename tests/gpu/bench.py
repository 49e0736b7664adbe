"""ChatTTS on the first CUDA device at full size, with random weights: speed, first audio, memory.

Run as `python -m tests.gpu.bench [--budget SECONDS] [--json FILE]`. What does not fit the budget
is left out, and said. The engine's part needs what checkpoints and prompts need; the backend's
part needs torch and numpy alone. `--device cpu --size tiny` tries the program without a GPU.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from tests.tts.engines.chattts.random_gpt import TINY, inputs_random, weights_random
from tts.engines.chattts.backend import CacheShape, GptWeights, Precision
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.cuda_backend import CudaBackend

BATCHES = (1, 8, 32, 64)
CONTEXT = (100, 400)
_STEPS = 30
_MB = 1e6
_SECONDS_EACH = 30.0
"""What a part may take: none begins with less of the budget left."""


class Results:
    """Lines as they come, and all of them as JSON."""

    def __init__(self, budget: float) -> None:
        self._end = time.perf_counter() + budget
        self.values: dict[str, float] = {}

    def add(self, name: str, value: float, unit: str) -> None:
        """Print a figure and keep it."""
        self.values[f"{name} [{unit}]"] = value
        say(f"  {name:52} {value:10.1f} {unit}")

    def fits(self, what: str) -> bool:
        """Whether there is time for another part; says so where there is none."""
        if time.perf_counter() + _SECONDS_EACH < self._end:
            return True
        say(f"left out for want of time: {what}")
        return False


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def median_seconds(action: Callable[[], object], times: int = _STEPS) -> float:
    """The median of what `action` takes, after three runs that do not count."""
    seconds = []
    for index in range(times + 3):
        start = time.perf_counter()
        action()
        if index >= 3:
            seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def step_seconds(backend: CudaBackend, config: GptConfig, rows: int, context: float) -> float:
    """One step of `rows` slots whose contexts are spread over a range, transfers included."""
    inputs, slots = inputs_random(config, rows), np.arange(rows, dtype=np.int32)
    most = backend.cache.positions - 1
    positions = np.linspace(min(CONTEXT[0], most), min(context, most), rows).astype(np.int32)
    return median_seconds(lambda: backend.forward(inputs, slots, positions, rows))


def backend_bench(
    results: Results,
    weights: GptWeights,
    config: GptConfig,
    precision: Precision,
    device: torch.device,
) -> None:
    """Tokens a second of the GPT with exact seeds, and what that costs against any bucket."""
    cache, speeds = CacheShape(max(BATCHES), min(1_152, config.positions)), {}
    for stable in (True, False):
        name = f"{precision}, {'exact seeds' if stable else 'any bucket'}"
        if not results.fits(name):
            return
        began = time.perf_counter()
        backend = CudaBackend(
            weights, config, cache, device=device, precision=precision, stable=stable
        )
        say(
            f"{name}: {backend.dtype}, attention by {backend.attention}, steps of "
            f"{backend.buckets} rows, rows independent: {stable}"
        )
        for rows in BATCHES:
            speeds[stable, rows] = rows / step_seconds(backend, config, rows, CONTEXT[1])
            results.add(f"{name}, batch {rows}", speeds[stable, rows], "tokens/s")
        if stable:
            results.add(f"{name}, made in", time.perf_counter() - began, "s")
            prefill_bench(results, name, backend, config)
            for part in ("weights", "cache", "buffers", "graphs"):
                results.add(f"{name}, {part}", getattr(backend.memory, part) / _MB, "MB")
        backend.close()
    for rows in BATCHES:
        cost = 100 * (1 - speeds[True, rows] / speeds[False, rows])
        results.add(f"{precision}, cost of exact seeds, batch {rows}", cost, "%")


def prefill_bench(results: Results, name: str, backend: CudaBackend, config: GptConfig) -> None:
    rows = min(backend.max_rows, backend.cache.positions)
    inputs, positions = inputs_random(config, rows), np.arange(rows, dtype=np.int32)
    seconds = median_seconds(lambda: backend.forward(inputs, positions * 0, positions, 1), 10)
    results.add(f"{name}, prefill", rows / seconds, "tokens/s")
    near, far = (step_seconds(backend, config, 8, context) for context in (100, 800))
    results.add(f"{name}, a step of 8 at 800 tokens against 100", 100 * far / near, "%")


@contextmanager
def checkpoint(size: str) -> Iterator[Path]:
    """A random checkpoint whose utterances never end by themselves."""
    from tts.engines.chattts.random_checkpoint import RandomCheckpoint, Size

    with tempfile.TemporaryDirectory(prefix="chattts-") as folder:
        RandomCheckpoint(Size(size)).write(Path(folder))
        yield Path(folder)


def engine_bench(results: Results, size: str, device: str) -> None:
    """First audio and tokens a second of the whole engine, streaming windows and vocoder."""
    from tests.tts.engines.chattts.engine_pace import engine_pace
    from tts.engine.request import Profile

    with checkpoint(size) as folder:
        for profile in (Profile.REALTIME, Profile.STANDARD):
            if not results.fits(f"engine, {profile}"):
                return
            say(f"engine, {profile}")
            for pace in engine_pace(folder, profile, device, BATCHES):
                name = f"engine, {profile}, batch {pace.streams}"
                results.add(name, pace.tokens_per_second, "tokens/s")
                results.add(f"{name}, first audio", 1e3 * pace.first_audio, "ms")
                results.add(f"{name}, times real time each", pace.real_time, "x")


def main() -> None:
    parser = argparse.ArgumentParser(description="ChatTTS on a CUDA device, random weights.")
    parser.add_argument("--budget", type=float, default=240.0, help="seconds (%(default)g)")
    parser.add_argument("--json", type=Path, help="write the figures there")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--size", choices=("tiny", "full"), default="full")
    options = parser.parse_args()
    device = torch.device(options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        say("no CUDA device is here: nothing was measured")
        return
    results = Results(options.budget)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    say(f"{name}, torch {torch.__version__}")
    config = GptConfig() if options.size == "full" else TINY
    weights = weights_random(config)
    for precision in (Precision.BF16, Precision.FP32):
        backend_bench(results, weights, config, precision, device)
    try:
        engine_bench(results, options.size, options.device)
    except ImportError as error:
        say(f"the engine was left out: {error}")
    if device.type == "cuda":
        peak = torch.cuda.max_memory_allocated(device)
        results.add("most device memory at once", peak / _MB, "MB")
    if options.json:
        options.json.write_text(json.dumps({"device": name, "results": results.values}, indent=1))


if __name__ == "__main__":
    main()

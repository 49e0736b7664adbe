"""How fast the native decoder is at full size, beside what this machine could do at most.

Run as `python -m tests.tts.engines.chattts.native_bench [threads]`. Every figure is the best of
several tries, since other processes only ever take time away.
"""

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from tests.tts.engines.chattts.random_gpt import inputs_random, weights_random
from tts.engines.chattts.backend import CacheShape, Precision
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.native.backend import NativeBackend
from tts.engines.chattts.native.packed import PackedWeights

CONFIG = GptConfig()
BATCHES = (1, 4, 8, 16, 32)
CACHE_BYTES = {Precision.FP32: 4.0, Precision.BF16: 2.0, Precision.INT8: 1.0 + 4.0 / 64}


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What numpy attains with the same threads: bytes read and float32 operations a second."""

    bandwidth: float
    flops: float


def best_of(tries: int, action: Callable[[], object]) -> float:
    """The least of the seconds that `action` takes."""
    seconds = []
    for _ in range(tries):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def ceilings_measure(threads: int) -> Ceilings:
    """Sums over more memory than the caches hold, and products of matrices that they do hold.

    OMP_NUM_THREADS=1 is wanted: each thread here computes for itself.
    """
    memory = [np.ones(1 << 25, np.int64) for _ in range(threads)]
    left = [np.ones((512, 512), np.float32) for _ in range(threads)]
    out = [np.empty((512, 512), np.float32) for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        read = best_of(5, lambda: list(pool.map(np.max, memory)))
        multiply = best_of(
            20,
            lambda: list(pool.map(lambda a, o: [np.matmul(a, a, o) for _ in range(4)], left, out)),
        )
    return Ceilings(threads * memory[0].nbytes / read, threads * 4 * 2 * 512**3 / multiply)


def step_seconds(backend: NativeBackend, rows: int, context: tuple[int, int]) -> float:
    """Seconds of one step of `rows` slots whose contexts are spread over a range."""
    inputs = inputs_random(CONFIG, rows)
    slots = np.arange(rows, dtype=np.int32)
    positions = np.linspace(*context, rows).astype(np.int32)
    return best_of(max(8, 64 // rows), lambda: backend.forward(inputs, slots, positions, rows))


def attainable(backend: NativeBackend, precision: Precision, rows: int, limits: Ceilings) -> float:
    """Seconds that reading weights and cache takes, or the products if they take longer.

    Products are held against float32 arithmetic; byte and bfloat16 instructions may go beyond.
    """
    cache = rows * 250 * CONFIG.cache_values * CACHE_BYTES[precision]
    work = 2 * rows * CONFIG.layers * 4 * CONFIG.hidden * CONFIG.hidden
    work += 2 * rows * CONFIG.layers * 3 * CONFIG.hidden * CONFIG.intermediate
    reading = (backend.weight_bytes + cache) / limits.bandwidth
    return max(reading, work / limits.flops)


def precision_bench(precision: Precision, packed: PackedWeights, threads: int) -> None:
    backend = NativeBackend(packed, CONFIG, CacheShape(32, 832), precision, threads)
    limits = ceilings_measure(threads)
    say(
        f"{precision} on {backend.instruction_set.name}, weights {packed.bytes / 1e6:.0f} MB; "
        f"here {limits.bandwidth / 1e9:.1f} GB/s, {limits.flops / 1e9:.0f} GFLOP/s fp32"
    )
    for rows in BATCHES:
        seconds = step_seconds(backend, rows, (100, 400))
        share = attainable(backend, precision, rows, limits) / seconds
        say(
            f"  batch {rows:2}: {rows / seconds:6.0f} tokens/s, {seconds * 1e3:6.1f} ms, "
            f"{share:4.0%} of fp32 arithmetic or memory"
        )
    chunk = inputs_random(CONFIG, 64)
    slot, positions = np.zeros(64, np.int32), np.arange(64, dtype=np.int32)
    prefill = best_of(6, lambda: backend.forward(chunk, slot, positions, 1))
    say(f"  prefill: {64 / prefill:.0f} tokens/s")
    grown = [step_seconds(backend, 8, (c, c)) for c in (50, 200, 400, 800)]
    read = 8 * 750 * CONFIG.cache_values * CACHE_BYTES[precision] / limits.bandwidth
    steps = " ".join(f"{s * 1e3:.1f}" for s in grown)
    say(
        f"  batch 8 at 50 200 400 800 tokens: {steps} ms; the growth is "
        f"{(grown[-1] - grown[0]) / read:.2f} times the reading of the cache"
    )
    backend.close()


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> None:
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    weights = weights_random(CONFIG)
    for precision in Precision:
        reason = NativeBackend.available(precision)
        if reason is not None:
            say(f"{precision}: {reason}")
            continue
        precision_bench(precision, PackedWeights.of(weights, CONFIG, precision), threads)


if __name__ == "__main__":
    main()

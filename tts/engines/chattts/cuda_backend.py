"""The GPT on a CUDA device: one shape of step, captured as graphs.

Libraries choose kernels, and with them the order of sums, by a product's shape. So every row,
of a prompt or of a token, is computed in a batch of one fixed number of rows, filled up with
rows that nobody reads: the kernels are always the same, and in each of them a row's numbers
depend on its own inputs alone. Smaller batches are used where the device shows, when the
backend is made, that they give the same bits. Attention is row_attention.py's.
"""

import logging
from typing import Final

import numpy as np
import torch
from torch import Tensor

from tts.engine.errors import VersionUnavailable
from tts.engines.chattts import device_memory
from tts.engines.chattts.backend import CacheShape, Floats, GptWeights, Ints, Precision
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.cuda_buffers import Buffers
from tts.engines.chattts.device_memory import DeviceMemory, memory_guard, memory_release
from tts.engines.chattts.graphs import Replay, Runner, runner_create
from tts.engines.chattts.linear import half_dtype
from tts.engines.chattts.llama import Llama, rows_check, rows_probe
from tts.engines.chattts.row_attention import row_attention

logger = logging.getLogger(__name__)

BUCKETS: Final = (8, 16, 32, 64)
"""Numbers of rows that are computed at once; the last is the one all others are held against."""
_PREFILL: Final = 32
"""Rows of a call beside one of every slot, so that prompts advance while all slots speak."""


class RowsUnstable(VersionUnavailable):
    """A row's numbers depend on its place in a batch, in batches of every size."""


class CudaBackend:
    """A `GptBackend` with weights, cache and graphs on one CUDA device.

    Buckets in which a row's bits depend on its place are not used. `stable=False` takes every
    bucket, whatever its bits: faster for few rows, and no `GptBackend` any more. `graphs=False`
    computes operation by operation, as every other device does, which is how the same code is
    tested without CUDA.
    """

    def __init__(
        self,
        weights: GptWeights,
        config: GptConfig,
        cache: CacheShape,
        *,
        device: torch.device,
        precision: Precision = Precision.FP32,
        buckets: tuple[int, ...] = BUCKETS,
        stable: bool = True,
        graphs: bool = True,
    ) -> None:
        """Copy the weights, reserve the cache, capture; raises ValueError, DeviceMemoryExhausted.

        RowsUnstable: the device computes no bucket in a way in which audio of a seed is the same.
        Nothing stays on the device when it raises.
        """
        cache.check(config)
        self.cache = cache
        self.max_rows = cache.slots + _PREFILL
        self.dtype = torch.float32 if precision is Precision.FP32 else half_dtype(device)
        self._config = config
        self._runner: Runner = runner_create(device, graphs=graphs)
        self._replays: dict[int, Replay] = {}
        self._device: Buffers | None = None
        try:
            with (
                memory_guard("ChatTTS' weights and cache"),
                self._runner.active(),
                torch.inference_mode(),
            ):
                self._settle(weights, precision, sorted(buckets), stable)
        except BaseException:
            self.close()
            raise

    @property
    def buckets(self) -> tuple[int, ...]:
        """Numbers of rows that steps are computed in."""
        return tuple(self._replays)

    @property
    def attention(self) -> str:
        """What computes attention: "triton" or "torch"."""
        return self._attention.name

    @property
    def cache_bytes(self) -> int:
        """Bytes of keys and values, those of the place for filling rows included."""
        return self.memory.cache

    def forward(
        self, inputs: Floats, slots: Ints, positions: Ints, heads: int
    ) -> tuple[Floats, Floats]:
        """See `GptBackend.forward`; raises DeviceMemoryExhausted, too."""
        rows_check(inputs, slots, positions, heads, self._config.hidden, self.max_rows, self.cache)
        device = self._opened()
        widest, rows = max(self._replays), len(inputs)
        # What a row attends to must not be computed after it, and may be computed beside it.
        order = np.argsort(positions, kind="stable") if rows > widest else None
        if order is not None:
            inputs, slots, positions = inputs[order], slots[order], positions[order]
        with memory_guard("a step"), self._runner.active(), torch.inference_mode():
            for start in range(0, rows, widest):
                part = slice(start, min(start + widest, rows))
                wanted = heads > start if order is None else bool((order[part] < heads).any())
                self._queue(device, inputs[part], slots[part], positions[part], start, wanted)
            self._runner.wait()
        hidden, logits = device.host_hidden.numpy()[:rows], device.host_logits.numpy()[:rows]
        if order is not None:
            places = np.argsort(order)
            return hidden[places], logits[places[:heads]]
        return hidden, logits[:heads]

    def close(self) -> None:
        """Free weights, cache and graphs; their memory is the device's again."""
        with self._runner.active():
            self._clear()
            self._runner.close()
        memory_release()

    def _clear(self) -> None:
        self._runner.wait()
        for replay in self._replays.values():
            replay.free()
        self._replays.clear()
        self._device = None

    def _opened(self) -> Buffers:
        if self._device is None:
            raise ValueError("the backend is closed")
        return self._device

    def _settle(
        self, weights: GptWeights, precision: Precision, widths: list[int], stable: bool
    ) -> None:
        """Build with the widest of `widths` that is as it has to be; raises RowsUnstable."""
        while not self._build(weights, precision, widths, stable):
            logger.warning("rows depend on their place among %d here", widths.pop())
            if not widths:
                message = "rows depend on their place: audio of a seed would differ"
                raise RowsUnstable(f"{message} on {self._runner.device}")
            self._clear()

    def _build(
        self, weights: GptWeights, precision: Precision, buckets: list[int], stable: bool
    ) -> bool:
        """Put everything on the device; False if the widest bucket is not as it has to be."""
        config, place, widest = self._config, self._runner.device, buckets[-1]
        before = device_memory.memory_allocated(place)
        llama = Llama(weights, config, precision, place, widest)
        held = device_memory.memory_allocated(place) - before
        self._device = device = Buffers.reserve(
            llama, self.cache, self.max_rows, widest, self.dtype, self._runner
        )
        self._attention = row_attention(
            self.cache, config.heads, config.head_size, place, self.dtype
        )
        arrays = (device.inputs, device.rows, device.hidden, device.logits)
        memory_release()
        reserved = device_memory.memory_reserved(place)
        # The widest first: the smaller ones fit the memory that its capture took.
        for rows in reversed(buckets):
            self._replays[rows] = self._capture(device, rows)
        if stable and not self._drop_unlike(device, widest):
            return False
        device.keys.zero_()
        device.values.zero_()
        self._runner.wait()
        memory_release()
        cache = device.keys.nbytes + device.values.nbytes
        self.memory = DeviceMemory(
            held,
            cache,
            sum(array.nbytes for array in arrays),
            max(0, device_memory.memory_reserved(place) - reserved),
        )
        return True

    def _capture(self, device: Buffers, rows: int) -> Replay:
        inputs, hidden, logits = (
            whole[:rows] for whole in (device.inputs, device.hidden, device.logits)
        )
        slots, positions = device.rows[:, :rows].unbind(0)
        self._fill(device)
        device.rows.copy_(device.host_rows[0])

        def compute() -> None:
            places = slots * self.cache.positions + positions

            def attend(layer: int, q: Tensor, k: Tensor, v: Tensor, out: Tensor) -> None:
                keys, values = device.keys[layer], device.values[layer]
                keys[places] = k.to(keys.dtype)
                values[places] = v.to(values.dtype)
                self._attention(q.contiguous(), keys, values, slots, positions, out)

            hidden.copy_(device.llama.hidden(inputs.clone(), positions, attend))
            logits.copy_(device.llama.logits(hidden))

        return self._runner.capture(compute)

    def _fill(self, device: Buffers) -> None:
        """Rows that nobody reads: zeros at the cache's last place."""
        device.host_inputs.zero_()
        device.host_rows[:, 0] = self.cache.slots
        device.host_rows[:, 1] = 0

    def _queue(
        self,
        device: Buffers,
        inputs: Floats,
        slots: Ints,
        positions: Ints,
        start: int,
        logits: bool,
    ) -> None:
        """One batch, whose results go to the host's rows from `start` on; nothing waits."""
        rows, widest = len(inputs), max(self._replays)
        bucket = min(size for size in self._replays if size >= rows)
        host_inputs = device.host_inputs[start : start + bucket]
        host_rows = device.host_rows[start // widest]
        host_inputs[:rows] = torch.from_numpy(inputs)
        host_inputs[rows:] = 0.0
        host_rows[0, :rows] = torch.from_numpy(slots)
        host_rows[1, :rows] = torch.from_numpy(positions)
        host_rows[0, rows:], host_rows[1, rows:] = self.cache.slots, 0
        device.inputs[:bucket].copy_(host_inputs, non_blocking=True)
        device.rows.copy_(host_rows, non_blocking=True)
        self._replays[bucket]()
        part = slice(start, start + rows)
        device.host_hidden[part].copy_(device.hidden[:rows], non_blocking=True)
        if logits:
            device.host_logits[part].copy_(device.logits[:rows], non_blocking=True)

    def _drop_unlike(self, device: Buffers, widest: int) -> bool:
        """Keep the buckets that give, for every row and place, the widest one's bits.

        False if the widest one does not do so itself.
        """
        inputs, slots, positions, random = rows_probe(self.cache, self._config, widest)
        count = len(inputs)
        order = np.arange(count, dtype=np.int32)
        expected = self._tried(device, inputs, slots, positions, order)
        for rows in list(self._replays):
            for start in range(0, count, rows):
                some = random.permutation(order[start : start + rows])
                found = self._tried(device, inputs, slots, positions, some)
                if not all(
                    np.array_equal(one[some], other)
                    for one, other in zip(expected, found, strict=True)
                ):
                    if rows == widest:
                        return False
                    self._replays.pop(rows).free()
                    break
        return True

    def _tried(
        self, device: Buffers, inputs: Floats, slots: Ints, positions: Ints, rows: Ints
    ) -> tuple[Floats, Floats]:
        self._queue(device, inputs[rows], slots[rows], positions[rows], 0, True)
        self._runner.wait()
        count = len(rows)
        hidden, logits = device.host_hidden.numpy()[:count], device.host_logits.numpy()[:count]
        return hidden.copy(), logits.copy()

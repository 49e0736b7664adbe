"""The decoder by our own C++, behind the interface that the step loop knows."""

import threading
import weakref

import numpy as np

from tts.engines.chattts.backend import (
    CacheShape,
    Floats,
    GptWeights,
    Ints,
    Precision,
)
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.native.binding import NativeError, library
from tts.engines.chattts.native.declarations import InstructionSet
from tts.engines.chattts.native.packed import PackedWeights, unsuitable

_MOST_ROWS = 64


class NativeBackend:
    """A decoder with its own cache and `threads` threads, its caller among them.

    Keys and values are kept in the precision of the weights. Threads sleep between calls that
    are more than a moment apart.
    """

    def __init__(
        self,
        weights: GptWeights | PackedWeights,
        config: GptConfig,
        cache: CacheShape,
        precision: Precision,
        threads: int,
    ) -> None:
        """Pack the weights, unless they are packed already, and reserve the cache.

        Raises ValueError, MemoryError and NativeError as PackedPart does, and for threads or a
        cache out of range: its positions are the model's at most.
        """
        cache.check(config)
        packed = (
            weights
            if isinstance(weights, PackedWeights)
            else PackedWeights.of(weights, config, precision)
        )
        if packed.config != config or packed.precision is not precision:
            raise ValueError("the packed weights are of another configuration or precision")
        self.cache = cache
        self.max_rows = _MOST_ROWS
        self.threads = threads
        self.instruction_set = packed.instruction_set
        self.weight_bytes = packed.bytes
        self._hidden = config.hidden
        self._outputs = packed.outputs
        self._library = packed.library
        self._lock = threading.Lock()
        self._decoder = self._library.decoder_create(
            packed.handle, precision, cache.slots, cache.positions, threads
        )
        self._free = weakref.finalize(self, self._library.decoder_free, self._decoder)
        # At the end of the process a thread may still be computing with it; memory goes by itself.
        self._free.atexit = False

    @staticmethod
    def available(precision: Precision = Precision.FP32) -> str | None:
        """None when it can be used here, else the reason. May compile for some seconds."""
        try:
            found = library().supports(precision, InstructionSet.BEST)
        except NativeError as error:
            return str(error)
        return None if found is not None else unsuitable(precision)

    @property
    def cache_bytes(self) -> int:
        """Bytes of memory that the cache takes."""
        with self._lock:
            self._require_open()
            return self._library.decoder_cache_bytes(self._decoder)

    def forward(
        self, inputs: Floats, slots: Ints, positions: Ints, heads: int
    ) -> tuple[Floats, Floats]:
        """Compute rows; see GptBackend. More than `max_rows` are computed in parts."""
        rows = len(slots)
        if inputs.shape != (rows, self._hidden):
            raise ValueError(f"inputs are {inputs.shape}, expected {(rows, self._hidden)}")
        if slots.shape != (rows,) or positions.shape != (rows,):
            raise ValueError(f"{slots.shape} slots and {positions.shape} positions: one a row each")
        if slots.dtype != np.int32 or positions.dtype != np.int32:
            raise ValueError(f"slots and positions are int32, not {slots.dtype}, {positions.dtype}")
        if not 0 <= heads <= rows:
            raise ValueError(f"logits of {heads} rows, there are {rows}")
        inputs = np.ascontiguousarray(inputs, dtype=np.float32)
        slots, positions = np.ascontiguousarray(slots), np.ascontiguousarray(positions)
        hidden = np.empty((rows, self._hidden), np.float32)
        logits = np.empty((heads, self._outputs), np.float32)
        with self._lock:
            self._require_open()
            self._library.decoder_forward(self._decoder, inputs, slots, positions, hidden, logits)
        return hidden, logits

    def close(self) -> None:
        """Free the cache, the threads and the hold of the weights; from any thread, repeatedly."""
        with self._lock:
            self._free()

    def _require_open(self) -> None:
        if not self._free.alive:
            raise ValueError("the backend is closed")

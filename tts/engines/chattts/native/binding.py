"""The C interface of the compiled decoder, with its codes as exceptions.

NativeError(RuntimeError)   the library failed, or cannot be used here
"""

import ctypes
import functools
from collections.abc import Sequence

from tts.engines.chattts.backend import Floats, Ints, Precision
from tts.engines.chattts.native.build import BuildError, library_build
from tts.engines.chattts.native.declarations import (
    HANDLE,
    INT,
    PRECISIONS,
    SIGNATURES,
    Array,
    InstructionSet,
    Layer,
    Shape,
)


class NativeError(RuntimeError):
    """The compiled decoder failed, or cannot be used on this machine."""


_INVALID, _NO_MEMORY = 1, 2


class Library:
    """The functions of the library. Handles are freed by their owners, once."""

    def __init__(self, path: str) -> None:
        try:
            self._functions = ctypes.CDLL(path)
        except OSError as error:
            raise NativeError(f"the compiled decoder cannot be loaded: {error}") from error
        for name, (result, *arguments) in SIGNATURES.items():
            function = getattr(self._functions, name)
            function.restype = result
            function.argtypes = arguments

    def supports(self, precision: Precision, wanted: InstructionSet) -> InstructionSet | None:
        """Which instructions would multiply weights of this precision; None if none can."""
        found = self._functions.gpt_supports(PRECISIONS[precision], wanted)
        return InstructionSet(found) if found else None

    def weights_create(
        self,
        shape: Shape,
        precision: Precision,
        wanted: InstructionSet,
        layers: range,
        *,
        output: bool,
    ) -> int:
        """Reserve memory for some layers and perhaps the output; returns their handle."""
        created = HANDLE()
        self._check(
            self._functions.gpt_weights_create(
                ctypes.byref(shape),
                PRECISIONS[precision],
                wanted,
                layers.start,
                len(layers),
                output,
                ctypes.byref(created),
            )
        )
        return _value(created)

    def weights_layer(self, weights: int, index: int, layer: Layer) -> None:
        """Pack one layer."""
        self._check(self._functions.gpt_weights_layer(weights, index, ctypes.byref(layer)))

    def weights_output(self, weights: int, norm: Array, heads: Array) -> None:
        """Pack the last norm and the heads."""
        self._check(self._functions.gpt_weights_output(weights, norm, heads))

    def weights_join(self, parts: Sequence[int]) -> int:
        """One handle for several parts of a model; they are kept until it is freed."""
        handles = (HANDLE * len(parts))(*parts)
        joined = HANDLE()
        self._check(self._functions.gpt_weights_join(handles, len(parts), ctypes.byref(joined)))
        return _value(joined)

    def weights_bytes(self, weights: int) -> int:
        """Memory that they take."""
        return int(self._functions.gpt_weights_bytes(weights))

    def weights_free(self, weights: int) -> None:
        """Give them up; decoders that use them keep them until they go, too."""
        self._functions.gpt_weights_free(weights)

    def decoder_create(
        self, weights: int, cache: Precision, slots: int, positions: int, threads: int
    ) -> int:
        """Reserve a cache and start threads; returns the decoder's handle."""
        created = HANDLE()
        self._check(
            self._functions.gpt_decoder_create(
                weights, PRECISIONS[cache], slots, positions, threads, ctypes.byref(created)
            )
        )
        return _value(created)

    def decoder_forward(
        self,
        decoder: int,
        inputs: Floats,
        slots: Ints,
        positions: Ints,
        hidden: Floats,
        logits: Floats,
    ) -> None:
        """Compute rows into `hidden`, and `logits` of as many first rows as it has.

        Other threads of Python run meanwhile.
        """
        self._check(
            self._functions.gpt_decoder_forward(
                decoder,
                Array.of(inputs),
                slots.ctypes.data,
                positions.ctypes.data,
                len(slots),
                len(logits),
                hidden.ctypes.data,
                hidden.size,
                logits.ctypes.data,
                logits.size,
            )
        )

    def decoder_cache_bytes(self, decoder: int) -> int:
        """Memory that its cache takes."""
        return int(self._functions.gpt_decoder_cache_bytes(decoder))

    def decoder_free(self, decoder: int) -> None:
        """Stop its threads, free its cache and its hold of the weights."""
        self._functions.gpt_decoder_free(decoder)

    def projections_create(self, precision: Precision, wanted: InstructionSet, threads: int) -> int:
        """Start threads for matrices of one precision; returns the handle."""
        created = HANDLE()
        self._check(
            self._functions.gpt_projections_create(
                PRECISIONS[precision], wanted, threads, ctypes.byref(created)
            )
        )
        return _value(created)

    def projections_add(self, projections: int, weights: Floats, bias: Floats) -> int:
        """Pack a matrix (outputs, inputs) with its bias (outputs,); returns its index."""
        index = INT()
        self._check(
            self._functions.gpt_projections_add(
                projections,
                Array.of(weights),
                Array.of(bias),
                weights.shape[1],
                ctypes.byref(index),
            )
        )
        return index.value

    def projections_multiply(
        self, projections: int, index: int, inputs: Array, outputs: Array
    ) -> None:
        """Write the products of rows to `outputs`. Other threads of Python run meanwhile."""
        self._check(
            self._functions.gpt_projections_multiply(
                projections, index, inputs, outputs.data, outputs.count
            )
        )

    def projections_add_block(
        self,
        projections: int,
        taps: Array,
        bias: Array,
        dilation: int,
        epsilon: float,
        matrices: tuple[int, int],
    ) -> int:
        """Make a ConvNeXt block of the two `matrices`, wide and narrow; returns its index."""
        index = INT()
        self._check(
            self._functions.gpt_projections_add_block(
                projections, taps, bias, dilation, epsilon, *matrices, ctypes.byref(index)
            )
        )
        return index.value

    def projections_run_block(
        self, projections: int, index: int, frames: Array, outputs: Array
    ) -> None:
        """Write a block's frames to `outputs`. Other threads of Python run meanwhile."""
        self._check(
            self._functions.gpt_projections_run_block(
                projections, index, frames, outputs.data, outputs.count
            )
        )

    def projections_bytes(self, projections: int) -> int:
        """Memory that they take."""
        return int(self._functions.gpt_projections_bytes(projections))

    def projections_free(self, projections: int) -> None:
        """Stop the threads and free the matrices."""
        self._functions.gpt_projections_free(projections)

    def _check(self, code: int) -> None:
        if code == 0:
            return
        message = self._functions.gpt_message().decode(errors="replace")
        if code == _INVALID:
            raise ValueError(message)
        if code == _NO_MEMORY:
            raise MemoryError(message)
        raise NativeError(message)


def _value(handle: ctypes.c_void_p) -> int:
    if handle.value is None:
        raise NativeError("the library gave no handle")
    return handle.value


@functools.cache
def _load() -> Library | NativeError:
    # A failed build is not tried again by this process: it would fail alike, slowly.
    try:
        return Library(str(library_build()))
    except (BuildError, NativeError) as error:
        return NativeError(str(error))


def library() -> Library:
    """The library, compiled if need be. Raises NativeError, at each call, with the reason."""
    found = _load()
    if isinstance(found, NativeError):
        raise NativeError(str(found)) from found
    return found

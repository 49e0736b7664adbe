"""The C interface of the compiled decoder, with its codes as exceptions.

NativeError(RuntimeError)   the library failed, or cannot be used here
"""

import ctypes
import functools
from enum import IntEnum

import numpy as np

from tts.engines.chattts.backend import Floats, Ints, Precision
from tts.engines.chattts.native.build import BuildError, library_build


class NativeError(RuntimeError):
    """The compiled decoder failed, or cannot be used on this machine."""


class InstructionSet(IntEnum):
    """What computes; BEST takes the widest that the processor has."""

    BEST = 0
    AVX2 = 1
    AVX512 = 2


class Shape(ctypes.Structure):
    """gpt_shape: the model's dimensions."""

    _fields_ = (
        ("layers", ctypes.c_int32),
        ("hidden", ctypes.c_int32),
        ("heads", ctypes.c_int32),
        ("intermediate", ctypes.c_int32),
        ("outputs", ctypes.c_int32),
        ("norm_epsilon", ctypes.c_float),
        ("rope_theta", ctypes.c_float),
    )


class Array(ctypes.Structure):
    """gpt_array: where float32 values are, and how many. It does not keep them alive."""

    _fields_ = (("data", ctypes.c_void_p), ("count", ctypes.c_size_t))

    @classmethod
    def of(cls, values: Floats) -> "Array":
        """Point to the values of a C-contiguous float32 array."""
        if values.dtype != np.float32 or not values.flags.c_contiguous:
            raise ValueError("the library takes contiguous float32 arrays")
        return cls(values.ctypes.data, values.size)


class Layer(ctypes.Structure):
    """gpt_layer: the arrays of one layer."""

    _fields_ = (
        ("input_norm", Array),
        ("qkv", Array),
        ("attention", Array),
        ("output_norm", Array),
        ("gate_up", Array),
        ("down", Array),
    )


_CODES: dict[Precision, int] = {Precision.FP32: 0, Precision.BF16: 1, Precision.INT8: 2}
_INVALID, _NO_MEMORY = 1, 2

_HANDLE = ctypes.c_void_p
_INT = ctypes.c_int32
_SIZE = ctypes.c_size_t
_SIGNATURES: dict[str, tuple[object, ...]] = {
    "gpt_message": (ctypes.c_char_p,),
    "gpt_supports": (_INT, _INT, _INT),
    "gpt_weights_create": (_INT, ctypes.POINTER(Shape), _INT, _INT, ctypes.POINTER(_HANDLE)),
    "gpt_weights_layer": (_INT, _HANDLE, _INT, ctypes.POINTER(Layer)),
    "gpt_weights_output": (_INT, _HANDLE, Array, Array),
    "gpt_weights_bytes": (_SIZE, _HANDLE),
    "gpt_weights_free": (None, _HANDLE),
    "gpt_decoder_create": (_INT, _HANDLE, _INT, _INT, _INT, _INT, ctypes.POINTER(_HANDLE)),
    "gpt_decoder_forward": (
        *(_INT, _HANDLE, Array, ctypes.c_void_p, ctypes.c_void_p, _SIZE, _SIZE),
        *(ctypes.c_void_p, _SIZE, ctypes.c_void_p, _SIZE),
    ),
    "gpt_decoder_cache_bytes": (_SIZE, _HANDLE),
    "gpt_decoder_free": (None, _HANDLE),
    "gpt_projections_create": (_INT, _INT, _INT, _INT, ctypes.POINTER(_HANDLE)),
    "gpt_projections_add": (_INT, _HANDLE, Array, Array, _INT, ctypes.POINTER(_INT)),
    "gpt_projections_multiply": (_INT, _HANDLE, _INT, Array, ctypes.c_void_p, _SIZE),
    "gpt_projections_add_block": (
        *(_INT, _HANDLE, Array, Array, _INT, ctypes.c_float, _INT, _INT, ctypes.POINTER(_INT)),
    ),
    "gpt_projections_run_block": (_INT, _HANDLE, _INT, Array, ctypes.c_void_p, _SIZE),
    "gpt_projections_bytes": (_SIZE, _HANDLE),
    "gpt_projections_free": (None, _HANDLE),
}


class Library:
    """The functions of the library. Handles are freed by their owners, once."""

    def __init__(self, path: str) -> None:
        try:
            self._functions = ctypes.CDLL(path)
        except OSError as error:
            raise NativeError(f"the compiled decoder cannot be loaded: {error}") from error
        for name, (result, *arguments) in _SIGNATURES.items():
            function = getattr(self._functions, name)
            function.restype = result
            function.argtypes = arguments

    def supports(self, precision: Precision, wanted: InstructionSet) -> InstructionSet | None:
        """Which instructions would multiply weights of this precision; None if none can."""
        found = self._functions.gpt_supports(_CODES[precision], wanted)
        return InstructionSet(found) if found else None

    def weights_create(self, shape: Shape, precision: Precision, wanted: InstructionSet) -> int:
        """Reserve memory for weights; returns their handle."""
        created = _HANDLE()
        self._check(
            self._functions.gpt_weights_create(
                ctypes.byref(shape), _CODES[precision], wanted, ctypes.byref(created)
            )
        )
        return _value(created)

    def weights_layer(self, weights: int, index: int, layer: Layer) -> None:
        """Pack one layer."""
        self._check(self._functions.gpt_weights_layer(weights, index, ctypes.byref(layer)))

    def weights_output(self, weights: int, norm: Array, heads: Array) -> None:
        """Pack the last norm and the heads."""
        self._check(self._functions.gpt_weights_output(weights, norm, heads))

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
        created = _HANDLE()
        self._check(
            self._functions.gpt_decoder_create(
                weights, _CODES[cache], slots, positions, threads, ctypes.byref(created)
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
        created = _HANDLE()
        self._check(
            self._functions.gpt_projections_create(
                _CODES[precision], wanted, threads, ctypes.byref(created)
            )
        )
        return _value(created)

    def projections_add(self, projections: int, weights: Floats, bias: Floats) -> int:
        """Pack a matrix (outputs, inputs) with its bias (outputs,); returns its index."""
        index = _INT()
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
        index = _INT()
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

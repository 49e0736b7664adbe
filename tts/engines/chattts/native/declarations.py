"""What the compiled decoder's C interface (api.hpp) looks like to ctypes."""

import ctypes
from enum import IntEnum

import numpy as np

from tts.engines.chattts.backend import Floats, Precision


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


PRECISIONS: dict[Precision, int] = {Precision.FP32: 0, Precision.BF16: 1, Precision.INT8: 2}

HANDLE = ctypes.c_void_p
INT = ctypes.c_int32
SIZE = ctypes.c_size_t
SIGNATURES: dict[str, tuple[object, ...]] = {
    "gpt_message": (ctypes.c_char_p,),
    "gpt_supports": (INT, INT, INT),
    "gpt_weights_create": (
        *(INT, ctypes.POINTER(Shape), INT, INT, INT, INT, INT, ctypes.POINTER(HANDLE)),
    ),
    "gpt_weights_layer": (INT, HANDLE, INT, ctypes.POINTER(Layer)),
    "gpt_weights_output": (INT, HANDLE, Array, Array),
    "gpt_weights_join": (INT, ctypes.POINTER(HANDLE), SIZE, ctypes.POINTER(HANDLE)),
    "gpt_weights_bytes": (SIZE, HANDLE),
    "gpt_weights_free": (None, HANDLE),
    "gpt_decoder_create": (INT, HANDLE, INT, INT, INT, INT, ctypes.POINTER(HANDLE)),
    "gpt_decoder_forward": (
        *(INT, HANDLE, Array, ctypes.c_void_p, ctypes.c_void_p, SIZE, SIZE),
        *(ctypes.c_void_p, SIZE, ctypes.c_void_p, SIZE),
    ),
    "gpt_decoder_cache_bytes": (SIZE, HANDLE),
    "gpt_decoder_free": (None, HANDLE),
    "gpt_projections_create": (INT, INT, INT, INT, ctypes.POINTER(HANDLE)),
    "gpt_projections_add": (INT, HANDLE, Array, Array, INT, ctypes.POINTER(INT)),
    "gpt_projections_multiply": (INT, HANDLE, INT, Array, ctypes.c_void_p, SIZE),
    "gpt_projections_add_block": (
        *(INT, HANDLE, Array, Array, INT, ctypes.c_float, INT, INT, ctypes.POINTER(INT)),
    ),
    "gpt_projections_run_block": (INT, HANDLE, INT, Array, ctypes.c_void_p, SIZE),
    "gpt_projections_bytes": (SIZE, HANDLE),
    "gpt_projections_free": (None, HANDLE),
}

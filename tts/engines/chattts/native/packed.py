"""A model's weights as the kernels read them, in parts that models with the same layers share."""

import weakref
from collections.abc import Sequence
from typing import Self

import numpy as np

from tts.engines.chattts.backend import Floats, GptWeights, LayerWeights, Precision
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.native.binding import Library, NativeError, library
from tts.engines.chattts.native.declarations import Array, InstructionSet, Layer, Shape


class PackedPart:
    """Some layers of a model, or its output (the last norm and the heads), or both.

    Keeps nothing of the arrays that it is made from. Freed with the last of it and of what uses
    it. Raises ValueError for weights of another shape than `config` or with values that are not
    finite, MemoryError, and NativeError where this machine cannot compute them.
    """

    def __init__(
        self,
        config: GptConfig,
        precision: Precision,
        *,
        first: int = 0,
        layers: Sequence[LayerWeights] = (),
        output: tuple[Floats, Floats] | None = None,
        instruction_set: InstructionSet = InstructionSet.BEST,
    ) -> None:
        """Pack `layers` as the model's from number `first` on; `output` is (norm, heads)."""
        self.config = config
        self.precision = precision
        self.library: Library = library()
        chosen = self.library.supports(precision, instruction_set)
        if chosen is None:
            raise NativeError(unsuitable(precision))
        self.instruction_set = chosen
        self.handle = self.library.weights_create(
            _shape(config),
            precision,
            instruction_set,
            range(first, first + len(layers)),
            output=output is not None,
        )
        self._free = weakref.finalize(self, self.library.weights_free, self.handle)
        for index, layer in enumerate(layers, first):
            self._pack(index, layer)
        if output is not None:
            norm, heads = (np.ascontiguousarray(values, dtype=np.float32) for values in output)
            self.library.weights_output(self.handle, Array.of(norm), Array.of(heads))

    @property
    def bytes(self) -> int:
        """Memory that it takes."""
        return self.library.weights_bytes(self.handle)

    def _pack(self, index: int, layer: LayerWeights) -> None:
        # The names keep converted copies alive until they are packed.
        arrays = [
            np.ascontiguousarray(values, dtype=np.float32)
            for values in (
                layer.input_norm,
                layer.qkv,
                layer.attention,
                layer.output_norm,
                layer.gate_up,
                layer.down,
            )
        ]
        try:
            self.library.weights_layer(self.handle, index, Layer(*map(Array.of, arrays)))
        except ValueError as error:
            raise ValueError(f"layer {index}: {error}") from error


class PackedWeights:
    """All parts of a model together, for any number of backends; the parts stay while it does."""

    def __init__(self, parts: Sequence[PackedPart]) -> None:
        """Raises ValueError unless the parts are of one model; whole they need be for a decoder."""
        if not parts:
            raise ValueError("there are no parts")
        first = parts[0]
        if any((part.config, part.precision) != (first.config, first.precision) for part in parts):
            raise ValueError("the parts are of several configurations or precisions")
        self.config = first.config
        self.precision = first.precision
        self.instruction_set = first.instruction_set
        self.library = first.library
        self.outputs = self.config.codebooks * self.config.audio_tokens
        self.handle = self.library.weights_join([part.handle for part in parts])
        self._free = weakref.finalize(self, self.library.weights_free, self.handle)

    @classmethod
    def of(
        cls,
        weights: GptWeights,
        config: GptConfig,
        precision: Precision,
        instruction_set: InstructionSet = InstructionSet.BEST,
    ) -> Self:
        """A whole model as one part; raises as PackedPart does."""
        if len(weights.layers) != config.layers:
            raise ValueError(f"{len(weights.layers)} layers given, {config.layers} configured")
        whole = PackedPart(
            config,
            precision,
            layers=weights.layers,
            output=(weights.norm, weights.heads),
            instruction_set=instruction_set,
        )
        return cls([whole])

    @property
    def bytes(self) -> int:
        """Memory that its parts take."""
        return self.library.weights_bytes(self.handle)


def unsuitable(precision: Precision) -> str:
    """Why a processor cannot multiply weights of this precision."""
    return f"this processor has no instructions for {precision}: AVX2 with FMA is the least"


def _shape(config: GptConfig) -> Shape:
    return Shape(
        config.layers,
        config.hidden,
        config.heads,
        config.intermediate,
        config.codebooks * config.audio_tokens,
        config.norm_epsilon,
        config.rope_theta,
    )

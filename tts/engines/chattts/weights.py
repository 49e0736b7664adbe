"""A checkpoint's bytes as the arrays that our step loop works on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tts.engine.errors import VersionUnavailable
from tts.engines.chattts import layout
from tts.engines.chattts.backend import Floats, GptWeights, LayerWeights
from tts.engines.chattts.checkpoint import canonical
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.layout import G, V
from tts.engines.chattts.tensor_file import Buffer, TensorFile


@dataclass(frozen=True, slots=True)
class Embeddings:
    """Tokens as vectors: `text` (text tokens, h), `audio` (codebooks, audio tokens, h)."""

    text: Floats
    audio: Floats

    @property
    def bytes(self) -> int:
        """Memory that they take."""
        return self.text.nbytes + self.audio.nbytes

    def codes(self, codes: NDArray[np.integer]) -> Floats:
        """Audio tokens (n, codebooks) as inputs (n, h): the sum over codebooks, in their order."""
        total: Floats = self.audio[0][codes[:, 0]]
        for book in range(1, len(self.audio)):
            total += self.audio[book][codes[:, book]]
        return total

    def prompt(
        self,
        ids: Sequence[int],
        speaker_at: int | None = None,
        speaker: Floats | None = None,
        sample: NDArray[np.integer] | None = None,
    ) -> Floats:
        """A prompt's inputs (n, h): text tokens, then a sample's audio tokens (codebooks, t).

        `speaker` (h,) stands at position `speaker_at`; normalise it before.
        """
        inputs: Floats = self.text[np.asarray(ids, np.int64)]
        if speaker_at is not None and speaker is not None:
            inputs[speaker_at] = speaker
        if sample is None:
            return inputs
        return np.concatenate((inputs, self.codes(sample.T)))


def gpt_weights(config: GptConfig, gpt: Buffer, embed: Buffer) -> GptWeights:
    """The decoder from the bytes of gpt/model.safetensors and Embed.safetensors.

    Everything is copied, because most of it is fused: afterwards the bytes can go.
    Raises VersionUnavailable naming the tensor that is missing or has another shape.
    """
    layers = range(config.layers)
    norm, heads = output_weights(config, gpt, embed, layers)
    return GptWeights(layer_weights(config, gpt, layers), norm, heads)


def layer_weights(config: GptConfig, content: Buffer, layers: range) -> tuple[LayerWeights, ...]:
    """The layers of a shard that has exactly these, copied; raises VersionUnavailable."""
    file = _file(layout.GPT, content, layout.layer_shapes(config, layers))
    return tuple(_layer(file, f"layers.{index}") for index in layers)


def output_weights(
    config: GptConfig, content: Buffer, embed: Buffer, layers: range
) -> tuple[Floats, Floats]:
    """The last norm (h,), from the shard of the last `layers`, and the heads of audio tokens."""
    file = _file(layout.GPT, content, layout.layer_shapes(config, layers))
    heads = _file(layout.EMBED, embed, layout.embed_shapes(config))
    books = [_folded(heads, f"head_code.{book}") for book in range(config.codebooks)]
    return np.array(file.floats("norm.weight")), np.concatenate(books)


def embeddings(config: GptConfig, embed: Buffer) -> Embeddings:
    """The embeddings from the bytes of Embed.safetensors, copied; raises VersionUnavailable."""
    file = _file(layout.EMBED, embed, layout.embed_shapes(config))
    books = [file.floats(f"emb_code.{book}.weight") for book in range(config.codebooks)]
    return Embeddings(np.array(file.floats("emb_text.weight")), np.stack(books))


def text_head(config: GptConfig, embed: Buffer) -> Floats:
    """The head (text tokens, h) that refinement needs; raises VersionUnavailable."""
    file = _file(layout.EMBED, embed, layout.embed_shapes(config))
    return _folded(file, "head_text")


def _file(name: str, content: Buffer, shapes: layout.Shapes) -> TensorFile:
    file = canonical(TensorFile.read(name, content))
    file.check(shapes)
    return file


def _layer(file: TensorFile, name: str) -> LayerWeights:
    attention, mlp = f"{name}.self_attn", f"{name}.mlp"
    return LayerWeights(
        input_norm=np.array(file.floats(f"{name}.input_layernorm.weight")),
        qkv=_fused(file, *(f"{attention}.{part}_proj.weight" for part in "qkv")),
        attention=np.array(file.floats(f"{attention}.o_proj.weight")),
        output_norm=np.array(file.floats(f"{name}.post_attention_layernorm.weight")),
        gate_up=_fused(file, f"{mlp}.gate_proj.weight", f"{mlp}.up_proj.weight"),
        down=np.array(file.floats(f"{mlp}.down_proj.weight")),
    )


def _fused(file: TensorFile, *names: str) -> Floats:
    return np.concatenate([file.floats(name) for name in names])


def _folded(file: TensorFile, head: str) -> Floats:
    """Weight normalisation, W = g v / |v| by row (Salimans and Kingma 2016, equation 2)."""
    lengths, directions = file.floats(f"{head}.{G}"), file.floats(f"{head}.{V}")
    norms = np.sqrt(np.einsum("ij,ij->i", directions, directions, dtype=np.float64))
    if not norms.all():
        row = int(np.argmin(norms))
        raise VersionUnavailable(
            f"{file.name}: row {row} of tensor '{head}.{V}' is all zeros, which is no direction"
        )
    folded: Floats = (directions * (lengths / norms[:, None])).astype(np.float32)
    return folded

"""The decoder's weights in shards: all in one, as its authors publish them, or by groups of layers.

A version that changes some layers then shares the shards of the others, on disk and in memory.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tts.engines.base import Shards
from tts.engines.chattts import layout
from tts.engines.chattts.backend import Floats, GptWeights, LayerWeights
from tts.engines.chattts.checkpoint import canonical
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.tensor_file import TensorFile, tensor_file_open
from tts.engines.chattts.weights import layer_weights, output_weights

WHOLE = "gpt"
LAYERS = 4
"""Layers of a shard: 151 MB of the release in float32, a fifth of the decoder."""


@dataclass(frozen=True, slots=True)
class GptShard:
    """A shard of the decoder; the last one has the last norm, too."""

    name: str
    layers: range


def gpt_shards(config: GptConfig) -> tuple[GptShard, ...]:
    """The shards of a version's decoder, in the order of their layers."""
    if not config.groups:
        return (GptShard(WHOLE, range(config.layers)),)
    found, first = [], 0
    for count in config.groups:
        layers = range(first, first + count)
        found.append(GptShard(f"{WHOLE}-{layers.start:02d}-{layers.stop - 1:02d}", layers))
        first += count
    return tuple(found)


def layers_read(shards: Shards, config: GptConfig, shard: GptShard) -> tuple[LayerWeights, ...]:
    """The layers of one shard; raises VersionUnavailable."""
    return layer_weights(config, shards.read(shard.name), shard.layers)


def output_read(shards: Shards, config: GptConfig) -> tuple[Floats, Floats]:
    """The last norm and the heads; raises VersionUnavailable."""
    last = gpt_shards(config)[-1]
    return output_weights(config, shards.read(last.name), shards.read("embed"), last.layers)


def gpt_read(shards: Shards, config: GptConfig) -> GptWeights:
    """The whole decoder; raises VersionUnavailable."""
    layers = [layers_read(shards, config, shard) for shard in gpt_shards(config)]
    norm, heads = output_read(shards, config)
    return GptWeights(tuple(layer for some in layers for layer in some), norm, heads)


def grouped(config: GptConfig) -> GptConfig:
    """The same decoder, in shards of a few layers each."""
    full, rest = divmod(config.layers, LAYERS)
    return replace(config, groups=(LAYERS,) * full + ((rest,) if rest else ()))


def gpt_split(whole: Path, config: GptConfig, folder: Path) -> dict[str, Path]:
    """Write the shards of `config` from a file with all layers; their files by name.

    Equal tensors make equal bytes. Raises VersionUnavailable, OSError.
    """
    written = {}
    with tensor_file_open(whole, layout.GPT) as file:
        tensors = canonical(file)
        for shard in gpt_shards(config):
            names = sorted(layout.layer_shapes(config, shard.layers))
            written[shard.name] = path = folder / f"{shard.name}.safetensors"
            _write(path, tensors, names)
    return written


def _write(path: Path, file: TensorFile, names: Sequence[str]) -> None:
    """A safetensors file of some tensors, whose bytes stay as they are."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    contents, end = [], 0
    for name in names:
        dtype, shape, content = file.stored(name)
        start, end = end, end + len(content)
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}
        contents.append(content)
    head = json.dumps(header, separators=(",", ":"), sort_keys=True).encode()
    head += b" " * (-len(head) % 8)  # so that tensors are aligned
    with path.open("wb") as stream:
        stream.write(len(head).to_bytes(8, "little"))
        stream.write(head)
        stream.writelines(contents)

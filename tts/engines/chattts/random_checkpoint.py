"""A complete random checkpoint in ChatTTS' layout, for tests and benchmarks.

Its weights keep every activation near a standard deviation of one, and its audio is a noise
that neither clips nor is silent. Ends are controlled: dimension 0 of the residual stream is
the same positive number in every token's embedding and no layer writes to it, so a head's row
that points along it gives a logit that is nearly constant. The rows of the audio end and of
`[Ebreak]` do; `Ends.NEVER` puts them below all other logits, so that lengths are those asked
for, `Ends.LIKELY` among the highest, so that utterances end by themselves after some tokens.
"""

import json
import math
import re
import zlib
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np
import pybase16384
from numpy.typing import NDArray
from safetensors.numpy import save_file

from tts.engines.chattts import EOS, layout
from tts.engines.chattts.config import ConvConfig, GptConfig, ModelConfig, VocosConfig
from tts.engines.chattts.random_tokenizer import tokenizer_write

Floats = NDArray[np.float32]

_TINY = ModelConfig(
    gpt=GptConfig(layers=2, hidden=64, heads=4, intermediate=128),
    decoder=ConvConfig(32, 32, 32, 2, 16),
    dvae_encoder=ConvConfig(32, 64, 32, 2, 16),
    dvae_decoder=ConvConfig(32, 32, 32, 2, 16),
    vq_dim=64,
    vocos=VocosConfig(dim=32, intermediate=64, layers=2),
)
_SMALL = ModelConfig(
    gpt=GptConfig(layers=8, hidden=256, heads=4, intermediate=1024),
    decoder=ConvConfig(128, 128, 128, 4, 64),
    dvae_encoder=ConvConfig(128, 256, 128, 4, 64),
    dvae_decoder=ConvConfig(128, 128, 128, 4, 64),
    vq_dim=256,
    vocos=VocosConfig(dim=128, intermediate=384, layers=4),
)


class Size(StrEnum):
    """TINY: 0.3 M parameters, for tests. SMALL: 20 M. FULL: the release's sizes, 280 M."""

    TINY = "tiny"
    SMALL = "small"
    FULL = "full"


class Ends(StrEnum):
    """Whether an utterance ends by itself."""

    NEVER = "never"
    LIKELY = "likely"


_SIZES = {Size.TINY: _TINY, Size.SMALL: _SMALL, Size.FULL: ModelConfig()}
_LAYER_SCALE = re.compile(r"\.gamma$|decoder_block\.\d+\.weight$")
_END_LOGIT = {Ends.NEVER: -20.0, Ends.LIKELY: 2.2}
_MAGNITUDE = 2.0
"""Of a spectrum's bins, on average: audio's root mean square becomes about 0.05."""


@dataclass(frozen=True, slots=True)
class RandomCheckpoint:
    """What to write: equal values give equal tensors on every machine."""

    size: Size = Size.TINY
    seed: int = 0
    ends: Ends = Ends.NEVER

    def write(self, folder: Path) -> ModelConfig:
        """Write all files below `folder`/asset; returns the configuration they have."""
        asset = folder / "asset"
        text_tokens = tokenizer_write(asset, full=self.size != Size.TINY)
        config = _SIZES[self.size]
        config = replace(config, gpt=replace(config.gpt, text_tokens=text_tokens))
        for name, shapes in layout.file_shapes(config).items():
            path = asset / name
            path.parent.mkdir(exist_ok=True)
            tensors = {key: self._tensor(name, key, shape) for key, shape in shapes.items()}
            _finish(name, tensors, config, self.ends)
            save_file(tensors, path, {"format": "pt"})
        _write_json(asset / layout.GPT_CONFIG, _gpt_config(config.gpt))
        source = f"{layout.RANDOM_SOURCE}, size {self.size}, seed {self.seed}, ends {self.ends}"
        speakers = {"spk_stat": _statistics(config.gpt.hidden), "source": source}
        _write_json(asset / layout.SPEAKER, speakers)
        return config

    def _tensor(self, file: str, name: str, shape: layout.Shape) -> Floats:
        """Random values of the spread that the tensor's place asks for."""
        random = np.random.default_rng([self.seed, zlib.crc32(f"{file}/{name}".encode())])
        if name == "coef":
            return random.uniform(0.5, 1.5, shape).astype(np.float32)
        values = random.standard_normal(shape, np.float32)
        if name.endswith(".bias"):
            return values * np.float32(0.02)
        if len(shape) == 1:
            return 1 + values * np.float32(0.05)
        if name.startswith("emb_"):
            return values
        return values * np.float32(1 / math.sqrt(math.prod(shape[1:])))


def _finish(file: str, tensors: dict[str, Floats], config: ModelConfig, ends: Ends) -> None:
    """Give the tensors with a meaning of their own what they need."""
    if file == layout.EMBED:
        _finish_embed(tensors, config.gpt, ends)
    if file == layout.VOCOS:
        _finish_vocos(tensors, config.vocos)
    for name, values in tensors.items():
        if name.endswith(("o_proj.weight", "down_proj.weight")):
            values *= np.float32(1 / math.sqrt(config.gpt.layers))
            values[0] = 0
        elif _LAYER_SCALE.search(name):
            values *= np.float32(0.2)
        elif name.endswith("window"):
            values[:] = hann(len(values))
        elif name.endswith("mel_scale.fb"):
            values[:] = mel_filters(config.vocos)


def _finish_vocos(tensors: dict[str, Floats], vocos: VocosConfig) -> None:
    """The head gives logarithms of magnitudes, which audio's loudness is, then phases."""
    weight, bias = tensors["head.out.weight"], tensors["head.out.bias"]
    half = vocos.n_fft // 2 + 1
    weight[:half] *= np.float32(0.3)
    bias[:half] += np.float32(math.log(_MAGNITUDE))
    weight[half:] *= np.float32(2)


def _finish_embed(tensors: dict[str, Floats], gpt: GptConfig, ends: Ends) -> None:
    tensors["emb_text.weight"][:, 0] = 1
    end_text = gpt.text_tokens - len(layout.SPECIAL_TOKENS)
    end_text += layout.SPECIAL_TOKENS.index("[Ebreak]")
    heads = {"head_text": end_text}
    for book in range(gpt.codebooks):
        embedding = tensors[f"emb_code.{book}.weight"]
        embedding *= np.float32(1 / math.sqrt(gpt.codebooks))
        embedding[:, 0] = 1 / gpt.codebooks
        heads[f"head_code.{book}"] = EOS
    for head, end in heads.items():
        lengths, directions = tensors[f"{head}.{layout.G}"], tensors[f"{head}.{layout.V}"]
        lengths[:] = 1 + np.float32(0.05) * lengths
        directions[:, 0] = 0
        directions[end] = 0
        directions[end, 0] = math.copysign(1, _END_LOGIT[ends])
        lengths[end] = abs(_END_LOGIT[ends])


def hann(size: int) -> Floats:
    """The periodic Hann window, as torch.hann_window."""
    return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)).astype(np.float32)


def mel_filters(vocos: VocosConfig) -> Floats:
    """Triangular filters (n_fft / 2 + 1, mels), HTK mel scale, as torchaudio's melscale_fbanks."""
    frequencies = np.linspace(0, vocos.sample_rate // 2, vocos.n_fft // 2 + 1)
    top = 2595 * math.log10(1 + vocos.sample_rate / 2 / 700)
    points = 700 * (10 ** (np.linspace(0, top, vocos.mels + 2) / 2595) - 1)
    widths = np.diff(points)
    slopes = points[None, :] - frequencies[:, None]
    rising, falling = -slopes[:, :-2] / widths[:-1], slopes[:, 2:] / widths[1:]
    return np.maximum(0, np.minimum(rising, falling)).astype(np.float32)


def _statistics(hidden: int) -> str:
    """Standard deviations, then means, of speaker embeddings, wrapped as ChatTTS wraps them."""
    values = np.concatenate([np.ones(hidden), np.zeros(hidden)]).astype("<f2")
    return str(pybase16384.encode_to_string(values.tobytes()))


def _gpt_config(gpt: GptConfig) -> dict[str, object]:
    return {
        "architectures": ["LlamaModel"],
        "attention_bias": False,
        "hidden_act": "silu",
        "hidden_size": gpt.hidden,
        "intermediate_size": gpt.intermediate,
        "max_position_embeddings": gpt.positions,
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": gpt.heads,
        "num_audio_tokens": gpt.audio_tokens,
        "num_hidden_layers": gpt.layers,
        "num_key_value_heads": gpt.heads,
        "num_text_tokens": gpt.text_tokens,
        "num_vq": gpt.codebooks,
        "rms_norm_eps": gpt.norm_epsilon,
        "rope_theta": gpt.rope_theta,
        "torch_dtype": "float32",
        "vocab_size": 1,
    }


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")

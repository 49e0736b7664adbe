"""A checkpoint in the layout that ChatTTS' authors publish: found, understood and checked.

ChatTTS has its sizes in its code, not in the checkpoint: here the tensors' shapes say them,
and `gpt/config.json` what shapes cannot (heads, rotary base, epsilon).
"""

import json
import math
import re
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tts.engine.errors import VersionUnavailable
from tts.engines.chattts import layout
from tts.engines.chattts.config import ConvConfig, GptConfig, ModelConfig, VocosConfig
from tts.engines.chattts.config_json import config_check
from tts.engines.chattts.layout import Shape, Shapes
from tts.engines.chattts.tensor_file import TensorFile, tensor_file_open

FILES = (
    *(layout.TOKENIZER, layout.EMBED, layout.GPT_CONFIG, layout.GPT),
    *(layout.DECODER, layout.DVAE, layout.VOCOS),
)
"""What a checkpoint must have, below its asset folder."""


def files_needed(*, use_decoder: bool = True) -> tuple[str, ...]:
    """FILES, without the Decoder where DVAE speaks in its place (the original's `use_decoder`)."""
    return tuple(name for name in FILES if use_decoder or name != layout.DECODER)


_TENSORS = (layout.EMBED, layout.GPT, layout.DECODER, layout.DVAE, layout.VOCOS)
_UNUSED = re.compile(r"embed_tokens\.weight|.*\.inv_freq")
"""What a LLaMA may be saved with and ChatTTS does not use."""
_OLD_NORM = {".weight_g": f".{layout.G}", ".weight_v": f".{layout.V}"}
"""How older versions of torch name weight normalisation's two tensors."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A folder that has all files, and the configuration that they make up."""

    asset: Path
    config: ModelConfig

    @classmethod
    def open(cls, folder: Path, *, use_decoder: bool = True) -> Self:
        """Find the files in `folder` or `folder`/asset, and read sizes and headers.

        Without `use_decoder` there is no `config.decoder`, and its file is not looked at.
        Raises VersionUnavailable saying which file is missing, truncated or unlike ChatTTS'.
        """
        asset = _asset(folder, files_needed(use_decoder=use_decoder))
        tensors = [name for name in _TENSORS if use_decoder or name != layout.DECODER]
        with ExitStack() as stack:
            files = {
                name: canonical(stack.enter_context(tensor_file_open(asset / name, name)))
                for name in tensors
            }
            settings = _json_object(asset / layout.GPT_CONFIG, layout.GPT_CONFIG)
            config = _config({name: file.shapes for name, file in files.items()}, settings)
            config_check(config)
            for name, expected in layout.file_shapes(config).items():
                files[name].check(expected)
        return cls(asset, config)

    def check_values(self) -> None:
        """Raise VersionUnavailable if a tensor has values that are not finite numbers."""
        for name in layout.file_shapes(self.config):
            with tensor_file_open(self.asset / name, name) as file:
                file.check_finite()

    def dtype(self, name: str) -> str:
        """The number format of a file's tensors ("F32"; several are joined by a comma)."""
        with tensor_file_open(self.asset / name, name) as file:
            return ",".join(sorted(file.dtypes))


def canonical(file: TensorFile) -> TensorFile:
    """The tensors under the names that `layout` has, without those that are of no use.

    Raises VersionUnavailable where two of them have one name there.
    """
    names: dict[str, str] = {}
    for stored in file.shapes:
        name = stored.removeprefix("model.")
        for old, new in _OLD_NORM.items():
            if name.endswith(old):
                name = name.removesuffix(old) + new
        if _UNUSED.fullmatch(name):
            continue
        if name in names:
            raise VersionUnavailable(
                f"{file.name}: tensors {names[name]!r} and {stored!r} are the same one,"
                f" {name!r}; only one of them is allowed"
            )
        names[name] = stored
    return file.renamed(names)


def _asset(folder: Path, files: tuple[str, ...]) -> Path:
    folder = folder.absolute()
    if not folder.is_dir():
        raise VersionUnavailable(f"there is no folder {folder}")
    candidates = (folder / "asset", folder)
    for asset in candidates:
        missing = [name for name in files if not (asset / name).is_file()]
        if not missing:
            return asset
        if len(missing) < len(files):
            raise VersionUnavailable(f"{asset} has no {', '.join(missing)}")
    raise VersionUnavailable(
        f"{folder} is no ChatTTS checkpoint: expected asset/{', asset/'.join(files)}"
    )


def _config(shapes: dict[str, Shapes], settings: dict[str, object]) -> ModelConfig:
    dvae, levels = shapes[layout.DVAE], _levels(shapes)
    gpt = _gpt(shapes, settings)
    groups = _count(dvae, r"vq_layer\.quantizer\.rvqs\.(\d+)\.", layout.DVAE)
    return ModelConfig(
        gpt=gpt,
        decoder=(
            _conv(shapes[layout.DECODER], "decoder", layout.DECODER)
            if layout.DECODER in shapes
            else None
        ),
        dvae_encoder=_conv(dvae, "encoder", layout.DVAE),
        dvae_decoder=_conv(dvae, "decoder", layout.DVAE),
        vq_dim=groups
        * _shape(dvae, "vq_layer.quantizer.rvqs.0.project_out.weight", 2, layout.DVAE)[0],
        vq_levels=levels,
        vq_groups=groups,
        vq_residuals=max(1, gpt.codebooks // groups),
        vocos=_vocos(shapes[layout.VOCOS]),
    )


def _gpt(shapes: dict[str, Shapes], settings: dict[str, object]) -> GptConfig:
    embed, llama = shapes[layout.EMBED], shapes[layout.GPT]
    text_tokens, hidden = _shape(embed, "emb_text.weight", 2, layout.EMBED)
    rope = settings.get("rope_parameters")
    theta = rope.get("rope_theta") if isinstance(rope, dict) else settings.get("rope_theta")
    heads = _number(settings, "num_attention_heads")
    for name, value, expected in (
        ("num_key_value_heads", settings.get("num_key_value_heads", heads), heads),
        ("hidden_act", settings.get("hidden_act", "silu"), "silu"),
        ("attention_bias", settings.get("attention_bias", False), False),
        ("mlp_bias", settings.get("mlp_bias", False), False),
        ("rope_scaling", settings.get("rope_scaling"), None),
    ):
        if value != expected:
            raise VersionUnavailable(
                f"{layout.GPT_CONFIG}: {name} is {value!r}, only {expected!r} is supported"
            )
    return GptConfig(
        layers=_count(llama, r"layers\.(\d+)\.", layout.GPT),
        hidden=hidden,
        heads=int(heads),
        intermediate=_shape(llama, "layers.0.mlp.gate_proj.weight", 2, layout.GPT)[0],
        positions=int(_number(settings, "max_position_embeddings", 4096)),
        rope_theta=_number({"rope_theta": theta}, "rope_theta", 10_000.0),
        norm_epsilon=_number(settings, "rms_norm_eps", 1e-6),
        text_tokens=text_tokens,
        audio_tokens=_shape(embed, "emb_code.0.weight", 2, layout.EMBED)[0],
        codebooks=_count(embed, r"emb_code\.(\d+)\.", layout.EMBED),
    )


def _conv(shapes: Shapes, name: str, file: str) -> ConvConfig:
    bottleneck, idim, _ = _shape(shapes, f"{name}.conv_in.0.weight", 3, file)
    odim, hidden, _ = _shape(shapes, f"{name}.conv_out.weight", 3, file)
    layers = _count(shapes, rf"{name}\.decoder_block\.(\d+)\.", file)
    return ConvConfig(idim, odim, hidden, layers, bottleneck)


def _vocos(shapes: Shapes) -> VocosConfig:
    dim, mels, _ = _shape(shapes, "backbone.embed.weight", 3, layout.VOCOS)
    (n_fft,) = _shape(shapes, "head.istft.window", 1, layout.VOCOS)
    wide, _ = _shape(shapes, "backbone.convnext.0.pwconv1.weight", 2, layout.VOCOS)
    layers = _count(shapes, r"backbone\.convnext\.(\d+)\.", layout.VOCOS)
    # No tensor depends on the hop: ChatTTS' is a quarter of the transform, and that is checked.
    return VocosConfig(mels, dim, wide, layers, n_fft, n_fft // 4)


def _levels(shapes: dict[str, Shapes]) -> tuple[int, ...]:
    """All levels of the quantiser are alike: their product is the number of audio tokens."""
    name = "vq_layer.quantizer.rvqs.0.project_in.weight"
    count = max(1, _shape(shapes[layout.DVAE], name, 2, layout.DVAE)[0])
    tokens = _shape(shapes[layout.EMBED], "emb_code.0.weight", 2, layout.EMBED)[0] - 1
    return (max(1, round(max(1, tokens) ** (1 / count))),) * count


def _shape(shapes: Shapes, name: str, dimensions: int, file: str) -> Shape:
    shape = shapes.get(name)
    if shape is None:
        raise VersionUnavailable(f"{file}: tensor {name!r} is missing")
    if len(shape) != dimensions:
        raise VersionUnavailable(
            f"{file}: tensor {name!r} has shape {list(shape)}, expected {dimensions} dimensions"
        )
    return shape


def _count(names: Iterable[str], pattern: str, file: str) -> int:
    """How many numbered parts there are, from 0."""
    numbers = {int(found[1]) for name in names if (found := re.match(pattern, name))}
    if not numbers or len(numbers) != max(numbers) + 1:
        raise VersionUnavailable(f"{file}: the parts {pattern} are not numbered from 0 on")
    return len(numbers)


def _number(settings: dict[str, object], name: str, default: float | None = None) -> float:
    value = settings.get(name)
    value = default if value is None else value
    if type(value) not in (int, float) or not math.isfinite(value):  # type: ignore[arg-type]
        raise VersionUnavailable(f"{layout.GPT_CONFIG}: {name} must be a number, not {value!r}")
    return value  # type: ignore[return-value]


def _json_object(path: Path, name: str) -> dict[str, object]:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise VersionUnavailable(f"{name}: cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise VersionUnavailable(f"{name}: expected a JSON object")
    return value

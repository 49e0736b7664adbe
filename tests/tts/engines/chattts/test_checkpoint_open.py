"""A checkpoint is found and understood; one that is damaged is refused with what is wrong."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.tts.engines.chattts.damaged import Tensors, copied, rewrite, settings_change
from tts.engine.errors import VersionUnavailable
from tts.engines.chattts import layout
from tts.engines.chattts.checkpoint import FILES, Checkpoint
from tts.engines.chattts.config import ModelConfig
from tts.engines.chattts.config_json import config_from_json, config_to_json
from tts.engines.chattts.random_checkpoint import RandomCheckpoint, Size
from tts.engines.chattts.weights import gpt_weights


def test_sizes_come_from_the_files(tmp_path: Path) -> None:
    written = RandomCheckpoint(Size.TINY).write(tmp_path)
    for folder in (tmp_path, tmp_path / "asset"):
        found = Checkpoint.open(folder)
        assert found.config == written
        assert found.asset == tmp_path / "asset"
        found.check_values()
    assert config_from_json(json.loads(json.dumps(config_to_json(written)))) == written


def test_release_sizes_pass_the_rules() -> None:
    assert config_from_json(config_to_json(ModelConfig())) == ModelConfig()


@pytest.mark.parametrize("missing", FILES)
def test_missing_file(chattts_tiny: Path, tmp_path: Path, missing: str) -> None:
    asset = copied(chattts_tiny, tmp_path / "c")
    (asset / missing).unlink()
    with pytest.raises(VersionUnavailable, match=f"has no {missing}$"):
        Checkpoint.open(tmp_path / "c")


def test_no_checkpoint_at_all(tmp_path: Path) -> None:
    with pytest.raises(
        VersionUnavailable, match=r"expected asset/tokenizer/tokenizer.json, asset/"
    ):
        Checkpoint.open(tmp_path)
    with pytest.raises(VersionUnavailable, match=r"there is no folder .*nowhere"):
        Checkpoint.open(tmp_path / "nowhere")


@pytest.mark.parametrize("name", [layout.EMBED, layout.GPT, layout.DVAE, layout.VOCOS])
@pytest.mark.parametrize("kept", [0, 5, 300, -1, -5000])
def test_truncated_file(chattts_tiny: Path, tmp_path: Path, name: str, kept: int) -> None:
    path = copied(chattts_tiny, tmp_path / "c") / name
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(VersionUnavailable, match=f"^{name}: .*(truncated|no safetensors)"):
        Checkpoint.open(tmp_path / "c")


def test_headers_that_lie(chattts_tiny: Path, tmp_path: Path) -> None:
    path = copied(chattts_tiny, tmp_path / "c") / layout.DECODER
    whole = path.read_bytes()
    size = 8 + int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8:size])
    for field, value, said in (
        ("dtype", "I64", "tensor 'coef' is of type 'I64', expected F32"),
        ("shape", [1, 100, -1], "tensor 'coef': the header's shape or place is damaged"),
        ("shape", [1, 100, 1, 7], "needs 2,800 bytes, the header gives it 400"),
        ("data_offsets", [1 << 40, (1 << 40) + 400], "is not where the last one ends"),
        ("data_offsets", [1 << 40], "the header's shape or place is damaged"),
    ):
        changed = json.dumps({**header, "coef": {**header["coef"], field: value}}).encode()
        path.write_bytes(len(changed).to_bytes(8, "little") + changed + whole[size:])
        with pytest.raises(VersionUnavailable, match=said):
            Checkpoint.open(tmp_path / "c")
    for content in (b"{" * 400, b"[]" + b" " * 398):
        path.write_bytes((400).to_bytes(8, "little") + content)
        with pytest.raises(VersionUnavailable, match=r"^Decoder.safetensors: its header is "):
            Checkpoint.open(tmp_path / "c")


def _without(tensors: Tensors) -> None:
    del tensors["backbone.convnext.1.pwconv2.bias"]


def _with_more(tensors: Tensors) -> None:
    tensors["discriminator.weight"] = np.zeros(3, np.float32)


def _transposed(tensors: Tensors) -> None:
    name = "backbone.convnext.1.pwconv1.weight"
    tensors[name] = np.ascontiguousarray(tensors[name].T)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_without, r"tensor 'backbone.convnext.1.pwconv2.bias' \[32\] is missing"),
        (_with_more, r"tensor 'discriminator.weight' is not one of ChatTTS'"),
        (_transposed, r"tensor .* has shape \[32, 64\], expected \[64, 32\]"),
    ],
)
def test_wrong_tensors(
    chattts_tiny: Path, tmp_path: Path, change: Callable[[Tensors], None], said: str
) -> None:
    rewrite(copied(chattts_tiny, tmp_path / "c") / layout.VOCOS, change)
    with pytest.raises(VersionUnavailable, match=f"^{layout.VOCOS}: {said}"):
        Checkpoint.open(tmp_path / "c")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers(chattts_tiny: Path, tmp_path: Path, value: float) -> None:
    def spoil(tensors: Tensors) -> None:
        tensors["layers.1.mlp.down_proj.weight"][3, 5] = value

    rewrite(copied(chattts_tiny, tmp_path / "c") / layout.GPT, spoil)
    found = Checkpoint.open(tmp_path / "c")
    with pytest.raises(VersionUnavailable, match=r"'layers.1.mlp.down_proj.weight' has values"):
        found.check_values()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"num_attention_heads": 7, "num_key_value_heads": 7},
            "64 dimensions do not make 7 heads of a multiple of 16 dimensions, 512 at most",
        ),
        ({"num_attention_heads": None}, "num_attention_heads must be a number, not None"),
        ({"num_attention_heads": True}, "num_attention_heads must be a number, not True"),
        ({"num_key_value_heads": 2}, "num_key_value_heads is 2, only 4 is supported"),
        ({"rope_scaling": {"type": "linear"}}, "rope_scaling is .* only None is supported"),
        ({"hidden_act": "gelu"}, "hidden_act is 'gelu', only 'silu'"),
        ({"rms_norm_eps": -1.0}, "norm_epsilon: a positive number below 1 is needed, not -1"),
        ({"max_position_embeddings": 0}, "positions: 1 to"),
    ],
)
def test_wrong_settings(
    chattts_tiny: Path, tmp_path: Path, settings: dict[str, object], said: str
) -> None:
    settings_change(copied(chattts_tiny, tmp_path / "c"), **settings)
    with pytest.raises(VersionUnavailable, match=said):
        Checkpoint.open(tmp_path / "c")


def test_settings_that_are_no_json(chattts_tiny: Path, tmp_path: Path) -> None:
    (copied(chattts_tiny, tmp_path / "c") / layout.GPT_CONFIG).write_text("{")
    with pytest.raises(VersionUnavailable, match=r"^gpt/config.json: cannot be read"):
        Checkpoint.open(tmp_path / "c")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"gpt": {"layers": "2"}}, "Expected `int`, got `str` - at `\\$.gpt.layers`"),
        ({"vq_groups": 3}, "gpt.codebooks: 4 does not fit, expected 6"),
        ({"vocos": {"hop": 128}}, "vocos.hop: 256 does not fit, expected 512"),
        ({"decoder": 5}, r"Expected `object \| null`"),
    ],
)
def test_wrong_configuration_in_a_manifest(change: dict[str, object], said: str) -> None:
    with pytest.raises(VersionUnavailable, match=said):
        config_from_json({**config_to_json(ModelConfig()), **change, **_needed(change)})


def _needed(change: dict[str, object]) -> dict[str, object]:
    """Keep what a nested change does not name."""
    whole = config_to_json(ModelConfig())
    nested: dict[str, object] = {}
    for name, value in change.items():
        known = whole[name]
        if isinstance(value, dict) and isinstance(known, dict):
            nested[name] = {**known, **value}
    return nested


def test_other_spellings_of_the_same_weights(chattts_tiny: Path, tmp_path: Path) -> None:
    asset = copied(chattts_tiny, tmp_path / "c")

    def older(tensors: Tensors) -> None:
        for name in list(tensors):
            values = tensors.pop(name)
            new = name.replace(f".{layout.G}", ".weight_g").replace(f".{layout.V}", ".weight_v")
            tensors[new] = values

    rewrite(asset / layout.EMBED, older)
    stored = load_file(asset / layout.GPT)
    halves = {f"model.{name}": values.bfloat16() for name, values in stored.items()}
    halves["model.embed_tokens.weight"] = torch.zeros(1, 64)
    save_file(halves, asset / layout.GPT)
    config = Checkpoint.open(tmp_path / "c").config
    assert config == Checkpoint.open(chattts_tiny).config
    weights = gpt_weights(
        config.gpt, (asset / layout.GPT).read_bytes(), (asset / layout.EMBED).read_bytes()
    )
    expected = halves["model.layers.0.mlp.down_proj.weight"].float().numpy()
    assert np.array_equal(weights.layers[0].down, expected)
    assert Checkpoint.open(tmp_path / "c").dtype(layout.GPT) == "BF16,F32"

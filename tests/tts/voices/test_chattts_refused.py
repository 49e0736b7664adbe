"""A checkpoint that cannot be loaded, or speaks no numbers, is refused; a good one speaks."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models_registry.models import ModelVersion, Route
from tests.tts.engines.chattts.damaged import Tensors, copied, rewrite, settings_change
from tts.engines.chattts import layout
from tts.engines.chattts.native.backend import NativeBackend
from tts.engines.chattts.parts import Parts, parts_load
from tts.errors import ModelImportFailed
from tts.models import Voice
from tts.services import chattts_import

pytestmark = pytest.mark.django_db


def _head(name: str) -> Callable[[Path], None]:
    def zero(tensors: Tensors) -> None:
        tensors[f"{name}.{layout.V}"][5] = 0

    return lambda asset: rewrite(asset / layout.EMBED, zero)


def _gpt(**settings: object) -> Callable[[Path], None]:
    return lambda asset: settings_change(asset, **settings)


def _loud(asset: Path) -> None:
    """Each value is a number, their products are not."""

    def scale(tensors: Tensors) -> None:
        tensors["layers.0.input_layernorm.weight"] *= np.float32(1e25)

    rewrite(asset / layout.GPT, scale)


def _loud_vocoder(asset: Path) -> None:
    def scale(tensors: Tensors) -> None:
        tensors["backbone.final_layer_norm.weight"][:] = 1e30
        tensors["head.out.weight"] *= np.float32(1e30)

    rewrite(asset / layout.VOCOS, scale)


def _silent(asset: Path) -> None:
    def hush(tensors: Tensors) -> None:
        tensors["head.out.bias"][:] = -1000

    rewrite(asset / layout.VOCOS, hush)


def _window(asset: Path) -> None:
    def zero(tensors: Tensors) -> None:
        tensors["head.istft.window"][:] = 0

    rewrite(asset / layout.VOCOS, zero)


def _aliases(asset: Path) -> None:
    def twice(tensors: Tensors) -> None:
        tensors["model.norm.weight"] = 2 * tensors["norm.weight"]

    rewrite(asset / layout.GPT, twice)


def _far_id(asset: Path) -> None:
    path = asset / layout.TOKENIZER
    tokenizer = json.loads(path.read_bytes())
    vocabulary = tokenizer["model"]["vocab"]
    added = {token["content"] for token in tokenizer["added_tokens"]}
    word = next(word for word in reversed(vocabulary) if word not in added)
    vocabulary[word] = 90_000
    path.write_text(json.dumps(tokenizer))


CASES = {
    "zero row of an audio head": (
        _head("head_code.2"),
        f"{layout.EMBED}: row 5 of tensor 'head_code.2.{layout.V}' is all zeros",
    ),
    "zero row of the text head": (
        _head("head_text"),
        f"profile hq .*: {layout.EMBED}: row 5 of tensor 'head_text.{layout.V}' is all zeros",
    ),
    "rope_theta": (_gpt(rope_theta=0.5), "gpt.rope_theta: at least 1 is needed, not 0.5"),
    "epsilon": (
        _gpt(rms_norm_eps=2.0),
        "gpt.norm_epsilon: a positive number below 1 is needed, not 2.0",
    ),
    "head size": (
        _gpt(num_attention_heads=8, num_key_value_heads=8),
        "gpt.heads: 64 dimensions do not make 8 heads of a multiple of 16 dimensions, 512 at most",
    ),
    "positions": (
        _gpt(max_position_embeddings=1535),
        "gpt.positions: 1,536 to 1,048,576 is allowed, not 1,535",
    ),
    "id": (_far_id, f"{layout.TOKENIZER}: has a token with the id 90,000, the embeddings of "),
    "window": (_window, f"{layout.VOCOS}: the squares of tensor 'head.istft.window' .* up to 0, "),
    "aliases": (
        _aliases,
        f"{layout.GPT}: tensors '(model.)?norm.weight' and '(model.)?norm.weight' are the same",
    ),
    "overflow": (_loud, "cannot speak in profile realtime .*: the model's numbers overflowed"),
    "vocoder's overflow": (_loud_vocoder, "cannot speak in profile realtime .* not finite"),
    "silence": (_silent, "cannot speak in profile realtime .*: every sample is zero"),
}


@pytest.mark.parametrize(("damage", "said"), CASES.values(), ids=CASES)
def test_a_version_that_cannot_speak_is_refused(
    tiny: Path, tmp_path: Path, damage: Callable[[Path], None], said: str
) -> None:
    damage(copied(tiny, tmp_path / "c"))
    with pytest.raises(ModelImportFailed, match=said):
        chattts_import(str(tmp_path / "c"))
    assert not ModelVersion.objects.exists()
    assert not Voice.objects.exists()
    assert not Route.objects.exists()


def test_a_good_one_speaks_in_every_profile_once(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoken: list[str] = []

    def load(*parameters: Any, stable: bool) -> Parts:
        parts = parts_load(*parameters, stable=stable)
        spoken.append(type(parts.backend).__name__)
        return parts

    monkeypatch.setattr("tts.engines.chattts.smoke.parts_load", load)
    assert chattts_import(str(tiny), "1").is_new
    way = "NativeBackend" if NativeBackend.available() is None else "TorchBackend"
    assert spoken == [way] * 3
    assert not chattts_import(str(tiny), "1").is_new
    assert spoken == [way] * 3
    assert ModelVersion.objects.get(key="chattts@1").state == "ready"

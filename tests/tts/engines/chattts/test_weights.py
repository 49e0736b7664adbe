"""Our arrays are the weights that ChatTTS' own modules have after loading."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

from tests.tts.engines.chattts.originals import Originals, originals_load
from tts.engine.errors import VersionUnavailable
from tts.engines.chattts import layout
from tts.engines.chattts.checkpoint import Checkpoint
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.weights import embeddings, gpt_weights, text_head


@pytest.fixture(scope="module")
def loaded(chattts_tiny: Path) -> tuple[Originals, GptConfig, bytes, bytes]:
    found = Checkpoint.open(chattts_tiny)
    gpt, embed = ((found.asset / name).read_bytes() for name in (layout.GPT, layout.EMBED))
    return originals_load(chattts_tiny, found.config), found.config.gpt, gpt, embed


def test_decoder_weights(loaded: tuple[Originals, GptConfig, bytes, bytes]) -> None:
    original, config, gpt, embed = loaded
    weights = gpt_weights(config, gpt, embed)
    for ours, theirs in zip(weights.layers, original.gpt.layers, strict=True):
        attention, mlp = theirs.self_attn, theirs.mlp
        for mine, parts in (
            (ours.input_norm, [theirs.input_layernorm]),
            (ours.qkv, [attention.q_proj, attention.k_proj, attention.v_proj]),
            (ours.attention, [attention.o_proj]),
            (ours.output_norm, [theirs.post_attention_layernorm]),
            (ours.gate_up, [mlp.gate_proj, mlp.up_proj]),
            (ours.down, [mlp.down_proj]),
        ):
            assert np.array_equal(mine, torch.cat([part.weight for part in parts]).detach().numpy())
            assert mine.dtype == np.float32
            assert mine.flags.c_contiguous
    assert np.array_equal(weights.norm, original.gpt.norm.weight.detach().numpy())


def test_heads_have_weight_norm_folded(loaded: tuple[Originals, GptConfig, bytes, bytes]) -> None:
    original, config, gpt, embed = loaded
    theirs = torch.cat([head.weight for head in original.embed.head_code]).detach().numpy()
    np.testing.assert_allclose(gpt_weights(config, gpt, embed).heads, theirs, rtol=1e-6, atol=1e-7)
    theirs = original.embed.head_text.weight.detach().numpy()
    np.testing.assert_allclose(text_head(config, embed), theirs, rtol=1e-6, atol=1e-7)


@torch.inference_mode()
def test_prompt_is_embedded_as_the_original_does(
    loaded: tuple[Originals, GptConfig, bytes, bytes],
) -> None:
    original, config, _, embed = loaded
    tables = embeddings(config, embed)
    text = np.array([5, 700, 3, 12, 800])
    codes = np.random.default_rng(0).integers(0, 626, (config.codebooks, 7))
    ids = torch.zeros((1, 12, config.codebooks), dtype=torch.long)
    ids[0, :5] = torch.from_numpy(text)[:, None]
    ids[0, 5:] = torch.from_numpy(codes.T)
    mask = torch.arange(12)[None] < 5
    theirs = original.embed(ids, mask)[0]
    speaker = torch.linspace(-1, 1, config.hidden)
    theirs[1] = functional.normalize(speaker, dim=0)
    norm = functional.normalize(speaker, dim=0).numpy()
    ours = tables.prompt(text.tolist(), 1, norm, codes)
    assert np.array_equal(ours, theirs.numpy())
    assert np.array_equal(tables.text[700], original.embed.emb_text.weight[700].numpy())


def test_bytes_of_another_shape(loaded: tuple[Originals, GptConfig, bytes, bytes]) -> None:
    _, config, gpt, embed = loaded
    with pytest.raises(VersionUnavailable, match=r"'emb_text.weight' \[\d+, 64\] is missing"):
        embeddings(config, gpt)
    with pytest.raises(VersionUnavailable, match="truncated or damaged"):
        gpt_weights(config, gpt[:-4], embed)

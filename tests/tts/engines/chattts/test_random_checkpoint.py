"""A random checkpoint is one that ChatTTS itself would load, and is well behaved."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from tests.tts.engines.chattts.originals import Originals, originals_load
from tts.engines.chattts import EOS
from tts.engines.chattts.config import ModelConfig
from tts.engines.chattts.random_checkpoint import RandomCheckpoint, Size


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ModelConfig, Originals]:
    folder = tmp_path_factory.mktemp("random")
    config = RandomCheckpoint(Size.TINY).write(folder)
    return folder, config, originals_load(folder, config)


def test_original_modules_load_it_strictly(tiny: tuple[Path, ModelConfig, Originals]) -> None:
    _, config, originals = tiny
    assert originals.tokenizer.len == config.gpt.text_tokens
    assert originals.tokenizer.break_0_ids == config.gpt.text_tokens - 31


@torch.inference_mode()
def test_activations_are_sane(tiny: tuple[Path, ModelConfig, Originals]) -> None:
    _, config, originals = tiny
    torch.manual_seed(1)
    codes = torch.randint(0, EOS, (1, 48, config.gpt.codebooks))
    embedded = sum(book(codes[..., i]) for i, book in enumerate(originals.embed.emb_code))
    hidden = originals.gpt(inputs_embeds=embedded).last_hidden_state
    assert 0.8 < float(hidden.std()) < 1.2
    logits = torch.stack([head(hidden) for head in originals.embed.head_code])
    assert float(logits[..., EOS].max()) < float(logits[..., :EOS].min())
    for mel in (
        originals.decoder(hidden.transpose(1, 2)),
        originals.dvae(codes.transpose(1, 2)),
    ):
        audio = originals.vocos.decode(mel)
        assert 0.01 < float(audio.square().mean().sqrt()) < 0.3
        assert float(audio.abs().max()) < 1


def test_seed_decides(tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        RandomCheckpoint(Size.TINY, seed).write(tmp_path / name)
    a, b, c = (load_file(tmp_path / name / "asset" / "gpt" / "model.safetensors") for name in "abc")
    assert all(np.array_equal(a[name], b[name]) for name in a)
    assert not any(np.array_equal(a[name], c[name]) for name in a)

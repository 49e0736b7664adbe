"""ChatTTS' own modules, loaded from a checkpoint: what ours is compared with."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tts.engines.chattts.audio_library import audio_library
from tts.engines.chattts.config import ConvConfig, ModelConfig


@dataclass(frozen=True, slots=True)
class Originals:
    """The modules of ChatTTS, vocos and transformers, each loaded with strict=True."""

    embed: Any
    gpt: Any
    decoder: Any
    dvae: Any
    vocos: Any
    tokenizer: Any


def originals_load(folder: Path, config: ModelConfig) -> Originals:
    """Load the checkpoint in `folder` (with asset/ in it) as ChatTTS' `Chat._load` does."""
    with audio_library():
        from ChatTTS.model import DVAE, Embed
        from ChatTTS.model.tokenizer import Tokenizer
        from safetensors.torch import load_file
        from transformers import LlamaConfig, LlamaModel
        from vocos import Vocos
        from vocos.feature_extractors import MelSpectrogramFeatures
        from vocos.heads import ISTFTHead
        from vocos.models import VocosBackbone
    asset, gpt, vocoder = folder / "asset", config.gpt, config.vocos
    embed = Embed(gpt.hidden, gpt.audio_tokens, gpt.text_tokens, gpt.codebooks)
    assert config.decoder is not None
    decoder = DVAE(_conv(config.decoder), dim=config.decoder.idim)
    quantiser = {
        "dim": config.vq_dim,
        "levels": config.vq_levels,
        "G": config.vq_groups,
        "R": config.vq_residuals,
    }
    dvae = DVAE(
        _conv(config.dvae_decoder), _conv(config.dvae_encoder), quantiser, config.dvae_decoder.idim
    )
    vocos = Vocos(
        MelSpectrogramFeatures(vocoder.sample_rate, vocoder.n_fft, vocoder.hop, vocoder.mels),
        VocosBackbone(vocoder.mels, vocoder.dim, vocoder.intermediate, vocoder.layers),
        ISTFTHead(vocoder.dim, vocoder.n_fft, vocoder.hop, "center"),
    )
    llama = LlamaModel(LlamaConfig.from_pretrained(asset / "gpt"))
    del llama.embed_tokens
    for module, file in (
        (embed, "Embed"),
        (decoder, "Decoder"),
        (dvae, "DVAE"),
        (vocos, "Vocos"),
        (llama, "gpt/model"),
    ):
        module.load_state_dict(load_file(asset / f"{file}.safetensors"), strict=True)
        module.eval()
    return Originals(embed, llama, decoder, dvae, vocos, Tokenizer(str(asset / "tokenizer")))


def _conv(config: ConvConfig) -> dict[str, int]:
    names = {"layers": "n_layer", "bottleneck": "bn_dim"}
    return {names.get(name, name): value for name, value in asdict(config).items()}

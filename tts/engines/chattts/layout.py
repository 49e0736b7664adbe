"""The layout of a ChatTTS checkpoint: its files, and every tensor's name and shape.

Names and shapes are those that the modules of ChatTTS 0.2.5, vocos 0.1.0 and transformers'
LlamaModel load with `strict=True`. What writes a checkpoint and what checks one both read them
here.
"""

from tts.engines.chattts.config import ConvConfig, GptConfig, ModelConfig, VocosConfig

Shape = tuple[int, ...]
Shapes = dict[str, Shape]

TOKENIZER = "tokenizer/tokenizer.json"
EMBED = "Embed.safetensors"
GPT = "gpt/model.safetensors"
GPT_CONFIG = "gpt/config.json"
DECODER = "Decoder.safetensors"
DVAE = "DVAE.safetensors"
VOCOS = "Vocos.safetensors"
SPEAKER = "speaker.json"
"""Ours: statistics of speaker embeddings. The release has them in ChatTTS' code instead."""

RANDOM_SOURCE = "random weights"
"""How SPEAKER's `source` begins in a checkpoint that nobody trained."""

MELS = 100
"""Mel bands that ChatTTS' modules have written into their code."""

SPECIAL_TOKENS = (
    *("[Sasr]", "[Pasr]", "[Easr]", "[Stts]", "[Ptts]", "[Etts]", "[Sbreak]", "[Pbreak]"),
    *("[Ebreak]", "[uv_break]", "[v_break]", "[lbreak]", "[llbreak]", "[undefine]", "[laugh]"),
    *("[spk_emb]", "[empty_spk]", "[music]", "[pure]"),
    *(f"[break_{level}]" for level in range(8)),
    *(f"[laugh_{level}]" for level in range(3)),
    *(f"[oral_{level}]" for level in range(10)),
    *(f"[speed_{level}]" for level in range(10)),
)
"""The tokens after BERT's, in the order of their ids."""

G = "parametrizations.weight.original0"
"""Weight normalisation's lengths of rows (rows, 1)."""
V = "parametrizations.weight.original1"
"""Weight normalisation's directions of rows (rows, columns)."""


def embed_shapes(gpt: GptConfig) -> Shapes:
    """Embed.safetensors: embeddings and heads of text and audio tokens."""
    heads = {"head_text": gpt.text_tokens}
    heads |= {f"head_code.{book}": gpt.audio_tokens for book in range(gpt.codebooks)}
    shapes: Shapes = {"emb_text.weight": (gpt.text_tokens, gpt.hidden)}
    for book in range(gpt.codebooks):
        shapes[f"emb_code.{book}.weight"] = (gpt.audio_tokens, gpt.hidden)
    for head, rows in heads.items():
        shapes[f"{head}.{G}"] = (rows, 1)
        shapes[f"{head}.{V}"] = (rows, gpt.hidden)
    return shapes


def gpt_shapes(gpt: GptConfig) -> Shapes:
    """gpt/model.safetensors: the layers and the last norm, without `embed_tokens`."""
    return layer_shapes(gpt, range(gpt.layers))


def layer_shapes(gpt: GptConfig, layers: range) -> Shapes:
    """Some of the layers, and the last norm where the last of them is the model's."""
    square, wide = (gpt.hidden, gpt.hidden), (gpt.intermediate, gpt.hidden)
    shapes: Shapes = {"norm.weight": (gpt.hidden,)} if layers.stop == gpt.layers else {}
    for index in layers:
        layer = f"layers.{index}"
        shapes[f"{layer}.input_layernorm.weight"] = (gpt.hidden,)
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            shapes[f"{layer}.self_attn.{name}.weight"] = square
        shapes[f"{layer}.post_attention_layernorm.weight"] = (gpt.hidden,)
        shapes[f"{layer}.mlp.gate_proj.weight"] = wide
        shapes[f"{layer}.mlp.up_proj.weight"] = wide
        shapes[f"{layer}.mlp.down_proj.weight"] = (gpt.hidden, gpt.intermediate)
    return shapes


def decoder_shapes(decoder: ConvConfig) -> Shapes:
    """Decoder.safetensors: hidden states to mel."""
    return {
        "coef": (1, MELS, 1),
        **_stack("decoder", decoder),
        "out_conv.weight": (MELS, decoder.odim, 3),
    }


def dvae_shapes(config: ModelConfig) -> Shapes:
    """DVAE.safetensors: a recording to audio tokens, and audio tokens to mel."""
    dim = config.dvae_decoder.idim
    shapes: Shapes = {
        "downsample_conv.0.weight": (dim, MELS, 3),
        "downsample_conv.0.bias": (dim,),
        "downsample_conv.2.weight": (dim, dim, 4),
        "downsample_conv.2.bias": (dim,),
        **_mel("preprocessor_mel", config.vocos),
        **_stack("encoder", config.dvae_encoder),
        **decoder_shapes(config.dvae_decoder),
    }
    levels, part = len(config.vq_levels), config.vq_dim // config.vq_groups
    for group in range(config.vq_groups):
        quantiser = f"vq_layer.quantizer.rvqs.{group}"
        shapes[f"{quantiser}.project_in.weight"] = (levels, part)
        shapes[f"{quantiser}.project_in.bias"] = (levels,)
        shapes[f"{quantiser}.project_out.weight"] = (part, levels)
        shapes[f"{quantiser}.project_out.bias"] = (part,)
    return shapes


def vocos_shapes(vocos: VocosConfig) -> Shapes:
    """Vocos.safetensors: mel to samples."""
    shapes: Shapes = {
        **_mel("feature_extractor", vocos),
        "backbone.embed.weight": (vocos.dim, vocos.mels, 7),
        "backbone.embed.bias": (vocos.dim,),
        "head.out.weight": (vocos.n_fft + 2, vocos.dim),
        "head.out.bias": (vocos.n_fft + 2,),
        "head.istft.window": (vocos.n_fft,),
    }
    for norm in ("norm", "final_layer_norm"):
        shapes[f"backbone.{norm}.weight"] = (vocos.dim,)
        shapes[f"backbone.{norm}.bias"] = (vocos.dim,)
    for index in range(vocos.layers):
        block = f"backbone.convnext.{index}"
        shapes |= {f"{block}.gamma": (vocos.dim,), **_block(block, vocos.dim, vocos.intermediate)}
    return shapes


def file_shapes(config: ModelConfig) -> dict[str, Shapes]:
    """The tensors of every file that is used, by the file's name."""
    return {
        EMBED: embed_shapes(config.gpt),
        GPT: gpt_shapes(config.gpt),
        **({} if config.decoder is None else {DECODER: decoder_shapes(config.decoder)}),
        DVAE: dvae_shapes(config),
        VOCOS: vocos_shapes(config.vocos),
    }


def _stack(name: str, conv: ConvConfig) -> Shapes:
    shapes: Shapes = {
        f"{name}.conv_in.0.weight": (conv.bottleneck, conv.idim, 3),
        f"{name}.conv_in.0.bias": (conv.bottleneck,),
        f"{name}.conv_in.2.weight": (conv.hidden, conv.bottleneck, 3),
        f"{name}.conv_in.2.bias": (conv.hidden,),
        f"{name}.conv_out.weight": (conv.odim, conv.hidden, 1),
    }
    for index in range(conv.layers):
        block = f"{name}.decoder_block.{index}"
        shapes[f"{block}.weight"] = (conv.hidden,)
        shapes |= _block(block, conv.hidden, 4 * conv.hidden)
    return shapes


def _block(name: str, dim: int, intermediate: int) -> Shapes:
    return {
        f"{name}.dwconv.weight": (dim, 1, 7),
        f"{name}.dwconv.bias": (dim,),
        f"{name}.norm.weight": (dim,),
        f"{name}.norm.bias": (dim,),
        f"{name}.pwconv1.weight": (intermediate, dim),
        f"{name}.pwconv1.bias": (intermediate,),
        f"{name}.pwconv2.weight": (dim, intermediate),
        f"{name}.pwconv2.bias": (dim,),
    }


def _mel(name: str, vocos: VocosConfig) -> Shapes:
    return {
        f"{name}.mel_spec.spectrogram.window": (vocos.n_fft,),
        f"{name}.mel_spec.mel_scale.fb": (vocos.n_fft // 2 + 1, vocos.mels),
    }

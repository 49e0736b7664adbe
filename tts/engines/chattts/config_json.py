"""The configuration of a ChatTTS version as JSON, and the rules that it keeps."""

import math

import msgspec

from tts.engine.errors import VersionUnavailable
from tts.engines.chattts import EOS, SAMPLE_RATE, TOKEN_SAMPLES, layout
from tts.engines.chattts.config import ConvConfig, GptConfig, ModelConfig, VocosConfig
from tts.engines.chattts.profile import POSITIONS

JsonObject = dict[str, object]

_MOST = 1 << 24
# What our C++ computes with: native/src/shape.hpp (`validate`, `kDepthStep`) and api.cpp.
HEAD_STEP = 16
HEAD_MOST = 512
LAYERS_MOST = 1024
HIDDEN_MOST = 65_536
INTERMEDIATE_MOST = 131_072
OUTPUTS_MOST = 1 << 20
POSITIONS_MOST = 1 << 20
THETA_LEAST = 1.0
EPSILON_BELOW = 1.0


def config_to_json(config: ModelConfig) -> JsonObject:
    """Plain JSON values; `config_from_json` gives the same configuration back."""
    # By way of text, which makes lists of tuples.
    values: dict[str, dict[str, object]] = msgspec.json.decode(msgspec.json.encode(config))
    if not config.gpt.groups:
        # Versions from before there were groups keep their bytes.
        del values["gpt"]["groups"]
    return dict(values)


def config_from_json(value: object) -> ModelConfig:
    """Read what `config_to_json` wrote; raises VersionUnavailable naming the field."""
    try:
        config = msgspec.convert(value, ModelConfig)
    except msgspec.ValidationError as error:
        raise VersionUnavailable(f"ChatTTS' configuration: {error}") from error
    config_check(config)
    return config


def config_check(config: ModelConfig) -> None:
    """Raise VersionUnavailable unless the parts of `config` fit each other and our code."""
    _check_sizes(config)
    _check_gpt(config.gpt)
    _check_vocos(config.vocos)
    gpt, decoder, dvae = config.gpt, config.decoder, config.dvae_decoder
    _expect("gpt.codebooks", gpt.codebooks, config.vq_groups * config.vq_residuals)
    _expect("gpt.audio_tokens", gpt.audio_tokens, math.prod(config.vq_levels) + 1)
    if decoder is not None:
        _expect("decoder.idim", decoder.idim * 2, gpt.hidden)
        _expect("decoder.odim", decoder.odim, decoder.idim)
    _expect("vq_dim", config.vq_dim, 2 * dvae.idim)
    _expect("vq_dim", config.vq_dim % config.vq_groups, 0)
    _expect("dvae_decoder.odim", dvae.odim, dvae.idim)
    _expect("dvae_encoder.idim", config.dvae_encoder.idim, dvae.idim)
    _expect("dvae_encoder.odim", config.dvae_encoder.odim, config.vq_dim)


def _check_gpt(gpt: GptConfig) -> None:
    _expect("gpt.audio_tokens", gpt.audio_tokens, EOS + 1)
    if gpt.groups:
        _expect("gpt.groups", sum(gpt.groups), gpt.layers)
    _check_head(gpt)
    outputs = gpt.codebooks * gpt.audio_tokens
    for name, size, least, most in (
        ("layers", gpt.layers, 1, LAYERS_MOST),
        ("hidden", gpt.hidden, HEAD_STEP, HIDDEN_MOST),
        ("intermediate", gpt.intermediate, 1, INTERMEDIATE_MOST),
        ("codebooks times audio_tokens", outputs, 1, OUTPUTS_MOST),
        # Every profile's slots have so many: a shorter model would be loaded in none.
        ("positions", gpt.positions, POSITIONS, POSITIONS_MOST),
    ):
        if not least <= size <= most:
            raise _wrong(f"gpt.{name}", f"{least:,} to {most:,} is allowed, not {size:,}")
    if gpt.text_tokens < len(layout.SPECIAL_TOKENS):
        raise _wrong("gpt.text_tokens", f"at least {len(layout.SPECIAL_TOKENS)} are needed")
    if not THETA_LEAST <= gpt.rope_theta < math.inf:
        raise _wrong("gpt.rope_theta", f"at least {THETA_LEAST:g} is needed, not {gpt.rope_theta}")
    if not 0 < gpt.norm_epsilon < EPSILON_BELOW:
        allowed = f"a positive number below {EPSILON_BELOW:g} is needed"
        raise _wrong("gpt.norm_epsilon", f"{allowed}, not {gpt.norm_epsilon}")


def _check_head(gpt: GptConfig) -> None:
    fits = gpt.hidden % gpt.heads == 0 and gpt.head_size % HEAD_STEP == 0
    if not fits or gpt.head_size > HEAD_MOST:
        raise _wrong(
            "gpt.heads",
            f"{gpt.hidden} dimensions do not make {gpt.heads} heads of a multiple of"
            f" {HEAD_STEP} dimensions, {HEAD_MOST} at most",
        )


def _check_vocos(vocos: VocosConfig) -> None:
    _expect("vocos.mels", vocos.mels, layout.MELS)
    _expect("vocos.hop", 2 * vocos.hop, TOKEN_SAMPLES)
    _expect("vocos.n_fft", vocos.n_fft, 4 * vocos.hop)
    _expect("vocos.sample_rate", vocos.sample_rate, SAMPLE_RATE)


def _check_sizes(config: ModelConfig) -> None:
    """Every whole number is positive, and no size is absurd."""
    parts: dict[str, GptConfig | ConvConfig | VocosConfig | ModelConfig] = {
        "gpt.": config.gpt,
        **({} if config.decoder is None else {"decoder.": config.decoder}),
        "dvae_encoder.": config.dvae_encoder,
        "dvae_decoder.": config.dvae_decoder,
        "vocos.": config.vocos,
        "": config,
    }
    for prefix, part in parts.items():
        for name in part.__dataclass_fields__:
            value = getattr(part, name)
            for size in value if isinstance(value, tuple) else (value,):
                if isinstance(size, int) and not 0 < size <= _MOST:
                    raise _wrong(f"{prefix}{name}", f"1 to {_MOST:,} is allowed, not {size:,}")


def _expect(name: str, found: int, expected: int) -> None:
    if found != expected:
        raise _wrong(name, f"{found} does not fit, expected {expected}")


def _wrong(name: str, problem: str) -> VersionUnavailable:
    return VersionUnavailable(f"ChatTTS' configuration, {name}: {problem}")

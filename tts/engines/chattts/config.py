"""The sizes of a ChatTTS model: those of the release, and those of smaller ones for tests."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GptConfig:
    """The LLaMA that turns text into audio tokens. All heads attend for themselves (no GQA).

    `groups` are the numbers of layers that lie in a shard each, in order; none: all in one.
    """

    layers: int = 20
    hidden: int = 768
    heads: int = 12
    intermediate: int = 3072
    positions: int = 4096
    rope_theta: float = 10_000.0
    norm_epsilon: float = 1e-6
    text_tokens: int = 21_178
    audio_tokens: int = 626
    codebooks: int = 4
    groups: tuple[int, ...] = ()

    @property
    def head_size(self) -> int:
        """Dimensions of one attention head."""
        return self.hidden // self.heads

    @property
    def cache_values(self) -> int:
        """Keys and values that one token of one row keeps, counted in numbers."""
        return 2 * self.layers * self.hidden


@dataclass(frozen=True, slots=True)
class ConvConfig:
    """A stack of ConvNeXt blocks, as ChatTTS' DVAE and Decoder are made of."""

    idim: int
    odim: int
    hidden: int
    layers: int
    bottleneck: int


@dataclass(frozen=True, slots=True)
class VocosConfig:
    """The vocoder: mel frames to samples by an inverse short-time Fourier transform."""

    mels: int = 100
    dim: int = 512
    intermediate: int = 1536
    layers: int = 8
    n_fft: int = 1024
    hop: int = 256
    sample_rate: int = 24_000


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Everything about a version that is not in its tensors.

    `decoder` turns hidden states into mel; where it is None, `dvae_decoder` does it with audio
    tokens (through a vector quantiser of `vq_dim`). `dvae_encoder` turns a recording's mel into
    audio tokens.
    """

    gpt: GptConfig = GptConfig()
    decoder: ConvConfig | None = ConvConfig(384, 384, 512, 12, 128)
    dvae_encoder: ConvConfig = ConvConfig(512, 1024, 256, 12, 128)
    dvae_decoder: ConvConfig = ConvConfig(512, 512, 256, 12, 128)
    vq_dim: int = 1024
    vq_levels: tuple[int, ...] = (5, 5, 5, 5)
    vq_groups: int = 2
    vq_residuals: int = 2
    vocos: VocosConfig = VocosConfig()

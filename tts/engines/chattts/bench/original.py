"""The original's side: `ChatTTS.Chat.infer` and the code that it runs, on the same weights."""

import json
import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch import nn

from tts.engines.chattts import layout
from tts.engines.chattts.audio_library import audio_library
from tts.engines.chattts.backend import Precision
from tts.engines.chattts.bench.pace import Pace
from tts.engines.chattts.checkpoint import Checkpoint
from tts.engines.chattts.compute import torch_threads
from tts.engines.chattts.config import ConvConfig, ModelConfig, VocosConfig
from tts.engines.chattts.tokens import DEFAULT_SPEED
from tts.engines.devices import CPU, device_find

logger = logging.getLogger(__name__)


class OriginalSide:
    """ChatTTS with its own defaults, without refinement and without normalising.

    Its GPT is float32 as it comes, or what torch makes of it in one line: bfloat16, or
    dynamically quantised linear layers. All else stays float32. `threads`: how many torch may use.
    """

    def __init__(
        self,
        folder: Path,
        precision: Precision = Precision.FP32,
        device: str = CPU,
        threads: int = 1,
    ) -> None:
        """Load the checkpoint in `folder`; raises VersionUnavailable, ImportError."""
        checkpoint = Checkpoint.open(folder)
        asset = checkpoint.asset
        with audio_library():
            from ChatTTS.core import Chat
        self.threads = threads
        self._chat = Chat(logging.getLogger(f"{__name__}.chat"))
        self._chat.logger.setLevel(logging.ERROR)
        self._chat.config = _config(self._chat.config, checkpoint.config, asset)
        with _quiet():
            self._chat._load(
                vocos_ckpt_path=str(asset / layout.VOCOS),
                dvae_ckpt_path=str(asset / layout.DVAE),
                gpt_ckpt_path=str(asset / "gpt"),
                embed_path=str(asset / layout.EMBED),
                decoder_ckpt_path=str(asset / layout.DECODER),
                tokenizer_path=str(asset / "tokenizer"),
                device=device_find(device),
            )
            self._chat.gpt.gpt = _converted(self._chat.gpt.gpt, precision)

    @staticmethod
    def available() -> bool:
        """Whether ChatTTS is installed."""
        return find_spec("ChatTTS") is not None

    def speak(self, texts: Sequence[str], tokens: int, seconds: float = math.inf) -> Pace:
        """Speak the texts as one batch, `tokens` of each; fewer where it takes over `seconds`."""
        chat = self._chat
        chat.context = _Deadline(seconds)
        with _quiet(), torch_threads(self.threads):
            began = perf_counter()
            (result,) = chat._infer_code(
                [text.lower() for text in texts], False, chat.device, True, self._params(tokens)
            )
            computed = perf_counter()
            counted = sum(len(ids) for ids in result.ids)
            chat._decode_to_wavs(result.hiddens, True)
            return Pace(len(texts), counted, computed - began, perf_counter() - computed)

    def first_audio(self, text: str, tokens: int) -> float:
        """Seconds until `infer` streams its first samples of an utterance of `tokens` tokens."""
        self._chat.context = _Deadline(math.inf)
        with _quiet(), torch_threads(self.threads):
            began = perf_counter()
            stream = self._chat.infer(
                [text.lower()],
                stream=True,
                skip_refine_text=True,
                do_text_normalization=False,
                do_homophone_replacement=False,
                split_text=False,
                params_infer_code=self._params(tokens),
            )
            next(stream)
            waited = perf_counter() - began
            stream.close()
            return waited

    def _params(self, tokens: int) -> Any:
        return self._chat.InferCodeParams(
            prompt=f"[{DEFAULT_SPEED}]", max_new_token=tokens, min_new_token=tokens, show_tqdm=False
        )


class _Deadline:
    """Stands in for `GPT.Context`, which the original asks after every step whether to stop."""

    def __init__(self, seconds: float) -> None:
        self._end = perf_counter() + seconds

    def get(self) -> bool:
        return perf_counter() > self._end

    def set(self, stopped: bool) -> None:
        """`infer` takes back an interruption, of which there is none."""


def _converted(gpt: Any, precision: Precision) -> Any:
    if precision is Precision.BF16:
        return gpt.to(torch.bfloat16)
    if precision is Precision.INT8:
        from torch.ao.quantization import quantize_dynamic

        return quantize_dynamic(gpt, {nn.Linear}, dtype=torch.qint8)  # type: ignore[no-untyped-call]
    return gpt


def _config(original: Any, model: ModelConfig, asset: Path) -> Any:
    """The original's configuration with the model's sizes; its own parts are all shared."""
    gpt, dvae = model.gpt, original.dvae
    sizes = {
        "num_audio_tokens": gpt.audio_tokens,
        "num_text_tokens": gpt.text_tokens,
        "num_vq": gpt.codebooks,
    }
    quantiser = {
        "dim": model.vq_dim,
        "levels": model.vq_levels,
        "G": model.vq_groups,
        "R": model.vq_residuals,
    }
    return replace(
        original,
        gpt=replace(
            original.gpt,
            hidden_size=gpt.hidden,
            intermediate_size=gpt.intermediate,
            num_attention_heads=gpt.heads,
            num_hidden_layers=gpt.layers,
            max_position_embeddings=gpt.positions,
            **sizes,
        ),
        embed=replace(original.embed, hidden_size=gpt.hidden, **sizes),
        **({} if model.decoder is None else {"decoder": _conv(original.decoder, model.decoder)}),
        dvae=replace(
            dvae,
            encoder=_conv(dvae.encoder, model.dvae_encoder),
            decoder=_conv(dvae.decoder, model.dvae_decoder),
            vq=replace(dvae.vq, **quantiser),
        ),
        vocos=_vocos(original.vocos, model.vocos),
        spk_stat=_statistics(original, asset),
    )


def _vocos(original: Any, vocos: VocosConfig) -> Any:
    features = {
        "sample_rate": vocos.sample_rate,
        "n_fft": vocos.n_fft,
        "hop_length": vocos.hop,
        "n_mels": vocos.mels,
    }
    backbone = {
        "input_channels": vocos.mels,
        "dim": vocos.dim,
        "intermediate_dim": vocos.intermediate,
        "num_layers": vocos.layers,
    }
    head = {"dim": vocos.dim, "n_fft": vocos.n_fft, "hop_length": vocos.hop}
    return replace(
        original,
        feature_extractor=_arguments(original.feature_extractor, features),
        backbone=_arguments(original.backbone, backbone),
        head=_arguments(original.head, head),
    )


def _statistics(original: Any, asset: Path) -> Any:
    """The checkpoint's own statistics of speakers, else the release's."""
    speaker = asset / layout.SPEAKER
    if not speaker.exists():
        return original.spk_stat
    return json.loads(speaker.read_text(encoding="utf-8"))["spk_stat"]


def _conv(original: Any, config: ConvConfig) -> Any:
    return replace(
        original,
        idim=config.idim,
        odim=config.odim,
        hidden=config.hidden,
        n_layer=config.layers,
        bn_dim=config.bottleneck,
    )


def _arguments(part: Any, values: dict[str, int]) -> Any:
    return replace(part, init_args=replace(part.init_args, **values))


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings and progress bars of libraries that it calls as they once were."""
    from transformers.utils import logging as library

    before = library.get_verbosity()
    library.set_verbosity_error()  # type: ignore[no-untyped-call]
    # Those of the hub's client go with them, and are the process'.
    library.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        library.enable_progress_bar()  # type: ignore[no-untyped-call]
        library.set_verbosity(before)

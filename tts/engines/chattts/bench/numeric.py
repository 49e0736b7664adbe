"""How far each profile's numbers are from full precision, on the same inputs."""

import json
from dataclasses import dataclass

import numpy as np

from tts.engine.request import Profile
from tts.engines.base import Device, Samples, Shards
from tts.engines.chattts.backend import CacheShape, Floats, GptBackend, Precision
from tts.engines.chattts.backends import backend_create
from tts.engines.chattts.config import ModelConfig
from tts.engines.chattts.config_json import config_from_json
from tts.engines.chattts.gpt_shards import gpt_read
from tts.engines.chattts.profile import PROFILES
from tts.engines.chattts.torch_backend import TorchBackend
from tts.engines.chattts.vocoder import Vocoder
from tts.engines.chattts.weights import embeddings

_PROMPT = 32
"""Text tokens before the audio tokens."""
_SEED = 7


@dataclass(frozen=True, slots=True)
class NumericError:
    """One profile against full precision; shares are root mean squares over full precision's.

    `hidden`: share of the final hidden states, at all audio tokens. `logits`: the largest
    difference of any, `spread` being their standard deviation. `changed`: share of tokens whose
    likeliest code is another one. `audio`: share of the samples, through the profile's own
    vocoder, and `vocoder` by that alone, from full precision's hidden states.
    """

    hidden: float
    logits: float
    spread: float
    changed: float
    audio: float
    vocoder: float


class NumericErrors:
    """Random inputs of `tokens` audio tokens, computed by torch in float32 as the reference.

    The tokens are given, not sampled, so that every precision sees the same.
    """

    def __init__(self, shards: Shards, tokens: int, threads: int) -> None:
        """Compute the reference; raises VersionUnavailable, MemoryError."""
        self._shards, self._threads = shards, threads
        self._model = model = config_from_json(json.loads(bytes(shards.read("config"))))
        self._inputs = _inputs(shards, model, tokens)
        self._cache = CacheShape(1, len(self._inputs))
        weights = gpt_read(shards, model.gpt)
        plain = TorchBackend(weights, model.gpt, self._cache, threads=threads, stable=False)
        self._hidden, self._logits = self._computed(plain)
        self._audio = self._spoken(self._hidden, Precision.FP32)

    def of(self, profile: Profile) -> NumericError:
        """Compute in a profile's precisions, as they are on the CPU."""
        settings = PROFILES[profile]
        device = Device("cpu", self._threads)
        hidden, logits = self._computed(
            backend_create(self._shards, self._model.gpt, self._cache, settings.precision, device)
        )
        shape = (len(logits), self._model.gpt.codebooks, -1)
        likeliest = logits.reshape(shape).argmax(-1) != self._logits.reshape(shape).argmax(-1)
        return NumericError(
            hidden=_share(hidden, self._hidden),
            logits=float(np.abs(logits - self._logits).max()),
            spread=float(self._logits.std()),
            changed=float(likeliest.mean()),
            audio=_share(self._spoken(hidden, settings.vocoder), self._audio),
            vocoder=_share(self._spoken(self._hidden, settings.vocoder), self._audio),
        )

    def _computed(self, backend: GptBackend) -> tuple[Floats, Floats]:
        """Hidden states (tokens, h) and logits (tokens, codebooks * vocabulary) of the audio."""
        hidden, logits = [], []
        for start in range(0, len(self._inputs), backend.max_rows):
            rows = self._inputs[start : start + backend.max_rows]
            positions = np.arange(start, start + len(rows), dtype=np.int32)
            slots = np.zeros(len(rows), np.int32)
            states, scores = backend.forward(rows, slots, positions, len(rows))
            hidden.append(states.copy())
            logits.append(scores.copy())
        backend.close()
        return np.concatenate(hidden)[_PROMPT:], np.concatenate(logits)[_PROMPT:]

    def _spoken(self, hidden: Floats, precision: Precision) -> Samples:
        """All of it through the vocoder at once."""
        device = Device("cpu", self._threads)
        return Vocoder.load(self._shards, self._model, device, precision).whole(hidden)


def _inputs(shards: Shards, model: ModelConfig, tokens: int) -> Floats:
    """A prompt's and audio tokens' embeddings (n, h)."""
    random = np.random.default_rng(_SEED)
    tables = embeddings(model.gpt, shards.read("embed"))
    ids = random.integers(model.gpt.text_tokens, size=_PROMPT)
    codes = random.integers(model.gpt.audio_tokens - 1, size=(tokens, model.gpt.codebooks))
    return np.ascontiguousarray(np.concatenate((tables.prompt(list(ids)), tables.codes(codes))))


def _share(values: Floats, reference: Floats) -> float:
    difference = np.square(values.astype(np.float64) - reference).mean()
    return float(np.sqrt(difference / np.square(reference.astype(np.float64)).mean()))

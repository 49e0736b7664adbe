"""A profile's step loop and vocoder without the engine around them."""

import json
from collections.abc import Iterable

from tts.engine.request import Profile
from tts.engines.base import Device, Samples, Shards
from tts.engines.chattts.backend import CacheShape
from tts.engines.chattts.backends import backend_create
from tts.engines.chattts.config_json import config_from_json
from tts.engines.chattts.decoding import AudioDecoding
from tts.engines.chattts.generation import Generation, Kind, Prompt
from tts.engines.chattts.loop import StepLoop
from tts.engines.chattts.profile import profile_settings
from tts.engines.chattts.random_stream import StreamKey
from tts.engines.chattts.speech import Take
from tts.engines.chattts.tokens import DEFAULT_SPEED, Vocabulary
from tts.engines.chattts.vocoder import Vocoder
from tts.engines.chattts.weights import embeddings
from tts.engines.chattts.windows import StreamingDecoder


class LoadedProfile:
    """One profile's precisions and windows; every utterance is spoken once, as it is."""

    def __init__(
        self,
        shards: Shards,
        profile: Profile,
        device: Device,
        slots: int,
        positions: int | None = None,
    ) -> None:
        """Load, with the profile's own `positions` in each slot unless others are given.

        Raises VersionUnavailable, MemoryError.
        """
        settings = profile_settings(profile, device)
        model = config_from_json(json.loads(shards.read("config")))
        self._config, self._plan = model.gpt, settings.windows
        self._vocabulary = Vocabulary.read(shards.read("tokenizer"))
        self._tables = embeddings(model.gpt, shards.read("embed"))
        cache = CacheShape(slots, positions or settings.cache.positions)
        self._backend = backend_create(shards, model.gpt, cache, settings.precision, device)
        self._vocoder = Vocoder.load(
            shards, model, device, settings.vocoder, settings.vocoder_group
        )

    def loop(self) -> StepLoop:
        """A loop without rows; one at a time."""
        audio = AudioDecoding(self._config, self._tables, self._backend.cache.slots)
        return StepLoop(self._backend, self._config, self._tables, {Kind.AUDIO: audio})

    def generation(self, seed: int, text: str, tokens: int) -> Generation:
        """An utterance of exactly so many tokens."""
        prompt = self._vocabulary.code_prompt((text.lower(),), (DEFAULT_SPEED,))
        return Generation(Prompt(prompt.ids), StreamKey(seed), tokens, min_tokens=tokens)

    def take(self, row: int) -> Take:
        """What becomes of a row."""
        return Take(row, StreamingDecoder(self._plan))

    def decode(self, takes: Iterable[Take]) -> list[tuple[int, Samples]]:
        """The audio that is due now, with its row."""
        due = [(take.row, window) for take in takes for window in take.windows()]
        decoded = self._vocoder.decode([window for _, window in due]) if due else []
        return [(row, samples) for (row, _), samples in zip(due, decoded, strict=True)]

    def close(self) -> None:
        """Free weights and cache."""
        self._backend.close()

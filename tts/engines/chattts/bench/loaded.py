"""A profile's step loop and vocoder without the engine around them."""

from collections.abc import Iterable
from dataclasses import replace

from tts.engine.request import Profile
from tts.engines.base import Device, Samples, Shards
from tts.engines.chattts.backend import CacheShape
from tts.engines.chattts.generation import Generation, Prompt
from tts.engines.chattts.loop import StepLoop
from tts.engines.chattts.parts import parts_load
from tts.engines.chattts.profile import profile_settings
from tts.engines.chattts.random_stream import StreamKey
from tts.engines.chattts.speech import Take
from tts.engines.chattts.tokens import DEFAULT_SPEED
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
        cache = CacheShape(slots, positions or settings.cache.positions)
        self._plan = settings.windows
        self._parts = parts_load(shards, device, replace(settings, cache=cache, refines=False))

    @property
    def loop(self) -> StepLoop:
        """Its step loop; whoever joins rows releases those that do not end."""
        return self._parts.loop

    def generation(self, seed: int, text: str, tokens: int) -> Generation:
        """An utterance of exactly so many tokens."""
        prompt = self._parts.vocabulary.code_prompt((text.lower(),), (DEFAULT_SPEED,))
        return Generation(Prompt(prompt.ids), StreamKey(seed), tokens, min_tokens=tokens)

    def take(self, row: int) -> Take:
        """What becomes of a row."""
        return Take(row, StreamingDecoder(self._plan), self._parts.vocoder.takes_codes)

    def decode(self, takes: Iterable[Take]) -> list[tuple[int, Samples]]:
        """The audio that is due now, with its row."""
        due = [(take.row, window) for take in takes for window in take.windows()]
        decoded = self._parts.vocoder.decode([window for _, window in due]) if due else []
        return [(row, samples) for (row, _), samples in zip(due, decoded, strict=True)]

    def close(self) -> None:
        """Free weights and cache."""
        self._parts.backend.close()

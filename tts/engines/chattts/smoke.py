"""A few tokens of every profile, spoken when a version is imported: it loads, and gives sound.

Tensors may each be in order and still make no speech together. Every profile is loaded as an
engine does, by what computes it on the CPU of this machine, with a cache of a few tokens instead
of an engine's.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

import numpy as np

from tts.engine.errors import EngineError, VersionUnavailable
from tts.engine.request import Profile
from tts.engines.base import Device, ShardBytes, Shards
from tts.engines.chattts.backend import CacheShape
from tts.engines.chattts.compute import torch_threads
from tts.engines.chattts.generation import Generation, Kind, Prompt
from tts.engines.chattts.native.backend import NativeBackend
from tts.engines.chattts.parts import Parts, parts_load
from tts.engines.chattts.profile import ProfileSettings, profile_settings
from tts.engines.chattts.random_stream import StreamKey
from tts.engines.chattts.speaker import SpeakerStatistics, speaker_normalise
from tts.engines.chattts.tokens import Vocabulary
from tts.engines.chattts.windows import Rows
from tts.engines.devices import cores

T = TypeVar("T")

TOKENS: Final = 8
"""Of audio, 0.17 s, and of refined text, in the profile that refines."""
_TEXT: Final = "你好 hello"
_CACHE: Final = CacheShape(slots=2, positions=64)


def smoke_speak(shards: Shards) -> None:
    """Speak in every profile; raises VersionUnavailable saying where it fails, and why."""
    device = Device(threads=cores())
    passing = _Unshared(shards)
    with torch_threads(device.threads):
        for profile in Profile:
            settings = replace(profile_settings(profile, device), cache=_CACHE)
            native = NativeBackend.available(settings.precision) is None
            way = "native code" if native else "torch"
            try:
                _speak(passing, device, settings)
            except (EngineError, MemoryError) as error:
                why = error.message if isinstance(error, EngineError) else "too little memory"
                raise VersionUnavailable(
                    f"it cannot speak in profile {profile} computed by {way}: {why}"
                ) from error


class _Unshared:
    """Shards whose objects are built for each who asks, and go with them.

    What all profiles would share is more memory than the largest of them needs.
    """

    def __init__(self, shards: Shards) -> None:
        self._shards = shards

    def read(self, name: str) -> ShardBytes:
        """See Shards."""
        return self._shards.read(name)

    def resident(
        self,
        names: str | tuple[str, ...],
        transform: str,
        build: Callable[[], T],
        measure: Callable[[T], int] | None = None,
    ) -> T:
        """See Shards."""
        return build()

    def account(self, name: str, size: int) -> None:
        """See Shards."""


def _speak(shards: Shards, device: Device, settings: ProfileSettings) -> None:
    """TOKENS of each kind, and their samples; raises EngineError, MemoryError."""
    # Nothing is compared bit for bit, and finding out how to have rows alike takes long.
    parts = parts_load(shards, device, settings, stable=False)
    try:
        statistics = str(shards.read("speaker"), "utf-8")
        speaker = SpeakerStatistics.read(statistics, parts.model.gpt.hidden).random(1)
        prompt = parts.vocabulary.code_prompt([_TEXT], speaker=True)
        audio = _generation(
            Prompt(prompt.ids, prompt.speaker_at, speaker_normalise(speaker)), Kind.AUDIO
        )
        generations = [audio, *_refining(parts.vocabulary, settings)]
        samples = parts.vocoder.whole(_rows(parts, generations))
    finally:
        parts.backend.close()
    if not np.isfinite(samples).all():
        raise VersionUnavailable("the vocoder's samples are not finite numbers")
    if not samples.any():
        raise VersionUnavailable("every sample is zero")


def _refining(vocabulary: Vocabulary, settings: ProfileSettings) -> list[Generation]:
    if not settings.refines:
        return []
    return [_generation(Prompt(vocabulary.refine_prompt([_TEXT]).ids), Kind.TEXT)]


def _generation(prompt: Prompt, kind: Kind) -> Generation:
    return Generation(prompt, StreamKey(0), TOKENS, min_tokens=TOKENS, kind=kind)


def _rows(parts: Parts, generations: list[Generation]) -> Rows:
    """What the vocoder takes (TOKENS, n) of the first generation; raises what ends any of them."""
    rows = [parts.loop.join(generation) for generation in generations]
    active, made = list(rows), []
    while active:
        for step in parts.loop.step(active):
            if step.error is not None:
                raise step.error
            row = step.codes if parts.vocoder.takes_codes else step.hidden
            if step.row == rows[0] and row is not None:
                made.append(row)
            if step.ended:
                active.remove(step.row)
    return np.stack(made)

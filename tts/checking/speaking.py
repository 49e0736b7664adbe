"""Having a version speak in this process, in one profile and one's numbers."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np

from models_registry.selectors import VersionSpec
from models_registry.storage import shard_store
from tts.engine.errors import EngineError
from tts.engine.request import Profile
from tts.engines.kokoro.speakers import speakers_of
from tts.engines.shards import shard_specs
from tts.local import LocalModel, LocalSpeaker, local_speaker
from tts.recognition.recogniser import Samples
from tts.speech.splitter import PlatformSplitter
from tts.voice_catalogue import VoiceSeed, chattts_voices, kokoro_voices, tone_voices

AT_ONCE = 8
"""Sentences that are spoken side by side."""
_SCALE = np.float32(32_768)


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence, who says it, and the seed: the same in every profile."""

    language: str
    text: str
    voice: str
    seed: int


@dataclass(frozen=True, slots=True)
class Spoken:
    """What became of a line: mono audio at `rate` Hz, none where `error` says why."""

    line: Line
    audio: Samples
    rate: int
    error: str = ""


class VersionVoice:
    """Speaks with a registered version; an engine is loaded for every call of `speak`."""

    def __init__(self, spec: VersionSpec, threads: int) -> None:
        self._engine = spec.engine
        self._model = LocalModel(
            spec.engine, shard_specs(spec.manifest), _voices(spec), locate=shard_store().local
        )
        self._threads = threads

    def lines(self, language: str, texts: Sequence[str]) -> list[Line]:
        """The texts, shared out among the voices that speak `language`: none where none does."""
        names = [voice.name for voice in self._model.voices if language in voice.languages]
        return [
            Line(language, text, name, seed)
            for seed, (text, name) in enumerate(zip(texts, cycle(names), strict=False), start=1)
        ]

    def speak(
        self, lines: Sequence[Line], profile: Profile, numbers: Profile | None = None
    ) -> list[Spoken]:
        """Speak all lines; raises VersionUnavailable where the engine cannot be loaded."""
        return asyncio.run(self._speak(lines, profile, numbers))

    async def _speak(
        self, lines: Sequence[Line], profile: Profile, numbers: Profile | None
    ) -> list[Spoken]:
        opening = local_speaker(self._model, profile, numbers=numbers, threads=self._threads)
        async with opening as speaker:
            spoken: list[Spoken] = []
            for some in _portions(lines):
                spoken += await asyncio.gather(*(self._line(speaker, line) for line in some))
            return spoken

    async def _line(self, speaker: LocalSpeaker, line: Line) -> Spoken:
        segments = PlatformSplitter().segments(line.text, line.language, None, self._engine)
        pieces: list[bytes] = []
        error = ""
        try:
            async for pcm in speaker.speak(segments, voice=line.voice, seed=line.seed):
                pieces.append(pcm)
        except EngineError as failure:
            error = failure.message
        audio = np.frombuffer(b"".join(pieces), np.int16).astype(np.float32) / _SCALE
        return Spoken(line, audio, speaker.sample_rate, error)


def _portions(lines: Sequence[Line]) -> Iterator[Sequence[Line]]:
    for start in range(0, len(lines), AT_ONCE):
        yield lines[start : start + AT_ONCE]


def _voices(spec: VersionSpec) -> tuple[VoiceSeed, ...]:
    """The voices that come with the engine: an operator may have changed stored ones."""
    match spec.engine:
        case "chattts":
            return chattts_voices()
        case "kokoro":
            return kokoro_voices(speakers_of(spec.manifest.speakers))
        case _:
            return tone_voices()

"""An engine on a checkpoint, and utterances spoken with it to their ends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tts.engine.request import Profile, VoicePart, VoiceSpec
from tts.engines.base import Device, Samples, StepResult, SynthesisParams, Utterance
from tts.engines.chattts.engine import ChatTtsEngine
from tts.engines.chattts.manifest import chattts_manifest
from tts.engines.chattts.speaker import embedding_bytes
from tts.engines.chattts.voice import Embedding, material_pack
from tts.engines.shards import LocalShards
from tts.text.segment import Language, LanguageSpan, Segment

HIDDEN = 64
CPU = Device(threads=1)


def segment(text: str, index: int = 0, language: Language = Language.EN) -> Segment:
    span = LanguageSpan(language, text, 0, len(text))
    return Segment(index, text, (span,), 0, len(text))


def voice_of(*payloads: bytes, weights: Sequence[float] = ()) -> VoiceSpec:
    shares = weights or [1.0] * len(payloads)
    parts = tuple(
        VoicePart(f"part{index}", weight, payload)
        for index, (payload, weight) in enumerate(zip(payloads, shares, strict=True))
    )
    return VoiceSpec("anna", "chattts", parts, ("en", "zh"))


def embedding(seed: int, hidden: int = HIDDEN) -> bytes:
    vector = np.random.default_rng(seed).standard_normal(hidden).astype(np.float32)
    return material_pack(Embedding(embedding_bytes(vector)))


@dataclass
class Bench:
    """A loaded engine."""

    engine: ChatTtsEngine
    profile: Profile

    @classmethod
    def load(
        cls,
        folder: Path,
        profile: Profile,
        device: Device = CPU,
        notify: Callable[[], None] = lambda: None,
        *,
        use_decoder: bool = True,
    ) -> "Bench":
        engine = ChatTtsEngine()
        shards = LocalShards(chattts_manifest(folder, use_decoder=use_decoder).shards)
        engine.load(shards, device, profile, notify)
        return cls(engine, profile)

    def prepare(
        self, text: str | Segment, voice: VoiceSpec | None = None, seed: int = 7
    ) -> Utterance:
        part = text if isinstance(text, Segment) else segment(text)
        params = SynthesisParams(self.profile, seed)
        return self.engine.prepare(part, voice or voice_of(embedding(1)), params)

    def speak(self, *utterances: Utterance, steps: int = 5_000) -> list[Samples]:
        """The audio of each; raises the error of any."""
        audio: dict[int, list[Samples]] = {u.utterance_id: [] for u in utterances}
        waiting = list(utterances)
        for _ in range(steps):
            if not waiting:
                return [np.concatenate(audio[u.utterance_id]) for u in utterances]
            for result in self.engine.step(waiting):
                if result.error is not None:
                    raise result.error
                audio[result.utterance_id].append(result.audio)
                if result.finished:
                    waiting = [u for u in waiting if u.utterance_id != result.utterance_id]
        raise AssertionError(f"no end after {steps} steps")

    def until_audio(self, *utterances: Utterance) -> tuple[int, list[StepResult]]:
        """How many steps it takes until any audio leaves, and what that step gave."""
        for step in range(1, 500):
            results = self.engine.step(utterances)
            if any(len(result.audio) for result in results):
                return step, results
        raise AssertionError("no audio")

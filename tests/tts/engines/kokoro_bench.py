"""A Kokoro engine with what arrived from it, for the tests beside this file."""

import threading
from dataclasses import dataclass, field

import numpy as np

from tts.engine.errors import EngineError
from tts.engine.request import Profile, VoicePart, VoiceSpec
from tts.engines.base import Device, Samples, Shards, SynthesisParams, Utterance
from tts.engines.kokoro.engine import KokoroEngine
from tts.engines.kokoro.manifest import bundled_manifest
from tts.text.segment import Language, LanguageSpan, Segment

LIMIT = 120.0
SPEAKERS = {speaker.speaker: speaker for speaker in bundled_manifest().speakers}


@dataclass
class Heard:
    """What one utterance gave."""

    chunks: list[Samples] = field(default_factory=list)
    finished: bool = False
    error: EngineError | None = None

    @property
    def audio(self) -> Samples:
        return np.concatenate([np.zeros(0, dtype=np.float32), *self.chunks])


class Bench:
    """Runs utterances of one engine until they end."""

    def __init__(self, shards: Shards, profile: Profile) -> None:
        self.profile = profile
        self.arrived = threading.Semaphore(0)
        self.engine = KokoroEngine()
        self.engine.load(shards, Device(threads=2), profile, self.arrived.release)

    def prepare(self, text: str, voice: VoiceSpec, seed: int | None = None) -> Utterance:
        return self.engine.prepare(segment(text), voice, SynthesisParams(self.profile, seed))

    def run(self, *utterances: Utterance) -> list[Heard]:
        """Step until all of `utterances` have finished."""
        heard = {utterance.utterance_id: Heard() for utterance in utterances}
        while True:
            active = [u for u in utterances if not heard[u.utterance_id].finished]
            for result in self.engine.step(active):
                if result.utterance_id in heard:
                    item = heard[result.utterance_id]
                    item.chunks.append(result.audio)
                    item.finished, item.error = result.finished, result.error
            if all(item.finished for item in heard.values()):
                return [heard[utterance.utterance_id] for utterance in utterances]
            assert self.arrived.acquire(timeout=LIMIT), "nothing arrived"

    def say(self, text: str, voice: VoiceSpec, seed: int | None = None) -> Samples:
        (heard,) = self.run(self.prepare(text, voice, seed))
        if heard.error is not None:
            raise heard.error
        return heard.audio


def voice(speaker: str, *, companion: bool = True) -> VoiceSpec:
    """A bundled voice as the platform sends it."""
    known = SPEAKERS[speaker]
    return VoiceSpec(
        name=speaker,
        engine="kokoro",
        parts=(VoicePart(speaker),),
        languages=known.languages,
        companion=voice(known.companion, companion=False) if companion else None,
        gain_db=known.gain_db,
    )


def segment(text: str) -> Segment:
    """One segment; "|" stands between its spans, each in the language of its first letter."""
    spans: list[LanguageSpan] = []
    for run in text.split("|"):
        language = Language.EN if run.strip()[:1].isascii() else Language.ZH
        spans.append(LanguageSpan(language, run.strip(), 0, len(run)))
    return Segment(0, text, tuple(spans), 0, len(text))

"""Measures what `gains.py` and the engine's guess of a duration hold.

`python -m tts.engines.kokoro.measure` takes about two minutes on one core and
prints, for every bundled voice and the distilled one, the gain to -20 LUFS and
the seconds of speech per character. The two gains of af_heart agree when
`DISTILLED_GAIN_DB` is right.
"""

import queue
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from tts.audio.loudness import fixed_gain_db
from tts.engine.request import Profile, VoicePart, VoiceSpec
from tts.engines.base import Device, Samples, SynthesisParams
from tts.engines.kokoro import SAMPLE_RATE
from tts.engines.kokoro.engine import DISTILLED_SPEAKER, EDGE_SECONDS, KokoroEngine
from tts.engines.kokoro.manifest import bundled_manifest
from tts.engines.kokoro.speakers import Speaker
from tts.engines.shards import LocalShards
from tts.text.segment import Language, LanguageSpan, Segment

TEXTS = {
    Language.EN: (
        "The quick brown fox jumps over the lazy dog, and nobody was surprised.",
        "Please leave your name and number, and we will call you back tomorrow morning.",
        "What a wonderful evening this has been!",
    ),
    Language.ZH: (
        "今天天气很好，我们一起去公园散步吧。",
        "请留下您的姓名和电话，我们明天上午给您回电话。",
        "这真是一个美好的夜晚！",
    ),
}


@dataclass(frozen=True, slots=True)
class Measurement:
    """`gain_db` to -20 LUFS; `pace` in seconds per character, edges not counted."""

    label: str
    gain_db: float
    pace: float


def measurements() -> Iterator[Measurement]:
    """One a bundled voice by the full model, then the distilled one."""
    manifest = bundled_manifest()
    shards = LocalShards(manifest.shards)
    by_profile = [(Profile.STANDARD, speaker) for speaker in manifest.speakers]
    by_profile += [
        (Profile.REALTIME, s) for s in manifest.speakers if s.speaker == DISTILLED_SPEAKER
    ]
    for profile, speaker in by_profile:
        arrived: queue.SimpleQueue[None] = queue.SimpleQueue()
        engine = KokoroEngine()
        engine.load(shards, Device(threads=2), profile, partial(arrived.put, None))
        audio, characters = _read(engine, speaker, arrived)
        engine.close()
        heard = len(audio) / SAMPLE_RATE - EDGE_SECONDS * len(TEXTS[Language.EN])
        yield Measurement(
            label=f"{speaker.speaker} ({profile.value})",
            gain_db=fixed_gain_db(audio, SAMPLE_RATE),
            pace=heard / characters,
        )


def _read(
    engine: KokoroEngine, speaker: Speaker, arrived: "queue.SimpleQueue[None]"
) -> tuple[Samples, int]:
    language = Language(speaker.languages[0])
    voice = VoiceSpec(speaker.speaker, "kokoro", (VoicePart(speaker.speaker),), speaker.languages)
    params = SynthesisParams(Profile.STANDARD, seed=1)
    pieces: list[Samples] = []
    for index, text in enumerate(TEXTS[language]):
        spans = (LanguageSpan(language, text, 0, len(text)),)
        utterance = engine.prepare(Segment(index, text, spans, 0, len(text)), voice, params)
        finished = False
        while not finished:
            results = engine.step([utterance])
            for result in results:
                if result.error is not None:
                    raise result.error
                pieces.append(result.audio)
                finished = result.finished
            if not finished:
                arrived.get()
    return np.concatenate(pieces), sum(len(text) for text in TEXTS[language])


if __name__ == "__main__":
    for item in measurements():
        sys.stdout.write(f"{item.label:28} {item.gain_db:+6.2f} dB  {item.pace:.3f} s/character\n")
        sys.stdout.flush()

"""From a voice as a request carries it to the speaker in a prompt."""

import logging
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from tts.audio.errors import AudioError
from tts.audio.reading import audio_read
from tts.engine.errors import VoiceUnavailable, failure_of
from tts.engine.request import VoiceSpec
from tts.engine.traces import trace_of
from tts.engines.base import Samples
from tts.engines.chattts import SAMPLE_RATE
from tts.engines.chattts.backend import Floats
from tts.engines.chattts.generation import Codes
from tts.engines.chattts.speaker import (
    SpeakerInvalid,
    SpeakerStatistics,
    embedding_bytes,
    embedding_read,
    sample_read,
    speaker_mix,
)
from tts.engines.chattts.voice import (
    Embedding,
    Recording,
    Sample,
    Seed,
    VoiceMaterial,
    material_unpack,
)

logger = logging.getLogger(__name__)

MAX_HEARD = 64
"""Recordings whose audio tokens are kept, the last ones used."""
MAX_SECONDS = 20.0

Encode = Callable[[Samples], Codes]


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who speaks: a direction `vector` (h,), or `sample` (codebooks, t) saying `transcript`."""

    vector: Floats | None = None
    sample: Codes | None = None
    transcript: str = ""


class Casting:
    """Finds speakers. A recording is heard in a thread of its own, so that nobody waits for it.

    Seeds are drawn from `statistics`, the version's own. `encode` is called in that thread
    alone; `heard` from any, when a recording was heard.
    """

    def __init__(
        self,
        statistics: SpeakerStatistics,
        codebooks: int,
        encode: Encode,
        heard: Callable[[], None],
    ) -> None:
        self._statistics, self._codebooks = statistics, codebooks
        self._encode = encode
        self._notify = heard
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="chattts-casting")
        self._heard: OrderedDict[bytes, Future[Speaker]] = OrderedDict()

    def cast(self, voice: VoiceSpec) -> "Future[Speaker]":
        """The speaker of `voice`, now or later; raises VoiceUnavailable saying why not.

        The future raises VoiceUnavailable where a recording cannot be used, SynthesisFailed
        where it could not be heard this time.
        """
        try:
            materials = [_material(voice, part.payload) for part in voice.parts]
            first = materials[0] if len(materials) == 1 else None
            if isinstance(first, Recording):
                return self._hear(voice.parts[0].payload, first)
            if isinstance(first, Sample):
                codes = sample_read(first.codes, first.codebooks, self._codebooks)
                return _known(Speaker(sample=codes.astype(np.uint16), transcript=first.transcript))
            vectors = [_vector(voice, material, self._statistics) for material in materials]
            return _known(Speaker(speaker_mix(vectors, [part.weight for part in voice.parts])))
        except SpeakerInvalid as error:
            raise VoiceUnavailable(f"voice {voice.name!r}: {error.problem}") from error

    def close(self) -> None:
        """End the thread; what it has not begun is dropped."""
        self._thread.shutdown(wait=True, cancel_futures=True)

    def _hear(self, payload: bytes, recording: Recording) -> "Future[Speaker]":
        found = self._heard.get(payload)
        # What failed is tried again: there may have been too little memory, no more.
        if found is None or (found.done() and found.exception() is not None):
            found = self._heard[payload] = self._thread.submit(self._listen, recording)
            found.add_done_callback(lambda _: self._notify())
        self._heard.move_to_end(payload)
        if len(self._heard) > MAX_HEARD:
            self._heard.popitem(last=False)
        return found

    def _listen(self, recording: Recording) -> Speaker:
        try:
            samples = audio_read(recording.audio, SAMPLE_RATE, MAX_SECONDS)
            codes = self._encode(samples)
        except (AudioError, ValueError) as error:
            raise VoiceUnavailable(f"the voice's recording cannot be used: {error}") from error
        except Exception as error:
            logger.error("a recording could not be heard\n%s", trace_of(error))
            raise failure_of("hearing the voice's recording failed", error) from error
        return Speaker(sample=codes, transcript=recording.transcript)


def _known(speaker: Speaker) -> "Future[Speaker]":
    future: Future[Speaker] = Future()
    future.set_result(speaker)
    return future


def _material(voice: VoiceSpec, payload: bytes) -> VoiceMaterial:
    if not payload:
        raise VoiceUnavailable(
            f"voice {voice.name!r} has no speaker: ChatTTS' are seeds, embeddings or samples"
        )
    try:
        return material_unpack(payload)
    except ValueError as error:
        raise VoiceUnavailable(f"voice {voice.name!r} is {error}") from error


def _vector(voice: VoiceSpec, material: VoiceMaterial, statistics: SpeakerStatistics) -> Floats:
    if isinstance(material, Seed):
        # Read as any other: statistics may lead to numbers that are no speaker.
        values = embedding_bytes(statistics.random(material.number))
    elif isinstance(material, Embedding):
        values = material.values
    else:
        raise VoiceUnavailable(
            f"voice {voice.name!r}: only seeds and embeddings can be mixed, no recordings"
        )
    return embedding_read(values, len(statistics.mean))

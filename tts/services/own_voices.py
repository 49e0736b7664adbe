"""Voices that a tenant brings: a seed, an embedding, audio tokens, or a recording."""

from dataclasses import dataclass
from uuid import UUID

import numpy as np

from tts.audio.encoder import StreamEncoder
from tts.audio.errors import AudioError
from tts.audio.format import AudioFormat
from tts.audio.pcm import Samples, to_s16le
from tts.audio.reading import audio_read
from tts.engines.chattts import SAMPLE_RATE
from tts.engines.chattts.speaker import (
    Floats,
    SpeakerInvalid,
    embedding_bytes,
    embedding_decode,
    sample_bytes,
    sample_decode,
)
from tts.engines.chattts.voice import (
    MAX_TRANSCRIPT,
    Embedding,
    Recording,
    Sample,
    VoiceMaterial,
    material_pack,
)
from tts.errors import VoiceInvalid, VoiceLimit, VoiceTaken
from tts.models import Voice, VoiceOrigin
from tts.selectors import CHATTTS, SpeakerSpace
from tts.services.voices import VoiceDraft, voice_create

MAX_VOICES = 1_000
"""Voices of one tenant, those out of use included."""
MAX_SEED = 2**53 - 1
"""What JSON readers keep exactly (RFC 8259, section 6)."""
RECORDING_SECONDS = (2.0, 15.0)
"""Shorter ones say too little of a voice; longer ones leave too little room to speak."""
RECORDING_BITRATE = 32_000
"""Bits a second of Opus: 15 s are 60 kB, which travel with every request."""
QUIETEST = 0.01
"""Root mean square below which a recording is taken for silence (-40 dB of full scale)."""


@dataclass(frozen=True, slots=True)
class VoiceOrder:
    """A voice as a tenant asks for it; exactly one of the four materials is given.

    `sample` and `recording` need the `transcript` of what is said in them and the
    `consent` of who says it. `recording` is an audio file.
    """

    name: str
    tenant_id: UUID
    languages: tuple[str, ...]
    seed: int | None = None
    embedding: str | None = None
    sample: str | None = None
    recording: bytes | None = None
    transcript: str = ""
    consent: str = ""
    display_name: str = ""
    gain_db: float = 0.0
    preview_text: str = ""
    changed_by: str = ""


def voice_order(order: VoiceOrder, space: SpeakerSpace) -> Voice:
    """Store what `order` asks for; raises VoiceInvalid, VoiceTaken, VoiceLimit.

    Blocks for as long as a recording takes to be read.
    """
    origin, material = _material(order, space)
    mine = Voice.objects.filter(tenant_id=order.tenant_id)
    if mine.count() >= MAX_VOICES:
        raise VoiceLimit(MAX_VOICES)
    if mine.filter(name=order.name, engine=CHATTTS).exists():
        raise VoiceTaken(order.name)
    return voice_create(
        VoiceDraft(
            name=order.name,
            engine=CHATTTS,
            languages=order.languages,
            tenant_id=order.tenant_id,
            display_name=order.display_name,
            gain_db=order.gain_db,
            payload=material_pack(material),
            preview_text=order.preview_text,
            origin=origin,
            consent=order.consent,
            changed_by=order.changed_by,
        )
    )


def _material(order: VoiceOrder, space: SpeakerSpace) -> tuple[VoiceOrigin, VoiceMaterial]:
    given = [
        name
        for name in ("seed", "embedding", "sample", "recording")
        if getattr(order, name) is not None
    ]
    if len(given) != 1:
        raise VoiceInvalid(
            "give exactly one of seed, embedding, sample and recording,"
            f" not {' and '.join(given) or 'none'}",
            param=given[1] if given else "seed",
        )
    if order.seed is not None:
        return VoiceOrigin.SEED, _embedding(_drawn(order.seed, space))
    try:
        if order.embedding is not None:
            return VoiceOrigin.EMBEDDING, _embedding(
                embedding_decode(order.embedding, space.hidden)
            )
        if order.sample is not None:
            codes = sample_decode(order.sample, space.codebooks)
            transcript = _transcript(order)
            return VoiceOrigin.SAMPLE, Sample(sample_bytes(codes), space.codebooks, transcript)
    except SpeakerInvalid as error:
        param = "sample" if order.sample is not None else "embedding"
        raise VoiceInvalid(f"{param}: {error.problem}", param=param) from error
    return VoiceOrigin.RECORDING, Recording(_opus(order.recording or b""), _transcript(order))


def _drawn(seed: int, space: SpeakerSpace) -> Floats:
    if not 0 <= seed <= MAX_SEED:
        raise VoiceInvalid(f"seed: expected 0 to {MAX_SEED}", param="seed")
    return space.statistics.random(seed)


def _embedding(vector: Floats) -> Embedding:
    return Embedding(embedding_bytes(vector))


def _transcript(order: VoiceOrder) -> str:
    transcript = " ".join(order.transcript.split())
    if not 1 <= len(transcript) <= MAX_TRANSCRIPT:
        raise VoiceInvalid(
            f"transcript: say what is spoken in it, in 1 to {MAX_TRANSCRIPT} characters,"
            f" not {len(transcript)}",
            param="transcript",
        )
    return transcript


def _opus(recording: bytes) -> bytes:
    """The recording as Ogg Opus; raises VoiceInvalid where nobody could learn a voice from it."""
    least, most = RECORDING_SECONDS
    try:
        samples = audio_read(recording, SAMPLE_RATE, most)
        _check_recording(samples, least)
        with StreamEncoder(
            AudioFormat.OPUS, SAMPLE_RATE, SAMPLE_RATE, RECORDING_BITRATE, stored=True
        ) as encoder:
            encoder.encode(to_s16le(samples))
            return encoder.finish()
    except AudioError as error:
        raise VoiceInvalid(f"recording: {error}", param="recording") from error


def _check_recording(samples: Samples, least: float) -> None:
    if len(samples) < least * SAMPLE_RATE:
        raise VoiceInvalid(
            f"recording: has {len(samples) / SAMPLE_RATE:.1f} seconds, at least {least:g} needed",
            param="recording",
        )
    if float(np.sqrt(np.mean(np.square(samples, dtype=np.float64)))) < QUIETEST:
        raise VoiceInvalid("recording: is silent, or nearly so", param="recording")

"""What a ChatTTS voice is made from, checked and packed: a seed, a speaker string, a recording."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tts.audio.encoder import StreamEncoder
from tts.audio.errors import AudioError, AudioTooLong
from tts.audio.format import AudioFormat
from tts.audio.pcm import Samples, to_s16le
from tts.audio.reading import audio_read
from tts.engines.chattts import SAMPLE_RATE, TOKEN_SAMPLES
from tts.engines.chattts.speaker import (
    SpeakerInvalid,
    embedding_bytes,
    embedding_decode,
    sample_bytes,
    sample_decode,
)
from tts.engines.chattts.voice import (
    Embedding,
    Recording,
    Sample,
    Seed,
    VoiceMaterial,
    material_pack,
)
from tts.errors import RecordingTooBig, VoiceInvalid
from tts.models import VoiceOrigin
from tts.selectors import SpeakerSpace

MAX_SEED = 2**53 - 1
"""What JSON readers keep exactly (RFC 8259, section 6)."""
RECORDING_SECONDS = (2.0, 8.0)
"""Shorter ones say too little of a voice. Longer ones would leave the longest segment too little
of ChatTTS' 1,536 positions: 8 s are 375 tokens, the 200 letters of a segment 610."""
MAX_RECORDING_BYTES = 16 * 2**20
"""8 s of stereo at 192 kHz in 32 bits are 12 MB."""
RECORDING_BITRATE = 32_000
"""Bits a second of Opus: 8 s are 32 kB, which travel with every request."""
QUIETEST = 0.01
"""Root mean square below which a recording is taken for silence (-40 dB of full scale)."""
LETTERS_A_SECOND = 30.0
"""More than anybody says; a Chinese character counts 3.5, as where texts are cut."""
_CHINESE = 3.5


@dataclass(frozen=True, slots=True)
class VoiceSource:
    """What a voice is to be made from: exactly one of the four, and what belongs to it.

    `embedding` and `sample` are ChatTTS' strings, `recording` is an audio file.
    `sample` and `recording` need the `transcript` of what is said in them.
    """

    seed: int | None = None
    embedding: str | None = None
    sample: str | None = None
    recording: bytes | None = None
    transcript: str = ""

    @property
    def given(self) -> tuple[str, ...]:
        """Which of the four are there."""
        names = ("seed", "embedding", "sample", "recording")
        return tuple(name for name in names if getattr(self, name) is not None)


@dataclass(frozen=True, slots=True)
class VoicePayload:
    """What a voice was made from, and the bytes that travel with its requests."""

    origin: VoiceOrigin
    payload: bytes


def voice_payload(source: VoiceSource, space: SpeakerSpace) -> VoicePayload:
    """Check and pack `source`; raises VoiceInvalid naming the field, RecordingTooBig.

    Blocks for as long as a recording takes to be read.
    """
    if len(source.given) != 1:
        raise VoiceInvalid(
            "give exactly one of seed, embedding, sample and recording,"
            f" not {' and '.join(source.given) or 'none'}",
            param=source.given[1] if source.given else "seed",
        )
    origin = VoiceOrigin(source.given[0])
    if source.transcript.strip() and origin in (VoiceOrigin.SEED, VoiceOrigin.EMBEDDING):
        raise VoiceInvalid(
            f"transcript: belongs to a sample or a recording, not to {_a(origin)}",
            param="transcript",
        )
    return VoicePayload(origin, material_pack(_MAKERS[origin](source, space)))


def _a(origin: VoiceOrigin) -> str:
    return f"an {origin}" if origin is VoiceOrigin.EMBEDDING else f"a {origin}"


def _of_seed(source: VoiceSource, space: SpeakerSpace) -> VoiceMaterial:
    del space  # every version draws it in its own
    seed = source.seed or 0
    if not 0 <= seed <= MAX_SEED:
        raise VoiceInvalid(f"seed: must be from 0 to {MAX_SEED}", param="seed")
    return Seed(seed)


def _of_embedding(source: VoiceSource, space: SpeakerSpace) -> VoiceMaterial:
    try:
        vector = embedding_decode((source.embedding or "").strip(), space.hidden)
    except SpeakerInvalid as error:
        raise VoiceInvalid(f"embedding: {error.problem}", param="embedding") from error
    return Embedding(embedding_bytes(vector))


def _of_sample(source: VoiceSource, space: SpeakerSpace) -> VoiceMaterial:
    try:
        codes = sample_decode((source.sample or "").strip(), space.codebooks)
    except SpeakerInvalid as error:
        raise VoiceInvalid(f"sample: {error.problem}", param="sample") from error
    seconds = codes.shape[1] * TOKEN_SAMPLES / SAMPLE_RATE
    _check_seconds("sample", seconds)
    return Sample(sample_bytes(codes), space.codebooks, _transcript(source, seconds))


def _of_recording(source: VoiceSource, space: SpeakerSpace) -> VoiceMaterial:
    del space  # any model hears it
    # Before the file is read, which costs more.
    _transcript(source, RECORDING_SECONDS[1])
    samples = _samples(source.recording or b"")
    transcript = _transcript(source, len(samples) / SAMPLE_RATE)
    return Recording(_opus(samples), transcript)


_MAKERS: dict[VoiceOrigin, Callable[[VoiceSource, SpeakerSpace], VoiceMaterial]] = {
    VoiceOrigin.SEED: _of_seed,
    VoiceOrigin.EMBEDDING: _of_embedding,
    VoiceOrigin.SAMPLE: _of_sample,
    VoiceOrigin.RECORDING: _of_recording,
}


def _transcript(source: VoiceSource, seconds: float) -> str:
    """The words that are spoken in `seconds`, their spaces made one each."""
    transcript = " ".join(source.transcript.split())
    if not any(character.isalnum() for character in transcript):
        raise VoiceInvalid("transcript: give the words that are spoken in it", param="transcript")
    if not all(character.isprintable() for character in transcript):
        raise VoiceInvalid("transcript: has control characters", param="transcript")
    letters = sum(_CHINESE if "\u3400" <= item <= "\u9fff" else 1.0 for item in transcript)
    if letters > seconds * LETTERS_A_SECOND:
        raise VoiceInvalid(
            f"transcript: nobody says so much in {seconds:.1f} seconds; give only the words"
            " that are spoken in it",
            param="transcript",
        )
    return transcript


def _check_seconds(field: str, seconds: float) -> None:
    least, most = RECORDING_SECONDS
    if not least <= seconds <= most:
        raise VoiceInvalid(
            f"{field}: has {seconds:.1f} seconds, {least:g} to {most:g} are taken", param=field
        )


def _samples(recording: bytes) -> Samples:
    """The recording at 24 kHz, if a voice can be learnt from it."""
    if len(recording) > MAX_RECORDING_BYTES:
        raise RecordingTooBig(MAX_RECORDING_BYTES)
    least, most = RECORDING_SECONDS
    try:
        samples = audio_read(recording, SAMPLE_RATE, most)
    except AudioTooLong as error:
        raise VoiceInvalid(
            f"recording: has more than {most:g} seconds, {least:g} to {most:g} are taken",
            param="recording",
        ) from error
    except AudioError as error:
        raise VoiceInvalid(f"recording: {error}", param="recording") from error
    _check_seconds("recording", len(samples) / SAMPLE_RATE)
    # A file of floats may hold anything.
    if not np.isfinite(samples).all():
        raise VoiceInvalid("recording: has samples that are not finite", param="recording")
    if float(np.sqrt(np.mean(np.square(samples, dtype=np.float64)))) < QUIETEST:
        raise VoiceInvalid(
            "recording: is silent, or nearly so; speak louder than -40 dB of full scale",
            param="recording",
        )
    return samples


def _opus(samples: Samples) -> bytes:
    """As Ogg Opus."""
    with StreamEncoder(
        AudioFormat.OPUS, SAMPLE_RATE, SAMPLE_RATE, RECORDING_BITRATE, stored=True
    ) as encoder:
        encoder.encode(to_s16le(np.clip(samples, -1.0, 1.0)))
        return encoder.finish()

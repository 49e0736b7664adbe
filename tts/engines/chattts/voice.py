"""What a ChatTTS voice is made of, as the payload that travels with a request.

VoiceMaterial (msgpack, tagged)
├── Seed       a random speaker, who is drawn in the space of the version that speaks
├── Embedding  a speaker vector, which fits versions of its width alone
├── Sample     audio tokens of a recording, and what is said in it
└── Recording  the recording itself, to be turned into a Sample by a worker
"""

from typing import Annotated

import msgspec

MAX_TRANSCRIPT = 500


class Seed(msgspec.Struct, frozen=True, tag="seed"):
    """`number`: that of `SpeakerStatistics.random`."""

    number: Annotated[int, msgspec.Meta(ge=0)]


class Embedding(msgspec.Struct, frozen=True, tag="embedding"):
    """`values`: one little-endian float16 for each hidden dimension of the GPT."""

    values: bytes


class Sample(msgspec.Struct, frozen=True, tag="sample"):
    """`codes`: little-endian uint16, (codebooks, tokens) in C order; `transcript` as spoken."""

    codes: bytes
    codebooks: int
    transcript: str


class Recording(msgspec.Struct, frozen=True, tag="recording"):
    """`audio`: a file that PyAV reads (we store Ogg Opus), of the words in `transcript`."""

    audio: bytes
    transcript: str


VoiceMaterial = Seed | Embedding | Sample | Recording
_decoder: msgspec.msgpack.Decoder[VoiceMaterial] = msgspec.msgpack.Decoder(VoiceMaterial)


def material_pack(material: VoiceMaterial) -> bytes:
    """The payload that carries `material`."""
    return msgspec.msgpack.encode(material)


def material_unpack(payload: bytes) -> VoiceMaterial:
    """What `material_pack` packed; raises ValueError saying what is wrong."""
    try:
        return _decoder.decode(payload)
    except msgspec.MsgspecError as error:
        raise ValueError(f"not the payload of a ChatTTS voice: {error}") from error

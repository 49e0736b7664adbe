"""The messages of the WebSocket protocol `tts.v1`, typed in both directions.

Clients send JSON text frames; every client message may carry an `event_id`,
which errors caused by it echo. Servers send JSON text frames and, with the
transport `binary`, raw audio frames between `speech.started` and
`speech.done` or `context.cancelled` of the one active context.
"""

import re
from enum import IntEnum, StrEnum
from typing import Annotated, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from coordination.clipping import clipped
from tts.speech.problem import Problem
from tts.speech.surrogates import surrogate_find

SUBPROTOCOL = "tts.v1"
KEY_SUBPROTOCOL_PREFIX = "tts.key."
DEFAULT_CONTEXT = "default"

ContextId = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"\A[\w.:-]+\Z")]
ContextIdOrAll = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"\A(\*|[\w.:-]+)\Z")]
EventId = Annotated[str, Meta(max_length=64)]


class CloseCode(IntEnum):
    """Why a socket was closed (RFC 6455 section 7.4; 4000-4999 are ours)."""

    NORMAL = 1000
    GOING_AWAY = 1001
    UNSUPPORTED_DATA = 1003
    POLICY = 1008
    TOO_BIG = 1009
    INTERNAL = 1011
    OVERLOADED = 1013
    UNAUTHORIZED = 4401
    FORBIDDEN = 4403
    NOT_FOUND = 4404
    IDLE = 4408


class AudioTransport(StrEnum):
    """How audio travels: raw frames, or base64 inside JSON with a context id."""

    BINARY = "binary"
    BASE64 = "base64"


class ClientMessage(Struct, tag_field="type", forbid_unknown_fields=False, kw_only=True):
    """What every client message may carry."""

    event_id: EventId | None = None


class SessionUpdate(ClientMessage, tag="session.update"):
    """Settings of the contexts that begin after this message; absent fields stay as they are."""

    model: str | UnsetType | None = UNSET
    voice: str | dict[str, str] | UnsetType | None = UNSET
    response_format: str | UnsetType | None = UNSET
    sample_rate: int | UnsetType | None = UNSET
    speed: float | UnsetType | None = UNSET
    language: str | UnsetType | None = UNSET
    seed: int | UnsetType | None = UNSET
    quality_tier: str | UnsetType | None = UNSET
    instructions: str | UnsetType | None = UNSET
    audio_transport: AudioTransport | UnsetType | None = UNSET
    split: str | UnsetType | None = UNSET
    first_chunk_chars: Annotated[int, Meta(ge=10, le=200)] | UnsetType | None = UNSET
    max_buffer_delay_ms: Annotated[int, Meta(ge=100, le=60000)] | UnsetType | None = UNSET


class TextAppend(ClientMessage, tag="input_text.append"):
    """More text of a context, concatenated verbatim with what came before."""

    text: str
    context_id: ContextId = DEFAULT_CONTEXT


class TextFlush(ClientMessage, tag="input_text.flush"):
    """Speak what is there; `flush.done` answers when its audio has been sent."""

    context_id: ContextId = DEFAULT_CONTEXT
    flush_id: EventId | None = None


class TextEnd(ClientMessage, tag="input_text.end"):
    """Flush, then finish the context."""

    context_id: ContextId = DEFAULT_CONTEXT


class ContextCancel(ClientMessage, tag="context.cancel"):
    """Stop a context at once ("*": all of them); no audio of it is sent afterwards."""

    context_id: ContextIdOrAll = DEFAULT_CONTEXT


class PlaybackPosition(ClientMessage, tag="playback.position"):
    """How much of a context the listener has heard; it becomes the stream's credit."""

    ms: Annotated[float, Meta(ge=0)]
    context_id: ContextId = DEFAULT_CONTEXT


class Ping(ClientMessage, tag="ping"):
    """Keeps the connection; answered by `pong`."""


class SessionClose(ClientMessage, tag="session.close"):
    """Finish what is running, then close."""


AnyClientMessage = (
    SessionUpdate
    | TextAppend
    | TextFlush
    | TextEnd
    | ContextCancel
    | PlaybackPosition
    | Ping
    | SessionClose
)
_decoder = msgspec.json.Decoder(AnyClientMessage)
_encoder = msgspec.json.Encoder()
_ALLOWED = {
    "type": [kind.__struct_config__.tag for kind in get_args(AnyClientMessage)],
    "audio_transport": [item.value for item in AudioTransport],
}
# What errors call the text by the HTTP field's name, and what it is called here.
_TEXT_PARAMS = {"input": "text"}
# How msgspec says which field is wrong, and what it cannot be.
_PLACE = re.compile(r" - at `\$\.(\w+)[^`]*`\Z|\AObject missing required field `(\w+)`")
_REFUSED = re.compile(r"\AInvalid (?:enum )?value '(.*)'(?= - at )", re.DOTALL)


class ProtocolError(Exception):
    """A client message that cannot be understood, and the field at fault (`param`).

    `event_id` is the message's own where it could be read.
    """

    def __init__(
        self, message: str, *, code: str, param: str | None = None, event_id: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.param = param
        self.event_id = event_id


def message_decode(text: str) -> AnyClientMessage:
    """Decode one text frame; raises ProtocolError saying what is wrong and where."""
    try:
        return _decoder.decode(text)
    except msgspec.ValidationError as error:
        message, param = _problem_told(str(error))
        raise ProtocolError(
            message, code="invalid_message", param=param, event_id=_event_id(text)
        ) from error
    except (msgspec.DecodeError, UnicodeError) as error:
        unicode = surrogate_find(text)
        if unicode is not None:
            raise ProtocolError(
                unicode.message, code="invalid_character", param=unicode.param
            ) from error
        raise ProtocolError(f"Not a JSON object: {error}", code="invalid_json") from error


def _problem_told(message: str) -> tuple[str, str | None]:
    """What msgspec says, the client's value cut, with what is allowed; and the field at fault."""
    place = _PLACE.search(message)
    param = (place[1] or place[2]) if place else None
    message = _REFUSED.sub(lambda found: f"Invalid value {clipped(found[1])}", message)
    if param in _ALLOWED:
        message = f"{message}; allowed are {', '.join(_ALLOWED[param])}"
    return message, param


def _event_id(text: str) -> str | None:
    try:
        found = msgspec.json.decode(text, type=dict[str, object]).get("event_id")
    except msgspec.MsgspecError:
        return None
    return found[:64] if isinstance(found, str) else None


def message_encode(kind: str, **fields: object) -> str:
    """Encode one server message; fields that are None are left out."""
    present = {name: value for name, value in fields.items() if value is not None}
    return _encoder.encode({"type": kind, **present}).decode()


def error_encode(
    problem: Problem,
    *,
    event_id: str | None = None,
    context_id: str | None = None,
    fatal: bool = False,
) -> str:
    """Encode an `error`; its `param` is a field of this protocol's messages."""
    error = problem.envelope()["error"]
    param = _TEXT_PARAMS.get(problem.param or "", problem.param)
    return message_encode(
        "error",
        error={**error, "param": param},
        retry_after=problem.retry_after,
        event_id=event_id,
        context_id=context_id,
        fatal=fatal,
    )

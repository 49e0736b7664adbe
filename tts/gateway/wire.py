"""The messages between gateways and synthesis workers, as msgpack.

A stream entry holds one frame: an array of messages that were written
together, in order. Each message is decoded by itself, so that one that is
malformed spoils none beside it. Every message is an array whose first element
names its type; the frozen dataclasses of `tts.engine` travel inside unchanged.
Fields that a reader does not know are ignored: processes of two releases talk
to each other while one replaces the other.

On a worker's request stream: Open, SegmentSent, InputEnded, CreditGranted,
CancelSent, GatewayDied. On a gateway's reply stream: one message per engine
event, and WorkerDied.

WireError  a message is not msgpack, or not one of these
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from tts.engine.event import (
    AudioChunk,
    EngineEvent,
    SegmentFinished,
    SpeechFinished,
    SpeechQueued,
    SpeechStarted,
)
from tts.engine.request import SpeechRequest
from tts.text.segment import Segment

FRAME_FIELD = b"f"
FRAME_BYTES = 1 << 20
"""A frame is closed when it has grown to this many bytes."""


class WireError(ValueError):
    """A message is not msgpack, or not one of these; ids that cannot be read are ""."""

    def __init__(
        self, message: str, *, request_id: str = "", gateway_id: str = "", attempt: int = 1
    ) -> None:
        super().__init__(message)
        self.request_id = request_id
        self.gateway_id = gateway_id
        self.attempt = attempt


class Message(msgspec.Struct, frozen=True, array_like=True, tag=True):
    """Base of all messages."""


class Open(Message, frozen=True, tag="open"):
    """Begin `request` (its `attempt` counts) and reply to `gateway_id`'s stream.

    `serial` is another for every opening by a gateway, so that one which arrives
    twice is told from a request id that is used again.
    """

    gateway_id: str
    request: SpeechRequest
    serial: int = 0


class SegmentSent(Message, frozen=True, tag="segment"):
    """The next segment of a request."""

    request_id: str
    attempt: int
    segment: Segment


class InputEnded(Message, frozen=True, tag="end"):
    """No segment follows."""

    request_id: str
    attempt: int


class CreditGranted(Message, frozen=True, tag="credit"):
    """`total` samples have been granted so far beyond the initial credit.

    A running total, so that a message that arrives twice grants once.
    """

    request_id: str
    attempt: int
    total: int


class CancelSent(Message, frozen=True, tag="cancel"):
    """End the request; nothing is expected in reply."""

    request_id: str
    attempt: int


class GatewayDied(Message, frozen=True, tag="gateway_lost"):
    """A gateway died: free everything that it asked for."""

    gateway_id: str


class Queued(Message, frozen=True, tag="queued"):
    """`SpeechQueued` on its way."""

    event: SpeechQueued


class Started(Message, frozen=True, tag="started"):
    """`SpeechStarted` on its way."""

    event: SpeechStarted


class Chunk(Message, frozen=True, tag="chunk"):
    """`AudioChunk` on its way; the audio is raw bytes."""

    event: AudioChunk


class SegmentDone(Message, frozen=True, tag="segment_done"):
    """`SegmentFinished` on its way."""

    event: SegmentFinished


class Finished(Message, frozen=True, tag="finished"):
    """`SpeechFinished` on its way."""

    event: SpeechFinished


class WorkerDied(Message, frozen=True, tag="worker_lost"):
    """A worker died. `incarnation` is "" where whoever says it does not know it."""

    worker_id: str
    incarnation: str = ""


WorkerMessage = Open | SegmentSent | InputEnded | CreditGranted | CancelSent | GatewayDied
RequestMessage = Open | SegmentSent | InputEnded | CreditGranted | CancelSent
EventMessage = Queued | Started | Chunk | SegmentDone | Finished
GatewayMessage = EventMessage | WorkerDied

_encoder = msgspec.msgpack.Encoder()
_frame_decoder = msgspec.msgpack.Decoder(list[msgspec.Raw])
_worker_decoder = msgspec.msgpack.Decoder(WorkerMessage)
_gateway_decoder = msgspec.msgpack.Decoder(GatewayMessage)
_EVENT_MESSAGES: dict[type[EngineEvent], type[EventMessage]] = {
    SpeechQueued: Queued,
    SpeechStarted: Started,
    AudioChunk: Chunk,
    SegmentFinished: SegmentDone,
    SpeechFinished: Finished,
}


def message_encode(message: WorkerMessage | GatewayMessage) -> bytes:
    """One message as msgpack."""
    return _encoder.encode(message)


def event_encode(event: EngineEvent) -> bytes:
    """An engine event as its message."""
    # The union's members differ in their only field's type; the table pairs them.
    make: Any = _EVENT_MESSAGES[type(event)]
    return _encoder.encode(make(event))


def frames_encode(messages: Sequence[bytes]) -> list[bytes]:
    """Pack encoded messages into frames of about `FRAME_BYTES` at most, in order."""
    frames: list[bytes] = []
    batch: list[msgspec.Raw] = []
    size = 0
    for message in messages:
        if batch and size + len(message) > FRAME_BYTES:
            frames.append(_encoder.encode(batch))
            batch, size = [], 0
        batch.append(msgspec.Raw(message))
        size += len(message)
    if batch:
        frames.append(_encoder.encode(batch))
    return frames


def frame_decode(frame: bytes) -> list[bytes]:
    """The encoded messages of a frame; raises WireError."""
    try:
        return [bytes(raw) for raw in _frame_decoder.decode(frame)]
    except msgspec.MsgspecError as error:
        raise WireError(f"a frame is not an array of messages: {error}") from error


def worker_message_decode(message: bytes) -> WorkerMessage:
    """Decode what a gateway sent; raises WireError with the ids that could be read."""
    try:
        return _worker_decoder.decode(message)
    except msgspec.MsgspecError as error:
        raise _wire_error(f"not a message to a worker: {error}", message) from error


def gateway_message_decode(message: bytes) -> GatewayMessage:
    """Decode what a worker sent; raises WireError with the request id where it is readable."""
    try:
        return _gateway_decoder.decode(message)
    except msgspec.MsgspecError as error:
        raise _wire_error(f"not a message to a gateway: {error}", message) from error


def _wire_error(reason: str, message: bytes) -> WireError:
    """The error, with whatever says whose message it was."""
    try:
        tag, *rest = msgspec.msgpack.decode(message, type=list[Any])
    except (msgspec.MsgspecError, ValueError):
        return WireError(reason)
    gateway_id = rest.pop(0) if tag == "open" and rest else ""
    body = rest[0] if rest else ""
    if isinstance(body, dict):
        request_id, attempt = body.get("request_id"), body.get("attempt", 1)
    else:
        request_id, attempt = body, rest[1] if len(rest) > 1 else 1
    return WireError(
        reason,
        request_id=request_id if isinstance(request_id, str) else "",
        gateway_id=gateway_id if isinstance(gateway_id, str) else "",
        attempt=attempt if isinstance(attempt, int) else 1,
    )

"""Speaking with a platform as listeners do: over HTTP, and over the WebSocket protocol tts.v1."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray
from websockets.sync.client import ClientConnection, connect

from tests.e2e.platform import Platform

Pcm = NDArray[np.int16]

RATE = 24_000
FORMATS = ("mp3", "opus", "aac", "flac", "wav", "pcm")
PATH = "/v1/audio/speech"
MOST_SECONDS = 90.0
"""For one clip of the full model on a machine that others use too."""

# The tier with the most requests a minute.
_DEFAULTS = {"model": "tts-1", "voice": "af_heart", "quality_tier": "realtime"}
_ENDS = ("speech.done", "context.cancelled")


class SpeechClient:
    """One API key's requests; threads may share it. `tts-1` with af_heart unless said otherwise."""

    def __init__(self, platform: Platform, key: str | None = None) -> None:
        self.platform = platform
        self.key = platform.key if key is None else key
        self.http = httpx.Client(
            base_url=platform.url,
            headers={"Authorization": f"Bearer {self.key}"},
            timeout=MOST_SECONDS,
            trust_env=False,
        )

    def post(self, text: str, **fields: Any) -> httpx.Response:
        """The whole answer, whatever its status."""
        return self.http.post(PATH, json=_DEFAULTS | {"input": text} | fields)

    def speak(self, text: str, **fields: Any) -> bytes:
        """The audio, which must come."""
        response = self.post(text, **fields)
        assert response.status_code == 200, response.text
        return response.content

    def pcm(self, text: str, **fields: Any) -> Pcm:
        """The samples at 24 kHz, as they were streamed."""
        return samples(self.speak(text, response_format="pcm", **fields))

    @contextmanager
    def stream(self, text: str, **fields: Any) -> Iterator[httpx.Response]:
        """The answer as it arrives; leaving the block closes the connection."""
        body = _DEFAULTS | {"input": text} | fields
        with self.http.stream("POST", PATH, json=body) as response:
            assert response.status_code == 200, response.read()
            yield response

    @contextmanager
    def socket(self, **settings: Any) -> Iterator["SpeechSocket"]:
        """A socket whose session has these settings."""
        url = self.platform.url.replace("http", "ws", 1) + f"{PATH}/stream"
        with connect(
            url,
            additional_headers={"Authorization": f"Bearer {self.key}"},
            subprotocols=["tts.v1"],  # type: ignore[list-item]  # a NewType of str
            proxy=None,
        ) as connection:
            socket = SpeechSocket(connection)
            socket.until("session.created")
            socket.send("session.update", **_DEFAULTS | settings)
            socket.until("session.updated")
            yield socket

    def close(self) -> None:
        """Close the connections."""
        self.http.close()


@dataclass(slots=True)
class SpeechSocket:
    """A socket that holds the server to the protocol's rules for binary audio.

    `audio` gathers the frames of each context, `events` every JSON message.
    """

    connection: ClientConnection
    audio: dict[str, bytes] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    active: str | None = None

    def send(self, kind: str, **fields: Any) -> None:
        """Send a client message."""
        self.connection.send(json.dumps({"type": kind, **fields}))

    def until(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Receive up to the first message of `kind` with these fields; it is returned."""
        while True:
            event = self.receive()
            if event is not None and event.items() >= {"type": kind, **fields}.items():
                return event

    def receive(self, timeout: float = MOST_SECONDS) -> dict[str, Any] | None:
        """The next message; None for an audio frame. Raises TimeoutError."""
        frame = self.connection.recv(timeout)
        if isinstance(frame, bytes):
            assert self.active is not None, "audio outside of a context"
            assert len(frame) % 2 == 0, "half a sample"
            assert 0 < len(frame) <= 65_536
            self.audio[self.active] = self.audio.get(self.active, b"") + frame
            return None
        event: dict[str, Any] = json.loads(frame)
        self.events.append(event)
        if event["type"] == "speech.started":
            assert self.active is None, "two contexts at once"
            self.active = event["context_id"]
        elif event["type"] in _ENDS and event["context_id"] == self.active:
            self.active = None
        assert event["type"] != "error", event
        return event


def samples(pcm: bytes) -> Pcm:
    """Samples of raw s16le."""
    return np.frombuffer(pcm, dtype="<i2").astype(np.int16)


def floats(pcm: Pcm) -> NDArray[np.float32]:
    """The same samples from -1 to 1."""
    return (pcm / 32_768).astype(np.float32)

"""How a context's audio goes out: framed, and bare or wrapped in JSON."""

import base64
from collections.abc import Callable
from functools import partial

from tts.audio.format import AudioFormat
from tts.audio.pcm import FrameSplitter
from tts.consumers.outbox import Muted, Outbox
from tts.consumers.protocol import AudioTransport, message_encode
from tts.speech.order import SpeechOrder

MAX_FRAME = 65_536


class FrameSender:
    """Sends encoded bytes as frames of one context; `count` is how many there were.

    PCM frames are whole samples, 20 to 100 ms; other formats are cut at 64 KiB.
    `leaving` is told, as each frame leaves, how many seconds of audio it holds;
    of encoded bytes, those that went into the encoder since the last ones came.
    """

    def __init__(
        self,
        context_id: str,
        order: SpeechOrder,
        transport: AudioTransport,
        outbox: Outbox,
        owner: Muted,
        leaving: Callable[[float], None],
    ) -> None:
        self.count = 0
        self._context_id = context_id
        self._transport = transport
        self._outbox = outbox
        self._owner = owner
        self._leaving = leaving
        self._held_seconds = 0.0
        self._rate = order.output_rate
        self._splitter = FrameSplitter(self._rate) if order.format is AudioFormat.PCM else None
        self._samples = 0

    async def send(self, data: bytes, seconds: float = 0.0) -> None:
        """Send what makes whole frames, the rest waits for more; `seconds` went into it."""
        if self._splitter is not None:
            for frame in self._splitter.push(data):
                await self._deliver(frame, len(frame) / 2 / self._rate)
            return
        self._held_seconds += seconds
        if data:
            each = self._held_seconds / len(data)
            self._held_seconds = 0.0
            for at in range(0, len(data), MAX_FRAME):
                frame = data[at : at + MAX_FRAME]
                await self._deliver(frame, each * len(frame))

    async def rest(self) -> None:
        """Send what is left, as a frame that may be short."""
        for frame in self._splitter.finish() if self._splitter is not None else ():
            await self._deliver(frame, len(frame) / 2 / self._rate)

    async def _deliver(self, frame: bytes, seconds: float) -> None:
        data = frame if self._transport is AudioTransport.BINARY else self._delta(frame)
        await self._outbox.deliver(data, self._owner, partial(self._leaving, seconds))
        self.count += 1

    def _delta(self, frame: bytes) -> str:
        audio = base64.b64encode(frame).decode()
        where: dict[str, object] = {}
        if self._splitter is not None:
            samples = len(frame) // 2
            offset_ms = round(self._samples * 1000 / self._rate, 1)
            where = {"samples": samples, "offset_ms": offset_ms}
            self._samples += samples
        return message_encode(
            "speech.audio.delta", context_id=self._context_id, seq=self.count, audio=audio, **where
        )

"""The one encoder of a response, run off the event loop."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor

from tts.audio.encoder import StreamEncoder
from tts.audio.format import AudioFormat

EncoderFactory = Callable[[], StreamEncoder]


class SpeechEncoder:
    """s16le in, the bytes of one stream out; `seconds` is the time the codec took.

    Raw PCM at the engine's own rate needs no codec and passes through on the loop.
    """

    def __init__(
        self, audio_format: AudioFormat, input_rate: int, output_rate: int, executor: Executor
    ) -> None:
        self.seconds = 0.0
        self._executor = executor
        self._lock = threading.Lock()
        self._encoder = (
            None
            if audio_format is AudioFormat.PCM and input_rate == output_rate
            else StreamEncoder(audio_format, input_rate, output_rate)
        )

    async def encode(self, pcm: bytes) -> bytes:
        """The bytes that are ready after `pcm`, maybe none."""
        encoder = self._encoder
        return pcm if encoder is None else await self._run(lambda: encoder.encode(pcm))

    async def finish(self) -> bytes:
        """The last bytes of the stream."""
        encoder = self._encoder
        return b"" if encoder is None else await self._run(encoder.finish)

    def close(self) -> None:
        """Free the codec, once a call that may still run in a thread has ended. Idempotent."""
        encoder, self._encoder = self._encoder, None
        if encoder is not None:
            self._executor.submit(self._close, encoder)

    def _close(self, encoder: StreamEncoder) -> None:
        with self._lock:
            encoder.close()

    async def _run(self, call: Callable[[], bytes]) -> bytes:
        def locked() -> tuple[bytes, float]:
            with self._lock:
                begun = time.perf_counter()
                return call(), time.perf_counter() - begun

        data, seconds = await asyncio.get_running_loop().run_in_executor(self._executor, locked)
        self.seconds += seconds
        return data

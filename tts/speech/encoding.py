"""The one encoder of a response, run off the event loop."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial

from tts.audio.encoder import StreamEncoder
from tts.audio.errors import StreamFinished
from tts.audio.format import AudioFormat


class SpeechEncoder:
    """s16le in, the bytes of one stream out; `seconds` is the time the codec took.

    The codec is opened in the executor too, by the first call: that takes up to
    milliseconds. Raw PCM at the engine's own rate needs none and passes through.
    """

    def __init__(
        self, audio_format: AudioFormat, input_rate: int, output_rate: int, executor: Executor
    ) -> None:
        self.seconds = 0.0
        self._executor = executor
        self._lock = threading.Lock()
        self._encoder: StreamEncoder | None = None
        self._closed = False
        self._bare = audio_format is AudioFormat.PCM and input_rate == output_rate
        self._open = partial(StreamEncoder, audio_format, input_rate, output_rate)

    async def encode(self, pcm: bytes) -> bytes:
        """The bytes that are ready after `pcm`, maybe none."""
        return pcm if self._bare else await self._run(lambda encoder: encoder.encode(pcm))

    async def finish(self) -> bytes:
        """The last bytes of the stream."""
        return b"" if self._bare else await self._run(lambda encoder: encoder.finish())

    def close(self) -> None:
        """Free the codec, once a call that may still run in a thread has ended. Idempotent."""
        if not self._closed:
            self._closed = True
            if not self._bare:
                self._executor.submit(self._close)

    def _close(self) -> None:
        with self._lock:
            if self._encoder is not None:
                self._encoder.close()

    async def _run(self, call: Callable[[StreamEncoder], bytes]) -> bytes:
        def locked() -> tuple[bytes, float]:
            with self._lock:
                begun = time.perf_counter()
                if self._closed:
                    raise StreamFinished("this encoder is closed")
                if self._encoder is None:
                    self._encoder = self._open()
                return call(self._encoder), time.perf_counter() - begun

        data, seconds = await asyncio.get_running_loop().run_in_executor(self._executor, locked)
        self.seconds += seconds
        return data

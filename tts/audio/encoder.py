"""One encoder, one header, one response."""

from io import BytesIO
from types import TracebackType
from typing import BinaryIO, Self

from tts.audio.container import StreamTarget, make_writer
from tts.audio.errors import StreamFinished
from tts.audio.format import AudioFormat
from tts.audio.pcm import Samples, as_samples, from_s16le, s16_array, to_s16le
from tts.audio.resample import StreamResampler


class StreamEncoder:
    """s16le at `input_rate` Hz in, the bytes of one stream at `output_rate` Hz out.

    Streamed (the default), `encode` returns bytes as soon as they exist and none of
    them changes later. `stored` makes a file with its true sizes (WAV, FLAC, Xing):
    it goes to `target`, a seekable binary file, or else is returned whole by
    `finish`; `encode` then returns nothing.

    An instance belongs to one thread at a time, not always the same one; the
    codecs run without the GIL. A given `target` implies `stored`. `encode(b"")`
    returns the header where the format has one. Raises UnsupportedSampleRate,
    UnsupportedBitrate, InvalidSamples, EncodingFailed, and StreamFinished when used
    after its end.
    """

    def __init__(
        self,
        audio_format: AudioFormat,
        input_rate: int,
        output_rate: int,
        bitrate: int | None = None,
        stored: bool = False,
        target: BinaryIO | None = None,
    ) -> None:
        audio_format.check_rate(output_rate)
        bitrate = audio_format.check_bitrate(bitrate, output_rate)
        self._resampler = (
            StreamResampler(input_rate, output_rate) if input_rate != output_rate else None
        )
        self._stream = StreamTarget()
        self._memory = BytesIO() if stored and target is None else None
        file = target if target is not None else self._memory
        sink = file if file is not None else self._stream
        self._writer = make_writer(audio_format, output_rate, bitrate, sink, file)
        self._open = True

    def encode(self, pcm: bytes) -> bytes:
        """Encode whole samples of s16le; returns the bytes that are ready, maybe none."""
        self._check_open()
        samples = s16_array(pcm)
        if self._resampler is not None and len(samples):
            samples = s16_array(to_s16le(self._resampler.process(from_s16le(pcm))))
        if len(samples):
            self._writer.write(samples)
        return self._stream.take()

    def finish(self) -> bytes:
        """End the stream; returns its last bytes, or the whole of a file stored in memory."""
        self._check_open()
        if self._resampler is not None:
            rest = to_s16le(self._resampler.finish())
            if rest:
                self._writer.write(s16_array(rest))
        self._writer.finish()
        last = self._memory.getvalue() if self._memory is not None else self._stream.take()
        self.close()
        return last

    def close(self) -> None:
        """Free everything, whatever happened before. Idempotent."""
        if self._open:
            self._open = False
            self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _check_open(self) -> None:
        if not self._open:
            raise StreamFinished("this encoder is finished or closed")


def encode_all(
    audio: bytes | Samples,
    audio_format: AudioFormat,
    input_rate: int,
    output_rate: int | None = None,
    bitrate: int | None = None,
) -> bytes:
    """A whole stored file of s16le bytes or float32 samples; raises as StreamEncoder does."""
    pcm = audio if isinstance(audio, bytes) else to_s16le(as_samples(audio))
    rate = input_rate if output_rate is None else output_rate
    with StreamEncoder(audio_format, input_rate, rate, bitrate, stored=True) as encoder:
        return encoder.encode(pcm) + encoder.finish()

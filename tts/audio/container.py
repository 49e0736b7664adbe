"""Writers: samples of one rate in, the bytes of one file or stream into a target."""

import struct
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from typing import BinaryIO, Protocol

import av
import numpy as np
from av.audio.stream import AudioStream

from tts.audio.errors import EncodingFailed
from tts.audio.format import AudioFormat
from tts.audio.pcm import SAMPLE_BYTES, Pcm16

UNKNOWN_SIZE = 0xFFFF_FFFF
WAV_HEADER_BYTES = 44


class Target(Protocol):
    """Where a writer puts its bytes; a stored file needs `seek` and `tell` as well."""

    def write(self, data: bytes, /) -> int: ...


class StreamTarget:
    """Collects bytes until they are taken. Has no `seek`, so nothing written can change."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def write(self, data: bytes, /) -> int:
        """Append; returns how many bytes were taken: all."""
        self._bytes += data
        return len(data)

    def take(self) -> bytes:
        """What was written since the last call."""
        taken = bytes(self._bytes)
        self._bytes.clear()
        return taken


class Writer(Protocol):
    """Puts one stream of samples into a container."""

    def write(self, samples: Pcm16) -> None:
        """Encode the next samples."""

    def finish(self) -> None:
        """Write what is left and, in a stored file, the true sizes."""

    def close(self) -> None:
        """Free the encoder. Idempotent, also after a failure."""


class PcmWriter:
    """Bare s16le."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def write(self, samples: Pcm16) -> None:
        """Write the samples as they are."""
        self._target.write(samples.astype("<i2", copy=False).tobytes())

    def finish(self) -> None:
        """Nothing is left."""

    def close(self) -> None:
        """Nothing to free."""


class WavWriter:
    """The 44-byte header of RIFF WAVE, then s16le.

    In a stream the header's sizes are 0xFFFFFFFF, which players read as unknown;
    given a seekable `stored` target they are corrected at the end.
    """

    def __init__(self, target: Target, rate: int, stored: BinaryIO | None = None) -> None:
        self._pcm = PcmWriter(target)
        self._rate = rate
        self._stored = stored
        self._bytes = 0
        self._start = stored.tell() if stored is not None else 0
        target.write(wav_header(rate, None))

    def write(self, samples: Pcm16) -> None:
        """Write the samples as they are."""
        self._bytes += len(samples) * SAMPLE_BYTES
        self._pcm.write(samples)

    def finish(self) -> None:
        """Correct the sizes of a stored file."""
        if self._stored is None:
            return
        end = self._stored.tell()
        self._stored.seek(self._start)
        self._stored.write(wav_header(self._rate, self._bytes))
        self._stored.seek(end)

    def close(self) -> None:
        """Nothing to free."""


def wav_header(rate: int, data_bytes: int | None) -> bytes:
    """The header of mono s16le WAVE; None, or over 4 GiB, is an unknown size."""
    riff = data = UNKNOWN_SIZE
    if data_bytes is not None and data_bytes + WAV_HEADER_BYTES <= UNKNOWN_SIZE:
        riff, data = data_bytes + WAV_HEADER_BYTES - 8, data_bytes
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, rate * SAMPLE_BYTES, 2, 16)
    return struct.pack("<4sI4s", b"RIFF", riff, b"WAVE") + form + struct.pack("<4sI", b"data", data)


@dataclass(frozen=True, slots=True)
class _Recipe:
    """How a format is made: muxer, codec, and the options of each way to use them."""

    muxer: str
    codec: str
    sample_format: str
    streamed: dict[str, str] = field(default_factory=dict)
    stored: dict[str, str] = field(default_factory=dict)
    block_ms: int = 0  # of a stream, where the codec lets us choose


# Streamed mp3 carries no Xing frame, because it would state the length of what is
# written so far. Ogg pages and FLAC blocks are kept short in a stream, as nothing
# of one leaves before it is full; FLAC's 8 KiB of padding is for later tags.
_RECIPES = {
    AudioFormat.MP3: _Recipe(
        "mp3",
        "libmp3lame",
        "s16p",
        streamed={"write_xing": "0", "id3v2_version": "0"},
        stored={"id3v2_version": "0"},
    ),
    AudioFormat.OPUS: _Recipe("ogg", "libopus", "s16", streamed={"page_duration": "40000"}),
    AudioFormat.AAC: _Recipe("adts", "aac", "fltp"),
    AudioFormat.FLAC: _Recipe(
        "flac",
        "flac",
        "s16",
        streamed={"metadata_header_padding": "0"},
        stored={"metadata_header_padding": "0"},
        block_ms=40,
    ),
}
_LONGEST_FRAME = 32_768


class AvWriter:
    """mp3, Ogg Opus, ADTS and FLAC through PyAV, without temporary files.

    `rate` must be one that the format takes. The same samples give the same bytes,
    however they were cut: no random serial numbers, no version strings.
    """

    def __init__(
        self,
        target: Target,
        audio_format: AudioFormat,
        rate: int,
        bitrate: int | None,
        stored: bool,
    ) -> None:
        recipe = _RECIPES[audio_format]
        self._name = f"{audio_format} at {rate} Hz"
        self._rate = rate
        self._time_base = Fraction(1, rate)
        self._written = 0
        options = {"flags": "+bitexact"}
        if recipe.block_ms and not stored:
            options["frame_size"] = str(rate * recipe.block_ms // 1_000)
        try:
            self._container = av.open(
                target,
                "w",
                format=recipe.muxer,
                container_options={
                    **(recipe.stored if stored else recipe.streamed),
                    "fflags": "+bitexact",
                },
            )
            stream = self._container.add_stream(recipe.codec, rate=rate, options=options)
            if not isinstance(stream, AudioStream):
                raise EncodingFailed(f"{recipe.codec} is not an audio codec")
            self._stream = stream
            stream.codec_context.layout = "mono"
            stream.codec_context.format = recipe.sample_format
            if bitrate is not None:
                stream.codec_context.bit_rate = bitrate
            self._container.start_encoding()
        except av.FFmpegError as error:
            raise EncodingFailed(f"{self._name} did not start: {error}") from error

    def write(self, samples: Pcm16) -> None:
        """Encode the next samples; raises EncodingFailed."""
        for start in range(0, len(samples), _LONGEST_FRAME):
            piece = np.ascontiguousarray(samples[start : start + _LONGEST_FRAME])
            frame = av.AudioFrame.from_ndarray(piece[np.newaxis, :], format="s16", layout="mono")
            frame.sample_rate = self._rate
            frame.time_base = self._time_base
            frame.pts = self._written
            self._written += len(piece)
            self._encode(frame)

    def finish(self) -> None:
        """Drain the encoder and write the trailer; raises EncodingFailed."""
        self._encode(None)
        try:
            self._container.close()
        except av.FFmpegError as error:
            raise EncodingFailed(f"{self._name} did not end: {error}") from error

    def close(self) -> None:
        """Free the encoder. Idempotent, also after a failure."""
        with suppress(av.FFmpegError):
            self._container.close()

    def _encode(self, frame: av.AudioFrame | None) -> None:
        try:
            self._container.mux(self._stream.encode(frame))
        except av.FFmpegError as error:
            raise EncodingFailed(f"{self._name} failed: {error}") from error


def make_writer(
    audio_format: AudioFormat,
    rate: int,
    bitrate: int | None,
    target: Target,
    stored: BinaryIO | None,
) -> Writer:
    """The writer of a format; `stored` is the target again where it is a seekable file."""
    if audio_format is AudioFormat.PCM:
        return PcmWriter(target)
    if audio_format is AudioFormat.WAV:
        return WavWriter(target, rate, stored)
    return AvWriter(target, audio_format, rate, bitrate, stored is not None)

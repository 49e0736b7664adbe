"""Reading a recording that somebody sent: any common format, down to mono float32."""

from io import BytesIO

import av
import numpy as np
from av.audio.resampler import AudioResampler
from numpy.typing import NDArray

from tts.audio.errors import AudioTooLong, AudioUnreadable
from tts.audio.pcm import Samples

FORMATS = "WAV, FLAC, MP3, Ogg (Opus, Vorbis), AAC, M4A/MP4, WebM, AIFF or CAF"
"""What is read, as people call it."""
LEAST_RATE = 8_000
"""Hz. A file may name any rate, and a few samples at 1 Hz would become hours."""
# Nothing else is probed: a playlist or a session description names files and hosts of its own,
# which FFmpeg would open.
_OPTIONS = {
    "format_whitelist": "wav,w64,flac,mp3,ogg,aac,mov,mp4,m4a,3gp,matroska,webm,aiff,caf",
    "protocol_whitelist": "none",
}


def audio_read(data: bytes, rate: int, max_seconds: float) -> Samples:
    """The samples of an audio file at `rate` Hz, channels mixed down.

    Stops as soon as there is more than `max_seconds` of it, however long the file
    unpacks to. Raises AudioUnreadable and AudioTooLong.
    """
    pieces: list[NDArray[np.float32]] = []
    length, most = 0, round(max_seconds * rate)
    resampler = AudioResampler(format="flt", layout="mono", rate=rate)
    try:
        with av.open(
            BytesIO(data), "r", metadata_errors="ignore", options=dict(_OPTIONS)
        ) as container:
            if not container.streams.audio:
                raise AudioUnreadable("The file has no audio.")
            for frame in container.decode(container.streams.audio[0]):
                if frame.sample_rate < LEAST_RATE:
                    raise AudioUnreadable(
                        f"The recording has {frame.sample_rate:,} samples a second,"
                        f" at least {LEAST_RATE:,} are needed."
                    )
                for part in resampler.resample(frame):
                    pieces.append(part.to_ndarray()[0])
                    length += part.samples
                if length > most:
                    raise AudioTooLong(f"The recording is longer than {max_seconds:g} seconds.")
            pieces += [part.to_ndarray()[0] for part in resampler.resample(None)]
    except (av.FFmpegError, ValueError) as error:
        raise AudioUnreadable(f"The recording cannot be read; send {FORMATS}.") from error
    if not pieces:
        raise AudioUnreadable("The recording is empty.")
    return np.concatenate(pieces).astype(np.float32)

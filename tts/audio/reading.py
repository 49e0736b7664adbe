"""Reading a recording that somebody sent: any common format, down to mono float32."""

from io import BytesIO

import av
import numpy as np
from av.audio.resampler import AudioResampler
from numpy.typing import NDArray

from tts.audio.errors import AudioTooLong, AudioUnreadable
from tts.audio.pcm import Samples


def audio_read(data: bytes, rate: int, max_seconds: float) -> Samples:
    """The samples of an audio file at `rate` Hz, channels mixed down.

    Stops as soon as there is more than `max_seconds` of it, however long the file
    unpacks to. Raises AudioUnreadable and AudioTooLong.
    """
    pieces: list[NDArray[np.float32]] = []
    length, most = 0, round(max_seconds * rate)
    resampler = AudioResampler(format="flt", layout="mono", rate=rate)
    try:
        with av.open(BytesIO(data), "r", metadata_errors="ignore") as container:
            if not container.streams.audio:
                raise AudioUnreadable("The file has no audio.")
            for frame in container.decode(container.streams.audio[0]):
                for part in resampler.resample(frame):
                    pieces.append(part.to_ndarray()[0])
                    length += part.samples
                if length > most:
                    raise AudioTooLong(f"The recording is longer than {max_seconds:g} seconds.")
            pieces += [part.to_ndarray()[0] for part in resampler.resample(None)]
    except (av.FFmpegError, ValueError) as error:
        raise AudioUnreadable("The recording is in no audio format that can be read.") from error
    if not pieces:
        raise AudioUnreadable("The recording is empty.")
    return np.concatenate(pieces).astype(np.float32)

"""How well speech is understood, and whether its file is sound: gates and strict decoding.

Error rates are `tts.recognition`'s; gates that held: English word errors at most 0.10, pinyin
errors at most 0.05.
"""

import io

import av
import av.logging
import numpy as np

from tts.recognition.recogniser import Samples

ENGLISH_GATE = 0.10
PINYIN_GATE = 0.05

_STRICT = {"err_detect": "crccheck+bitstream+buffer+explode"}


class DecodeError(Exception):
    """Audio that a strict decoder complains about."""


def decode(content: bytes, container_format: str | None = None) -> tuple[Samples, int]:
    """Decode a whole file to mono float32 and its sample rate; raises DecodeError.

    Strict: damage that a player would hide, and everything that the libraries
    log as an error, is refused. `container_format` (such as "mp3") forbids guessing.
    """
    previous = av.logging.get_level()
    av.logging.set_level(av.logging.ERROR)
    try:
        with av.logging.Capture() as complaints:
            try:
                audio, rate = _decode(content, container_format)
            except (av.FFmpegError, IndexError) as error:
                raise DecodeError(f"{error}; {complaints}") from error
    finally:
        av.logging.set_level(previous)
    serious = [text for level, _, text in complaints if level <= av.logging.ERROR]
    if serious:
        raise DecodeError("; ".join(serious))
    return audio, rate


def _decode(content: bytes, container_format: str | None) -> tuple[Samples, int]:
    with av.open(
        io.BytesIO(content), mode="r", format=container_format, options=_STRICT
    ) as container:
        stream = container.streams.audio[0]
        stream.codec_context.options = _STRICT
        rate = stream.rate
        resampler = av.AudioResampler(format="fltp", layout="mono", rate=rate)
        pieces = [
            piece.to_ndarray()[0]
            for frame in (*container.decode(stream), None)
            for piece in resampler.resample(frame)
        ]
    if not pieces:
        raise DecodeError("there is no audio in it")
    return np.concatenate(pieces).astype(np.float32), rate

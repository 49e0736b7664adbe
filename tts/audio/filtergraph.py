"""A chain of libavfilter filters fed with plain arrays."""

from fractions import Fraction

import av
import numpy as np
from av.filter import Graph

from tts.audio.errors import EncodingFailed
from tts.audio.pcm import Samples, empty


class FilterChain:
    """Mono float32 in, mono float32 out; `filters` are (name, arguments) in order.

    Used by one thread at a time, not always the same one. Raises EncodingFailed.
    """

    def __init__(self, rate: int, filters: list[tuple[str, str]]) -> None:
        self._rate = rate
        self._time_base = Fraction(1, rate)
        self._fed = 0
        graph = Graph()
        try:
            source = graph.add_abuffer(
                sample_rate=rate, format="flt", layout="mono", time_base=self._time_base
            )
            for name, arguments in filters:
                link = graph.add(name, arguments)
                source.link_to(link)
                source = link
            source.link_to(graph.add("abuffersink"))
            graph.configure()
        except av.FFmpegError as error:
            raise EncodingFailed(f"filters {filters} at {rate} Hz: {error}") from error
        self._graph = graph

    def push(self, samples: Samples) -> Samples:
        """Feed samples and return what came out."""
        if not len(samples):
            return empty()
        frame = av.AudioFrame.from_ndarray(samples[np.newaxis, :], format="flt", layout="mono")
        frame.sample_rate = self._rate
        frame.time_base = self._time_base
        frame.pts = self._fed
        self._fed += len(samples)
        return self._pass(frame)

    def flush(self) -> Samples:
        """End the stream and return the rest; nothing may be pushed afterwards."""
        return self._pass(None) if self._fed else empty()

    def _pass(self, frame: av.AudioFrame | None) -> Samples:
        pieces: list[Samples] = []
        try:
            self._graph.push(frame)
            while True:
                pieces.append(self._pull())
        except (av.BlockingIOError, av.EOFError):
            pass  # the graph has no more to give now
        except av.FFmpegError as error:
            raise EncodingFailed(f"an audio filter failed: {error}") from error
        return np.concatenate(pieces) if pieces else empty()

    def _pull(self) -> Samples:
        frame = self._graph.pull()
        if not isinstance(frame, av.AudioFrame):
            raise EncodingFailed("an audio filter gave something that is not audio")
        return frame.to_ndarray().reshape(-1).astype(np.float32, copy=False)

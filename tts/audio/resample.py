"""Change of sample rate in a stream."""

import numpy as np

from tts.audio.errors import InvalidSetting
from tts.audio.filtergraph import FilterChain
from tts.audio.pcm import Samples, empty, scaled_length


class StreamResampler:
    """Float32 at `source` Hz to float32 at `target` Hz, aligned in time.

    In the end there are exactly `round(samples * target / source)` samples, and
    they do not depend on how the input was cut. Equal rates pass through. The
    filter is libswresample's polyphase sinc; it holds back about 0.7 ms.
    """

    def __init__(self, source: int, target: int) -> None:
        if source < 1 or target < 1:
            raise InvalidSetting(f"sample rates must be positive, not {source} and {target} Hz")
        self._source = source
        self._target = target
        self._chain = (
            None if source == target else FilterChain(source, [("aresample", str(target))])
        )
        self._taken = 0
        self._given = 0

    def process(self, samples: Samples) -> Samples:
        """Resample the next samples; returns what is ready, which may be nothing."""
        if self._chain is None:
            return samples
        self._taken += len(samples)
        return self._give(self._chain.push(samples))

    def finish(self) -> Samples:
        """The rest of the stream."""
        if self._chain is None:
            return empty()
        rest = self._chain.flush()
        missing = scaled_length(self._taken, self._target, self._source) - self._given
        return self._give(np.pad(rest, (0, max(0, missing - len(rest)))))

    def _give(self, samples: Samples) -> Samples:
        room = scaled_length(self._taken, self._target, self._source) - self._given
        samples = samples[:room]
        self._given += len(samples)
        return samples

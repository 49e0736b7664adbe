"""How hidden states become tokens and tokens inputs, for each kind of tokens."""

from typing import Protocol

import numpy as np

from tts.engines.chattts.backend import Floats, Ints
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.sampler import Sampler
from tts.engines.chattts.weights import Embeddings


class Decoding(Protocol):
    """One kind of tokens, for all slots. `end` ends a row, in any codebook."""

    sampler: Sampler
    end: int

    def logits(self, hidden: Floats, heads: Floats) -> Floats:
        """(n, codebooks, vocabulary), from states (n, h) and the audio heads' (n, …) logits."""

    def inputs(self, tokens: Ints) -> Floats:
        """Tokens (n, codebooks) as the next inputs (n, h)."""


class AudioDecoding:
    """One token in each codebook; the last token of the vocabulary ends."""

    def __init__(self, config: GptConfig, embeddings: Embeddings, slots: int) -> None:
        self.end = config.audio_tokens - 1
        self.sampler = Sampler(slots, config.codebooks, config.audio_tokens, self.end)
        self._shape = (-1, config.codebooks, config.audio_tokens)
        self._embeddings = embeddings

    def logits(self, hidden: Floats, heads: Floats) -> Floats:
        """See `Decoding.logits`."""
        return heads.reshape(self._shape)

    def inputs(self, tokens: Ints) -> Floats:
        """See `Decoding.inputs`."""
        return self._embeddings.codes(tokens)


class TextDecoding:
    """Text tokens by `head` (text tokens, h), until `end`."""

    def __init__(self, head: Floats, embeddings: Embeddings, slots: int, end: int) -> None:
        self.end = end
        self.sampler = Sampler(slots, 1, len(head), end)
        self._head = head
        self._embeddings = embeddings

    def logits(self, hidden: Floats, heads: Floats) -> Floats:
        """See `Decoding.logits`; row by row: a product of several rounds by their number."""
        # A row that overflows shows it in its logits, and is ended by who asked for them.
        with np.errstate(over="ignore", invalid="ignore"):
            return np.stack([self._head @ row for row in hidden])[:, None]

    def inputs(self, tokens: Ints) -> Floats:
        """See `Decoding.inputs`."""
        return self._embeddings.text[tokens[:, 0]]

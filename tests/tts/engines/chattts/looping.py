"""Rows for the step loop: of random weights, and of a backend that says what a test wants."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from tests.tts.engines.chattts.random_gpt import TINY
from tts.engines.chattts.backend import CacheShape, Floats, GptBackend, Ints
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.decoding import AudioDecoding, Decoding, TextDecoding
from tts.engines.chattts.generation import Generation, Kind, Prompt, RowStep
from tts.engines.chattts.loop import LoopSettings, StepLoop
from tts.engines.chattts.random_stream import StreamKey
from tts.engines.chattts.sampler import Sampling
from tts.engines.chattts.weights import Embeddings

AUDIO_END, TEXT_END = TINY.audio_tokens - 1, 7
CACHE = CacheShape(slots=4, positions=64)
DEFAULT = Sampling()
PLAIN = Sampling(temperature=1.0, top_p=1.0, top_k=None, repetition_penalty=1.0)


def table(*shape: int, scale: float = 1.0, seed: int = 0) -> Floats:
    values = np.random.default_rng(seed).standard_normal(shape, np.float32)
    return values * np.float32(scale)


EMBEDDINGS = Embeddings(
    table(TINY.text_tokens, TINY.hidden),
    table(TINY.codebooks, TINY.audio_tokens, TINY.hidden, scale=0.5, seed=1),
)
TEXT_HEAD = table(TINY.text_tokens, TINY.hidden, scale=0.125, seed=2)


def loop_make(
    backend: GptBackend, settings: LoopSettings | None = None, embeddings: Embeddings = EMBEDDINGS
) -> StepLoop:
    """A loop of both kinds."""
    slots = backend.cache.slots
    decodings: dict[Kind, Decoding] = {
        Kind.AUDIO: AudioDecoding(TINY, embeddings, slots),
        Kind.TEXT: TextDecoding(TEXT_HEAD, embeddings, slots, TEXT_END),
    }
    return StepLoop(backend, TINY, embeddings, decodings, settings or LoopSettings())


def generation(
    length: int = 3,
    max_tokens: int = 5,
    seed: int = 0,
    *,
    attempt: int = 0,
    sampling: Sampling = DEFAULT,
    min_tokens: int = 0,
    least_tokens: int = 1,
    kind: Kind = Kind.AUDIO,
    final_tokens: int = 0,
    ample_tokens: int = 1,
) -> Generation:
    """A row of `length` prompt tokens."""
    prompt = Prompt(tuple((seed + index) % TINY.text_tokens for index in range(length)))
    key = StreamKey(seed, 0, attempt)
    return Generation(
        prompt,
        key,
        max_tokens,
        sampling,
        min_tokens,
        least_tokens,
        kind,
        final_tokens,
        ample_tokens,
    )


@dataclass(frozen=True, slots=True)
class Call:
    """One forward: its rows as (slot, position), of which the first `heads` have logits."""

    rows: list[tuple[int, int]]
    heads: int

    def of(self, slot: int) -> list[int]:
        """The positions computed of one slot, in the order in which they were given."""
        return [position for each, position in self.rows if each == slot]


@dataclass
class Scripted:
    """A backend whose logits favour the end at (slot, position) in `ends`, else token 1.

    At positions in `even` tokens 1 to 3 and the end are equally likely. Hidden states are (slot,
    position, the input's first number, 0, …) or `hidden` in every number; NaN at `broken`.
    """

    cache: CacheShape = CACHE
    max_rows: int = 16
    ends: set[tuple[int, int]] = field(default_factory=set)
    even: set[int] = field(default_factory=set)
    broken: set[tuple[int, int]] = field(default_factory=set)
    hidden: float | None = None
    calls: list[Call] = field(default_factory=list)
    failure: Exception | None = None
    config: GptConfig = TINY

    @property
    def cache_bytes(self) -> int:
        return self.cache.slots * 1_000

    def forward(
        self, inputs: Floats, slots: Ints, positions: Ints, heads: int
    ) -> tuple[Floats, Floats]:
        if self.failure is not None:
            raise self.failure
        assert len(inputs) <= self.max_rows
        rows = [(int(slot), int(position)) for slot, position in zip(slots, positions, strict=True)]
        self.calls.append(Call(rows, heads))
        hidden = np.zeros((len(rows), self.config.hidden), np.float32)
        hidden[:, 0], hidden[:, 1], hidden[:, 2] = slots, positions, inputs[:, 0]
        books, end = self.config.codebooks, self.config.audio_tokens - 1
        logits = np.zeros((heads, books, end + 1), np.float32)
        if self.hidden is not None:
            hidden[:] = self.hidden
        for place, row in enumerate(rows[:heads]):
            if row[1] in self.even:
                logits[place][:, [1, 2, 3, end]] = 1_000
                continue
            logits[place, :, end if row in self.ends else 1] = 1_000
            if row in self.broken:
                hidden[place], logits[place] = np.nan, np.nan
        return hidden, logits.reshape(heads, books * (end + 1))

    def close(self) -> None:
        """Nothing is held."""


def run(loop: StepLoop, rows: Iterable[int]) -> dict[int, list[RowStep]]:
    """Step the rows to their ends; what each step said, by row."""
    steps: dict[int, list[RowStep]] = {row: [] for row in rows}
    active = list(steps)
    for _ in range(2_000):
        for step in loop.step(active):
            steps[step.row].append(step)
            if step.ended:
                active.remove(step.row)
        if not active:
            return steps
    raise AssertionError(f"rows {active} do not end")


@dataclass(frozen=True, slots=True)
class Spoken:
    """What a row said in the end: bytes, so that equal means bit for bit."""

    codes: bytes
    hidden: bytes
    end: str


def spoken(steps: Iterable[RowStep]) -> Spoken:
    """What remains of a row's steps: those since it last began again."""
    codes: list[bytes] = []
    hidden: list[bytes] = []
    end = ""
    for step in steps:
        if step.restarted:
            codes, hidden = [], []
        if step.codes is not None and step.hidden is not None:
            codes.append(step.codes.tobytes())
            hidden.append(step.hidden.tobytes())
        end = step.end or (type(step.error).__name__ if step.error else end)
    return Spoken(b"".join(codes), b"".join(hidden), end)

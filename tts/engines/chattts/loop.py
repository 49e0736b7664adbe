"""Continuous batching: rows join, advance by one token a step, and leave, each for itself."""

import heapq
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np

from tts.engine.errors import EngineError, failure_of
from tts.engine.traces import trace_of
from tts.engines.chattts.backend import Floats, GptBackend, Ints
from tts.engines.chattts.config import GptConfig
from tts.engines.chattts.decoding import Decoding
from tts.engines.chattts.generation import (
    Codes,
    End,
    Generation,
    GenerationRefused,
    Kind,
    NotFinite,
    NothingSpoken,
    RowStep,
    SpokenCut,
    SpokenShort,
)
from tts.engines.chattts.row import NO_SLOT, Part, Row, RowState
from tts.engines.chattts.weights import Embeddings

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """`prefill_rows`: prompt positions a step computes at most beside rows that decode.

    `max_retries`: attempts that follow a first one which ended too early.
    """

    prefill_rows: int = 32
    max_retries: int = 3


class StepLoop:
    """All rows of one backend, for one owner thread.

    A row takes one slot of the cache, for its longest possible length. While none is free it
    waits, first come first served among the rows that a step is asked for.
    """

    def __init__(
        self,
        backend: GptBackend,
        config: GptConfig,
        embeddings: Embeddings,
        decodings: Mapping[Kind, Decoding],
        settings: LoopSettings = LoopSettings(),
    ) -> None:
        slots, rows = backend.cache.slots, backend.max_rows
        if rows < slots:
            raise ValueError(f"a step of {rows} rows cannot advance {slots} slots")
        self._backend, self._config, self._embeddings = backend, config, embeddings
        self._decodings, self._settings = decodings, settings
        self._rows: dict[int, Row] = {}
        self._next_number = 0
        # The lowest slots first: a backend may compute only as many as are in use.
        self._free = list(range(slots))
        self._inputs = np.zeros((rows, config.hidden), np.float32)
        self._slots = np.zeros(rows, np.int32)
        self._positions = np.zeros(rows, np.int32)
        self._pending = np.zeros((slots, config.hidden), np.float32)
        self._first_hidden = np.zeros((slots, config.hidden), np.float32)
        heads = config.codebooks * config.audio_tokens
        self._first_logits = np.zeros((slots, heads), np.float32)

    @property
    def rows(self) -> int:
        """Rows that have joined and neither ended nor were released."""
        return len(self._rows)

    @property
    def free_slots(self) -> int:
        """Slots that no row has."""
        return len(self._free)

    @property
    def slot_bytes(self) -> int:
        """Cache memory of one row."""
        return self._backend.cache_bytes // self._backend.cache.slots

    def join(self, generation: Generation) -> int:
        """Take a row in and return its number; raises GenerationRefused if it never fits."""
        generation.check(self._config, self._backend.cache)
        if generation.kind not in self._decodings:
            raise GenerationRefused(f"this model does not speak {generation.kind} tokens")
        number = self._next_number
        self._next_number += 1
        self._rows[number] = Row(number, generation)
        return number

    def step(self, active: Collection[int]) -> list[RowStep]:
        """Advance the rows in `active` by one token, or a part of their prompt.

        All others are paused and keep their cache. Rows that wait or whose prompt is not yet
        complete are not in the result. Raises ValueError for a row that is not here; what the
        backend raises leaves every row as it was.
        """
        numbers = sorted(set(active))
        missing = [number for number in numbers if number not in self._rows]
        if missing:
            raise ValueError(f"rows {missing} have ended, were released or never joined")
        rows = [self._rows[number] for number in numbers]
        refused = self._admit(rows)
        parts = self._plan([row for row in rows if row.number in self._rows])
        return refused + (self._choose(*self._forward(parts)) if parts else [])

    def release(self, number: int) -> None:
        """Forget a row, in any state; nothing happens if it has ended already."""
        row = self._rows.pop(number, None)
        if row is None or row.slot == NO_SLOT:
            return
        self._decodings[row.generation.kind].sampler.clear(row.slot)
        heapq.heappush(self._free, row.slot)

    def _admit(self, rows: Sequence[Row]) -> list[RowStep]:
        """Give free slots to rows that wait, first come first served; a row that fails ends."""
        failed = []
        for row in rows:
            if row.state is RowState.WAITING and self._free:
                try:
                    self._take_slot(row)
                except Exception as error:  # noqa: BLE001 - its batch-mates go on
                    logger.error("a row could not begin\n%s", trace_of(error))
                    self.release(row.number)
                    failure = failure_of("beginning to speak failed", error)
                    failed.append(RowStep(row.number, error=failure))
        return failed

    def _take_slot(self, row: Row) -> None:
        prompt = row.generation.prompt
        row.inputs = self._embeddings.prompt(
            prompt.tokens, prompt.speaker_at, prompt.speaker, prompt.sample
        )
        row.slot, row.state = heapq.heappop(self._free), RowState.PREFILL
        self._begin(row)

    def _begin(self, row: Row) -> None:
        """Give the row the sampler's state of its attempt."""
        generation = row.generation
        key = generation.key.retried(generation.key.attempt + row.attempt)
        sampler = self._decodings[generation.kind].sampler
        sampler.start(row.slot, generation.sampling, key, generation.min_tokens)

    def _plan(self, rows: Sequence[Row]) -> list[Part]:
        """Every decoding row, then prompts, first come first served, as far as there is room."""
        parts = [Part(row, row.position, 1) for row in rows if row.state is RowState.DECODE]
        room = self._backend.max_rows - len(parts)
        if parts:
            room = min(room, self._settings.prefill_rows)
        for row in rows:
            if row.state is RowState.PREFILL and room:
                count = min(room, row.generation.prompt.length - row.computed)
                parts.append(Part(row, row.computed, count))
                room -= count
        return parts

    def _forward(self, parts: Sequence[Part]) -> tuple[list[Row], Floats, Floats]:
        """Compute the parts; returns the rows that choose a token now, their states and logits."""
        choosing = [part for part in parts if part.chooses]
        for place, part in enumerate(choosing):
            self._place(part, part.count - 1, slice(place, place + 1))
        end = len(choosing)
        for part in parts:
            before = part.count - part.chooses
            self._place(part, 0, slice(end, end + before))
            end += before
        hidden, logits = self._backend.forward(
            self._inputs[:end], self._slots[:end], self._positions[:end], len(choosing)
        )
        for place, part in enumerate(choosing):
            row = part.row
            if row.state is RowState.PREFILL:
                self._first_hidden[row.slot] = hidden[place]
                self._first_logits[row.slot] = logits[place]
        for part in parts:
            if part.row.state is RowState.PREFILL:
                part.row.computed += part.count
                if part.chooses:
                    part.row.state, part.row.inputs = RowState.DECODE, None
        return [part.row for part in choosing], hidden[: len(choosing)], logits

    def _place(self, part: Part, first: int, places: slice) -> None:
        """Put a part's positions from its `first` on at `places` of the forward's arrays."""
        count, row = places.stop - places.start, part.row
        start = part.start + first
        if row.inputs is None:
            self._inputs[places] = self._pending[row.slot]
        else:
            self._inputs[places] = row.inputs[start : start + count]
        self._slots[places] = row.slot
        self._positions[places] = np.arange(start, start + count)

    def _choose(self, rows: Sequence[Row], hidden: Floats, logits: Floats) -> list[RowStep]:
        """Choose a token for each row; rows that have to begin again do so at once."""
        steps: list[RowStep] = []
        while rows:
            again: list[Row] = []
            for kind, decoding in self._decodings.items():
                places = [place for place, row in enumerate(rows) if row.generation.kind is kind]
                if places:
                    some = [rows[place] for place in places]
                    again += self._draw(decoding, some, hidden[places], logits[places], steps)
            for row in again:
                row.again()
                self._begin(row)
            slots = [row.slot for row in again]
            rows, hidden, logits = again, self._first_hidden[slots], self._first_logits[slots]
        return steps

    def _draw(
        self,
        decoding: Decoding,
        rows: Sequence[Row],
        hidden: Floats,
        logits: Floats,
        steps: list[RowStep],
    ) -> list[Row]:
        """Add a step for each of `rows`, all of one kind; returns those that have to begin again.

        A row whose numbers are not finite ends, and its batch-mates do not notice.
        """
        scores = decoding.logits(hidden, logits)
        finite = np.asarray(np.isfinite(scores).all(axis=(1, 2)) & np.isfinite(hidden).all(axis=1))
        if not finite.all():
            steps += [self._overflowed(row) for row in compress(rows, ~finite)]
            rows = list(compress(rows, finite))
            if not rows:
                return []
            hidden, scores = hidden[finite], scores[finite]
        slots = np.array([row.slot for row in rows], np.int32)
        tokens = decoding.sampler.sample(scores, slots)
        self._pending[slots] = decoding.inputs(tokens)
        again = []
        for row, chosen, state in zip(rows, tokens, hidden, strict=True):
            step = self._accept(row, chosen, state, decoding.end)
            if step is None:
                again.append(row)
            else:
                steps.append(step)
        return again

    def _overflowed(self, row: Row) -> RowStep:
        self.release(row.number)
        error = NotFinite(f"the model's numbers overflowed after {row.tokens} tokens of this text")
        return RowStep(row.number, error=error)

    def _accept(self, row: Row, tokens: Ints, hidden: Floats, end: int) -> RowStep | None:
        """The row's step by the chosen `tokens` (codebooks,); None if it has to begin again."""
        if (tokens == end).any():
            return self._end(row)
        row.tokens += 1
        restarted, row.restarted = row.restarted, False
        last = row.tokens == row.generation.max_tokens
        if last:
            self.release(row.number)
            if row.tokens < row.generation.ample_tokens:
                return RowStep(row.number, error=_cut(row), restarted=restarted)
        codes: Codes = tokens.astype(np.uint16)
        return RowStep(
            row.number, codes, hidden.copy(), End.LENGTH if last else None, None, restarted
        )

    def _end(self, row: Row) -> RowStep | None:
        generation = row.generation
        early = row.tokens < generation.least_tokens
        used = generation.final_tokens and row.tokens >= generation.final_tokens
        if early and not used and row.attempt < self._settings.max_retries:
            return None
        self.release(row.number)
        if early:
            return RowStep(row.number, error=_short(row), restarted=row.restarted)
        return RowStep(row.number, end=End.EOS, restarted=row.restarted)


def _short(row: Row) -> EngineError:
    tries = f"the last of {row.attempt + 1} times"
    if row.tokens == 0:
        return NothingSpoken(f"the model ended at once, {tries}")
    return SpokenShort(
        f"the model ended after {row.tokens} tokens, {tries}; this text takes at least"
        f" {row.generation.least_tokens}"
    )


def _cut(row: Row) -> EngineError:
    return SpokenCut(
        f"the model did not end within {row.tokens} tokens, all that are left beside this prompt;"
        f" this text may take {row.generation.ample_tokens}"
    )

"""Cutting a text, whole or as it comes, into pieces that make one segment each."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tts.text.breaks import View
from tts.text.characters import LINE_BREAKS, combining
from tts.text.controls import LONGEST_CONTROL, ControlKind
from tts.text.known import Level, Step
from tts.text.links import DANGLING_TARGET
from tts.text.sizes import SCALE, size_of
from tts.text.sounding import heard_after
from tts.text.split_config import SplitConfig, SplitMode
from tts.text.words import word_ended


@dataclass(frozen=True, slots=True)
class Piece:
    """`text`, which begins at `start` of the original; `line_start`: at the start of a line."""

    text: str
    start: int
    line_start: bool


@dataclass(frozen=True, slots=True)
class _Break:
    position: int
    level: Level
    size: int
    sounding: int


@dataclass(slots=True)
class _Scan:
    """What is known of the piece that begins at `first` of the buffer."""

    first: int
    line_start: bool
    at: int
    sizes: list[int] = field(default_factory=lambda: [0])
    sounding: list[int] = field(default_factory=lambda: [0])
    breaks: list[_Break] = field(default_factory=list)
    waits: bool = False
    end: int | None = None  # the end of the piece, but for what it may absorb

    def advance(self, text: str, to: int) -> None:
        while self.at < to:
            target = DANGLING_TARGET.match(text, self.at) if text[self.at] == "]" else None
            if target:
                # No size: it is not read, and pieces of it would be.
                self.skip(target.end(), 0)
                continue
            size = size_of(text[self.at])
            self.sizes.append(self.sizes[-1] + size)
            self.sounding.append(self.sounding[-1] + (size if text[self.at].isalnum() else 0))
            self.at += 1

    def skip(self, to: int, size: int) -> None:
        """Step over what makes no sound; all its size is at its beginning, so no cut is inside."""
        count = to - self.at
        self.sizes += [self.sizes[-1] + size] * count
        self.sounding += [self.sounding[-1]] * count
        self.at = to

    def clause_end(self) -> int | None:
        """The last end of a clause, if nothing has sounded since."""
        for found in reversed(self.breaks):
            if not found.sounding or found.sounding < self.sounding[-1]:
                return None
            if found.level >= Level.CLAUSE:
                return found.position
        return None

    def add(self, position: int, level: Level) -> _Break:
        offset = position - self.first
        new = _Break(position, level, self.sizes[offset], self.sounding[offset])
        self.breaks.append(new)
        return new


class Splitter:
    """Finds the pieces of a text; each is final as soon as it is given out.

    `feed` then iterate `pieces()`: it ends where more text is needed. With
    `final` the rest is given out as well, and what is fed afterwards begins a
    new piece, short like a first one.
    """

    def __init__(self, config: SplitConfig) -> None:
        self._config = config
        self._max = config.max_chars * SCALE
        self._buffer = ""
        self._base = 0  # place of the buffer's first character in the original
        self._spoken = 0  # size of all pieces since the start or the last flush
        self._scan = _Scan(0, True, 0)
        self._silent = 0  # up to here what is in no piece makes no sound

    @property
    def _least(self) -> int:
        """The least size of the piece that is being looked for."""
        config = self._config
        least = max(config.min_chars, config.later_min_chars) if self._spoken else config.min_chars
        return least * SCALE

    @property
    def received(self) -> int:
        """Code points fed so far."""
        return self._base + len(self._buffer)

    @property
    def tail(self) -> str:
        """The last characters fed that are in no piece yet; a control token has no more."""
        return self._buffer[max(self._scan.first, len(self._buffer) - LONGEST_CONTROL) :]

    def feed(self, text: str) -> None:
        """Take more text, exactly as it follows what came before."""
        self._compact()
        self._buffer += text

    def pieces(self, *, final: bool = False) -> Iterator[Piece]:
        """Every piece that is decided; `final`: no more text belongs to this."""
        while self._skip_spaces():
            end = self._find_end(final)
            if end is None:
                return
            yield self._take(end)
        if final:
            self._spoken = 0

    def withhold(self) -> str:
        """Take back a last word that may go on: what is fed next goes on from before it."""
        scan, text = self._scan, self._buffer
        if scan.at == len(text) or word_ended(text[scan.first :]):
            return ""
        # Of the poor places those before a number; after one its unit may follow.
        places = [
            b.position
            for b in scan.breaks
            if b.level >= Level.WORD or text[b.position - 1].isalpha()
        ]
        cut = places[-1] if places else scan.first
        cut = View(text, scan.first, scan.line_start, final=False).absorb(cut) or cut
        self._buffer = text[:cut]
        # What was scanned beyond it is no longer there.
        self._scan = _Scan(scan.first, scan.line_start, scan.first)
        return text[cut:]

    def is_heard_on(self) -> bool:
        """Whether what is in no piece yet is certain to be heard."""
        at = max(self._silent - self._base, self._scan.first)
        heard, at = heard_after(self._buffer, at)
        self._silent = self._base + at
        return heard

    def _compact(self) -> None:
        scan = self._scan
        if scan.first:
            self._buffer = self._buffer[scan.first :]
            self._base += scan.first
            scan.at -= scan.first
            if scan.end is not None:
                scan.end -= scan.first
            scan.breaks = [
                _Break(b.position - scan.first, b.level, b.size, b.sounding) for b in scan.breaks
            ]
            scan.first = 0

    def _skip_spaces(self) -> bool:
        """Move a piece that has not begun past white space; False when there is nothing else."""
        scan, text = self._scan, self._buffer
        if scan.at == scan.first:
            while scan.first < len(text) and text[scan.first].isspace():
                scan.line_start = scan.line_start or text[scan.first] in LINE_BREAKS
                scan.first += 1
            scan.at = scan.first
        return scan.first < len(text)

    def _take(self, end: int) -> Piece:
        scan = self._scan
        source = self._buffer[scan.first : end].rstrip()
        piece = Piece(source, self._base + scan.first, scan.line_start)
        if scan.sounding[end - scan.first]:
            self._spoken += scan.sizes[end - scan.first]
        self._scan = _Scan(end, self._buffer[end - 1] in LINE_BREAKS, end)
        return piece

    def _find_end(self, final: bool) -> int | None:
        scan = self._scan
        view = View(self._buffer, scan.first, scan.line_start, final)
        if scan.end is None:
            scan.end = self._scan_end(view)
        if scan.end is None:
            return len(self._buffer) if final and scan.at == len(self._buffer) else None
        end = view.absorb(scan.end)
        if end is None:
            return None
        if end > scan.at:
            scan.skip(end, SCALE * (end - scan.at))
        return end if scan.sizes[end - scan.first] <= self._max else scan.end

    def _scan_end(self, view: View) -> int | None:
        scan = self._scan
        while scan.at < len(self._buffer):
            step = view.step(scan.at)
            if step is None:
                return None
            end = self._skip_silent(step) if step.silent else self._take_step(step)
            if end is not None:
                return end
        return None

    def _skip_silent(self, step: Step) -> int | None:
        """Step over a token or a link's target; a prompt token at a clause's end begins a piece."""
        scan, control = self._scan, step.control
        if control is not None and control.kind is ControlKind.PROMPT:
            end = scan.clause_end()
            if end is not None:
                return end
        if control is None:
            scan.advance(self._buffer, step.next)
        else:
            scan.skip(step.next, SCALE * (step.next - scan.at))
        return self._decide(None)

    def _take_step(self, step: Step) -> int | None:
        scan = self._scan
        scan.advance(self._buffer, step.next)
        new = None
        if step.level is not None and step.position > scan.first:
            new = scan.add(step.position, step.level)
        return self._decide(new)

    def _decide(self, new: _Break | None) -> int | None:
        """The end of the piece, if what was scanned last settles it."""
        scan, size = self._scan, self._scan.sizes[-1]
        if self._config.mode is not SplitMode.NONE:
            end = self._decide_soft(size, new)
            if end is not None:
                return end
            wanted = Level.CLAUSE if self._config.mode is SplitMode.CLAUSE else Level.SENTENCE
            if (
                new
                and new.level >= wanted
                and self._least <= new.sounding
                and new.size <= self._max
            ):
                return new.position if new.sounding else None
        if size <= self._max:
            return None
        return self._best_cut() or self._hard_cut(scan)

    def _decide_soft(self, size: int, new: _Break | None) -> int | None:
        first = self._config.first_max_chars * SCALE
        soft = min(self._max, max(first, int(self._spoken * self._config.growth)))
        if size <= soft or soft >= self._max:
            return None
        scan = self._scan
        if not scan.waits:
            scan.waits = True
            fits = [b for b in scan.breaks if b.size <= soft and b.level >= Level.CLAUSE]
            full = [b for b in fits if b.sounding >= max(self._least, 1)]
            short = [b for b in fits if b.level is Level.SENTENCE and b.sounding]
            for found in (full, short):
                if found:
                    return found[-1].position
        if self._spoken:
            return None
        if new and new.level >= Level.CLAUSE and soft < new.size <= 2 * soft and new.sounding:
            return new.position
        if size <= 2 * soft:
            return None
        words = [b for b in scan.breaks if soft // 2 <= b.size <= soft and b.level >= Level.WORD]
        return words[-1].position if words else None

    def _best_cut(self) -> int | None:
        """Where to cut a piece that is too long: the best kind of place that is late enough."""
        fits = [b for b in self._scan.breaks if b.size <= self._max]
        if self._config.mode is SplitMode.NONE:
            sentences = [b for b in fits if b.level is Level.SENTENCE and b.sounding]
            if sentences:
                return sentences[-1].position
        if self._config.mode is SplitMode.SENTENCE:
            short = [b for b in fits if b.level is Level.SENTENCE and b.sounding]
            if short and short[-1].sounding >= self._least // 2:
                return short[-1].position
        for level, share in (
            (Level.CLAUSE, 0.25), (Level.MINOR, 0.4), (Level.WORD, 0.5), (Level.WORD, 0.0),
            (Level.POOR, 0.0),
        ):  # fmt: skip
            found = [b for b in fits if b.level >= level and b.size >= share * self._max]
            if found:
                return found[-1].position
        return None

    def _hard_cut(self, scan: _Scan) -> int:
        """Inside a word that is too long, but not between a letter and its accent."""
        length = len(scan.sizes) - 1
        while length > 1 and scan.sizes[length] > self._max:
            length -= 1
        end = scan.first + length
        for cut in range(end, max(scan.first, end - 8), -1):
            if not combining(self._buffer[cut]) or self._buffer[cut - 1] == "]":
                return cut
        return end

"""A text that remembers where each of its characters came from."""

import re
from collections.abc import Callable
from dataclasses import dataclass

Replace = str | Callable[[re.Match[str]], str | None]


@dataclass(frozen=True, slots=True)
class TrackedText:
    """`text[i]` came from `original[starts[i]:ends[i]]`, in code points."""

    text: str
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    @classmethod
    def of(cls, text: str, offset: int = 0) -> "TrackedText":
        """A text as it stands at `offset` in the original."""
        first = range(offset, offset + len(text))
        return cls(text, tuple(first), tuple(i + 1 for i in first))

    def sub(
        self, pattern: re.Pattern[str], replace: Replace, group: int | str = 0
    ) -> "TrackedText":
        """Replace every match's `group`; a callable returning None leaves its match as it is.

        The replacement's characters all come from the whole group, so a
        replaced run keeps its outer borders in the original.
        """
        matches = list(pattern.finditer(self.text))
        if not matches:
            return self
        parts: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        done = 0
        for match in matches:
            new = replace if isinstance(replace, str) else replace(match)
            first, last = match.span(group)
            if new is None or last == first:
                continue
            self._copy(parts, starts, ends, done, first)
            parts.append(new)
            starts += [self.starts[first]] * len(new)
            ends += [self.ends[last - 1]] * len(new)
            done = last
        self._copy(parts, starts, ends, done, len(self.text))
        return TrackedText("".join(parts), tuple(starts), tuple(ends))

    def keep_group(self, pattern: re.Pattern[str]) -> "TrackedText":
        """Replace every match by its first group, whose characters keep their own places."""
        kept: list[int] = []
        done = 0
        for match in pattern.finditer(self.text):
            kept += range(done, match.start())
            kept += range(match.start(1), match.end(1))
            done = match.end()
        if not done:
            return self
        kept += range(done, len(self.text))
        return TrackedText(
            "".join(self.text[i] for i in kept),
            tuple(self.starts[i] for i in kept),
            tuple(self.ends[i] for i in kept),
        )

    def map(self, fold: Callable[[str], str]) -> "TrackedText":
        """Replace every character by `fold(character)`, which may be empty or longer."""
        if self.text.isascii() and self.text.isprintable():
            return self
        folded = [fold(c) for c in self.text]
        return TrackedText(
            "".join(folded),
            tuple(s for s, new in zip(self.starts, folded, strict=True) for _ in new),
            tuple(e for e, new in zip(self.ends, folded, strict=True) for _ in new),
        )

    def _copy(
        self, parts: list[str], starts: list[int], ends: list[int], first: int, last: int
    ) -> None:
        parts.append(self.text[first:last])
        starts += self.starts[first:last]
        ends += self.ends[first:last]

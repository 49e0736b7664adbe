"""Stacks of exceptions without their messages: a message may hold a tenant's text."""

import traceback


def trace_of(error: BaseException) -> str:
    """The types and stacks of an exception and of what caused it, the last one raised first."""
    lines: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        lines.append(f"{type(current).__module__}.{type(current).__qualname__}")
        lines += [line.rstrip("\n") for line in traceback.format_tb(current.__traceback__)]
        hidden = current.__suppress_context__
        current = current.__cause__ or (None if hidden else current.__context__)
    return "\n".join(lines)

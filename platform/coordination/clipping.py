"""How an error message shows a value that a client sent."""

SHOWN_MAX = 80


def clipped(value: object, limit: int = SHOWN_MAX) -> str:
    """`value` as Python writes it (quoted, control characters escaped), cut after `limit` signs.

    A client may send a megabyte, or a number of 4,300 digits: a message names
    the value, it does not send it back.
    """
    # Cut first as well: the rest need not be escaped only to be thrown away.
    text = repr(value[: limit + 1] if isinstance(value, str) else value)
    if len(text) <= limit + 2:
        return text
    quote = text[0] if isinstance(value, str) else ""
    return f"{text[: limit + len(quote)]}…{quote}"

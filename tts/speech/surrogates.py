"""Finds the lone surrogate for which a JSON reader refused a document.

RFC 8259 (section 8.2) lets a string hold `"\\ud800"` alone, and leaves open what
readers make of it; ours refuse the whole document, and know neither field nor place.
"""

import json
import re

from tts.speech.errors import InvalidUnicode

_SURROGATE = re.compile("[\ud800-\udfff]")


def surrogate_find(document: bytes | str) -> InvalidUnicode | None:
    """The error for the first lone surrogate of a JSON object; None where it is broken otherwise.

    The field is the object's own, also where the string is deeper inside it.
    """
    try:
        # Python's reader takes escapes of lone surrogates; coded as bytes they are no UTF-8.
        text = document.decode("utf-8-sig") if isinstance(document, bytes) else document
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        for name, member in value.items():
            if _SURROGATE.search(name):
                # A name that is no text cannot be told either.
                return InvalidUnicode(None)
            if _holds_surrogate(member):
                return InvalidUnicode(name)
    return None


def _holds_surrogate(value: object) -> bool:
    if isinstance(value, str):
        return _SURROGATE.search(value) is not None
    if isinstance(value, dict):
        return any(map(_holds_surrogate, (*value, *value.values())))
    return isinstance(value, list) and any(map(_holds_surrogate, value))

"""Environment variables by kind: what is not allowed is named, with what it was and what is.

A variable that is blank is as good as not there.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from django.core.exceptions import ImproperlyConfigured

from coordination.clipping import clipped
from voicehost.addresses import url_shown

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([A-Za-z]{1,3})")
_UNITS = {
    "B": 1,
    "MB": 1000**2,
    "GB": 1000**3,
    "TB": 1000**4,
    "MIB": 1024**2,
    "GIB": 1024**3,
    "TIB": 1024**4,
}
YES = ("1", "true", "yes", "on")
NO = ("0", "false", "no", "off")


def refused(name: str, shown: str, allowed: str) -> ImproperlyConfigured:
    """The error for a variable's value; `allowed` ends a sentence that begins with its name."""
    return ImproperlyConfigured(f"{name} is {shown}, but must be {allowed}")


class Variables:
    """Reads them from `environment`; every method but `text` raises ImproperlyConfigured."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def text(self, name: str, default: str = "") -> str:
        """Any text."""
        return self._environment.get(name, "").strip() or default

    def number(self, name: str, default: int, *, least: int, most: int) -> int:
        """A whole number from `least` to `most`."""
        text = self.text(name, str(default))
        allowed = f"a whole number from {least} to {most}"
        try:
            value = int(text)
        except ValueError as error:
            raise refused(name, clipped(text), allowed) from error
        if not least <= value <= most:
            raise refused(name, clipped(text), allowed)
        return value

    def share(self, name: str, default: float) -> float:
        """A number above 0 and at most 1."""
        text = self.text(name, str(default))
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0.0 < value <= 1.0:
            raise refused(name, clipped(text), "a number above 0 and at most 1")
        return value

    def size(self, name: str) -> int:
        """Bytes, written as a number with a unit such as GB or MiB; 0 where it is not there."""
        text = self.text(name)
        if not text:
            return 0
        found = _SIZE.fullmatch(text)
        unit = _UNITS.get(found[2].upper()) if found is not None else None
        if found is None or unit is None or float(found[1]) * unit < 1:
            raise refused(
                name, clipped(text), f"a number and one of {', '.join(_UNITS)}, as in 4GB"
            )
        return int(float(found[1]) * unit)

    def switch(self, name: str) -> bool:
        """On or off; off where it is not there."""
        text = self.text(name, NO[0]).lower()
        if text not in YES + NO:
            raise refused(name, clipped(text), f"{YES[0]} or {NO[0]}")
        return text in YES

    def choice(self, name: str, allowed: Sequence[str]) -> str:
        """One of `allowed`, in any case; the first where it is not there."""
        text = self.text(name, allowed[0])
        found = next((word for word in allowed if word.lower() == text.lower()), None)
        if found is None:
            raise refused(name, clipped(text), f"one of {', '.join(allowed)}")
        return found

    def names(self, name: str, check: Callable[[str], object], allowed: str) -> tuple[str, ...]:
        """Words separated by commas, each of which passes `check`."""
        text = self.text(name)
        words = tuple(word.strip() for word in text.split(",") if word.strip())
        wrong = next((word for word in words if not check(word)), None)
        if wrong is not None or (text and not words):
            raise refused(name, clipped(wrong or text), f"{allowed}, separated by commas")
        return words

    def url(self, name: str, default: str, check: Callable[[str], object], allowed: str) -> str:
        """A URL that `check` does not raise ValueError for; its secrets are not repeated."""
        text = self.text(name)
        try:
            if text:
                check(text)
        except ValueError:
            # The library's own words may hold a piece of the password.
            raise refused(name, url_shown(text), allowed) from None
        return text or default

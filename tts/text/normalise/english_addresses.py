"""Addresses, telephone numbers, versions, rooms: numbers that count nothing."""

import re

from tts.text.normalise import english_numbers as numbers
from tts.text.normalise.common import Rule

_ADDRESS_MARKS = {
    ".": "dot", "/": "slash", "-": "dash", "_": "underscore", ":": "colon", "@": "at",
    "?": "question mark", "=": "equals", "&": "and", "#": "hash", "%": "percent", "+": "plus",
    "~": "tilde",
}  # fmt: skip
_FILES = (
    "py|js|ts|tsx|jsx|vue|md|txt|pdf|docx?|xlsx?|pptx?|csv|json|ya?ml|html?|css|png|jpe?g|gif|svg"
    "|mp[34]|wav|flac|zip|gz|tar|exe|sh|rs|cpp|java|toml|ini|log|xml|sql|ipynb|iso|dmg|apk|NET"
)
_DOMAINS = "com|org|net|io|ai|dev|cn|edu|gov|co|uk|de|fr|eu|jp|app|info|me|tv|xyz"


def _address(match: re.Match[str]) -> str:
    text = re.sub(r"^https?://", "", match[0]).rstrip("/")
    parts: list[str] = []
    for piece in re.findall(r"[A-Za-z]+|\d+|.", text):
        if piece.isalpha():
            parts.append("w w w" if piece.lower() == "www" else piece)
        elif piece.isdigit():
            parts.append(numbers.digits(piece) if len(piece) > 2 else numbers.plain(piece))
        else:
            parts.append(_ADDRESS_MARKS.get(piece, ""))
    return f" {' '.join(filter(None, parts))} "


def _phone(match: re.Match[str]) -> str:
    groups = re.findall(r"\d+", match[0])
    spoken = ", ".join(numbers.digits(group) for group in groups)
    return f" plus {spoken} " if match[0].startswith("+") else f" {spoken} "


def _version(match: re.Match[str]) -> str:
    groups = match[2].split(".")
    if not match[1] and len(groups) == 4 and all(len(g) <= 3 for g in groups):
        said = (numbers.digits(g) if len(g) > 2 else numbers.plain(g) for g in groups)
        return f" {' dot '.join(said)} "
    spoken = " point ".join(numbers.plain(group) for group in groups)
    return f" version {spoken} " if match[1] else f" {spoken} "


def _lettered(match: re.Match[str]) -> str:
    """Apartment 5B: the letter scales nothing."""
    return f"{match[1]} {numbers.plain(match[2])} {match[3]} "


def _code(match: re.Match[str]) -> str:
    """A room or a flight: "204" -> "two oh four"; a round number is said as a number."""
    digits = match["digits"]
    if digits.endswith("00"):
        return match[0]
    carrier = f"{match['carrier']} " if match["carrier"] else ""
    return f"{match['what']} {carrier}{numbers.digits(digits).replace('zero', 'oh')} "


ADDRESS_RULES: tuple[Rule, ...] = (
    (re.compile(r"\b(?:https?://|www\.)[!-~]{1,2000}(?<=[\w/])"), _address),
    (re.compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"), _address),
    (
        re.compile(
            r"(?<![\w.@-])(?:[A-Za-z0-9-]{1,63}\.){1,4}"
            rf"(?:{_DOMAINS})(?![\w-])(?:/[\w/.~%-]{{0,500}}(?<=[\w/]))?"
        ),
        _address,
    ),
    (re.compile(rf"(?<=[\w-])\.(?=(?:{_FILES})(?!\w))"), lambda match: " dot "),
    (re.compile(r"(?<=[A-Za-z]{2})\.(?=\d)"), lambda match: " "),
    (
        re.compile(
            r"(?i:(?<=call )|(?<=dial )|(?<=called )|(?<=dialed ))"
            r"(?:911|999|112|[3-8]11|988)(?![\w-]|[.,]\d)"
        ),
        lambda match: f" {numbers.digits(match[0])} ",
    ),
    (
        re.compile(
            r"(?<![\w.,-])(?:\+?\d{1,3}[ .-]?)?(?:\(\d{3}\)[ .-]?|\d{3}[ .-])\d{3}[ .-]\d{4}(?!\w)"
            r"|(?<![\w.,-])\d{3}-\d{4}(?![\w-])"
            r"|\+\d{1,3}(?:[ -]\d{2,5}){2,5}(?!\w)|\+\d{7,15}(?!\w)"
        ),
        _phone,
    ),
)

VERSION_RULES: tuple[Rule, ...] = (
    (re.compile(r"(?<![\w.])([vV]\.?)(\d+(?:\.\d+)*)"), _version),
    (re.compile(r"(?<![\w.])()(\d+(?:\.\d+){2,})"), _version),
)

CODE_RULES: tuple[Rule, ...] = (
    (
        re.compile(
            r"\b(Apartment|Apt|Unit|Room|Gate|Seat|Suite|Row|Terminal|Building|Platform|Section|Exit|Block"
            r"|Bus|Route|Class|Hall|Door|Zone|Grade|Appendix|Article) (\d{1,4})([A-Z])(?!\w)"
        ),
        _lettered,
    ),
    (
        re.compile(
            r"\b(?P<what>[Rr]oom|[Ss]uite|[Aa]partment|[Hh]ighway|[Ff]light|Boeing|Airbus)"
            r" (?:(?P<carrier>[A-Z]{1,2}) ?)?(?P<digits>\d{3,4})(?![\w%°'/]|[.,:–-] ?\d)"
        ),
        _code,
    ),
)

"""The rules for everything that holds digits, and for addresses, in the order they apply."""

import re
from collections.abc import Callable

from tts.text.normalise import english_numbers as numbers
from tts.text.normalise.english_words import STARTERS
from tts.text.normalise.units import CURRENCIES, UNITS, alternatives

Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]

AMOUNT = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
_RANGE = rf"(?:({AMOUNT})\s?[%°]?\s?[-–—~]\s?)?({AMOUNT})"
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_SHORT = {month[:3]: month for month in _MONTHS} | {"Sept": "September"}
_MONTH = rf"({'|'.join(_MONTHS)}|(?:{'|'.join(k for k in _SHORT if k != 'May')})(?![a-z])\.?)"
_SCALE_WORDS = {
    "k": "thousand", "K": "thousand", "m": "million", "M": "million", "mn": "million",
    "mm": "million", "MM": "million", "b": "billion", "B": "billion", "bn": "billion",
    "T": "trillion", "tn": "trillion",
}  # fmt: skip
_SCALE = r"(thousand|million|billion|trillion|[kKmMbBT]|mn|mm|MM|bn|tn)"
_NEXT_WORD = r"(?![A-Za-z0-9])"
_SENTENCE_NEXT = re.compile(rf"\s*$|\s+(?:{'|'.join(sorted(STARTERS))})\b")
_ADDRESS_MARKS = {
    ".": "dot", "/": "slash", "-": "dash", "_": "underscore", ":": "colon", "@": "at",
    "?": "question mark", "=": "equals", "&": "and", "#": "hash", "%": "percent", "+": "plus",
    "~": "tilde",
}  # fmt: skip
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


def _iso_date(match: re.Match[str]) -> str:
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return " ".join(("", *(numbers.plain(match[i]) for i in (1, 2, 3)), ""))
    return f" {_MONTHS[month - 1]} {numbers.ordinal(day)}, {numbers.year(year)} "


def _slash_date(match: re.Match[str]) -> str:
    month, day = int(match[1]), int(match[2])
    if month > 12:
        month, day = day, month
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return " over ".join(numbers.plain(match[i]) for i in (1, 2, 3)).join("  ")
    return f" {_MONTHS[month - 1]} {numbers.ordinal(day)}, {_year(match[3])} "


def _year(text: str) -> str:
    return numbers.year(int(text)) if len(text) == 4 else numbers.plain(text)


def _month_name(text: str) -> str:
    return _SHORT.get(text.rstrip("."), text)


def _month_day(match: re.Match[str]) -> str:
    year = f", {numbers.year(int(match[3]))}" if match[3] else ""
    return f" {_month_name(match[1])} {numbers.ordinal(int(match[2]))}{year} "


def _day_month(match: re.Match[str]) -> str:
    year = f", {numbers.year(int(match[3]))}" if match[3] else ""
    before = match.string[max(0, match.start() - 5) : match.start()].lower().split()
    the = "" if before[-1:] == ["the"] else "the "
    return f" {the}{numbers.ordinal(int(match[1]))} of {_month_name(match[2])}{year} "


def _half_day(match: re.Match[str], group: int) -> str:
    """ " PM", with its full stop where "p.m." also ends the sentence."""
    if not match[group]:
        return ""
    stop = match[0].endswith(".") and _SENTENCE_NEXT.match(match.string, match.end())
    return f" {match[group].upper()}M{'.' if stop else ''}"


def _time(match: re.Match[str]) -> str:
    hour, minute, second = int(match[1]), int(match[2]), match[3]
    if hour > 24 or minute > 59 or len(match[2]) == 1:
        parts = [match[1], match[2], *([second] if second else [])]
        return f" {' to '.join(numbers.plain(part) for part in parts)} "
    spoken = numbers.cardinal(hour)
    if minute:
        spoken += f" {numbers.cardinal(minute) if minute > 9 else 'oh ' + numbers.cardinal(minute)}"
    elif not match[4]:
        spoken += " o'clock" if 0 < hour < 13 else " hundred"
    if second and int(second):
        spoken += f" and {numbers.cardinal(int(second))} second{'s' * (int(second) != 1)}"
    return f" {spoken}{_half_day(match, 4)} "


def _hour(match: re.Match[str]) -> str:
    first = f"{numbers.plain(match[1])}{_half_day(match, 2)} to " if match[1] else ""
    return f" {first}{numbers.plain(match[3])}{_half_day(match, 4)} "


def _span(first: str | None, last: str) -> str:
    return f"{numbers.plain(first)} to {numbers.plain(last)}" if first else numbers.plain(last)


def _money(match: re.Match[str]) -> str:
    minus = " minus" if match["minus"] else ""
    currency = CURRENCIES[match["sign"]]
    first, last, scale = match["first"], match["last"], match["scale"]
    if scale or first:
        word = f" {_SCALE_WORDS.get(scale, scale)}" if scale else ""
        return f"{minus} {_span(first, last)}{word} {currency.many} "
    whole, _, fraction = last.replace(",", "").partition(".")
    if fraction and len(fraction) <= 2 and currency.cent:
        cents = int(fraction.ljust(2, "0"))
        part = f"{numbers.cardinal(cents)} {currency.cent if cents == 1 else currency.cents}"
        if not int(whole or 0):
            return f"{minus} {part} "
        name = currency.one if int(whole) == 1 else currency.many
        tail = f" and {part}" if cents else ""
        return f"{minus} {numbers.plain(whole)} {name}{tail} "
    name = currency.one if last == "1" else currency.many
    return f"{minus} {numbers.plain(last)} {name} "


def _version(match: re.Match[str]) -> str:
    groups = match[2].split(".")
    if not match[1] and len(groups) == 4 and all(len(g) <= 3 for g in groups):
        return f" {' dot '.join(numbers.digits(group) for group in groups)} "
    spoken = " point ".join(numbers.plain(group) for group in groups)
    return f" version {spoken} " if match[1] else f" {spoken} "


def _percent(match: re.Match[str]) -> str:
    return f"{_minus(match[1])} {_span(match[2], match[3])} percent "


def _minus(sign: str | None) -> str:
    return " minus" if sign else ""


def _degrees(match: re.Match[str]) -> str:
    scale = {"C": " Celsius", "F": " Fahrenheit"}.get(match[4] or "", "")
    name = "degree" if match[3] == "1" and not match[2] else "degrees"
    return f"{_minus(match[1])} {_span(match[2], match[3])} {name}{scale} "


def _measure(match: re.Match[str]) -> str:
    unit = UNITS[match[4]]
    name = unit.one if match[3] == "1" and not match[2] else unit.many
    return f"{_minus(match[1])} {_span(match[2], match[3])} {name} "


def _decade(match: re.Match[str]) -> str:
    if len(match[1]) == 2:
        return f" {numbers.plural(numbers.cardinal(int(match[1])))} "
    century, tens = divmod(int(match[1]), 100)
    if not tens:
        hundreds = "hundreds" if century % 10 else "thousands"
        return f" {numbers.cardinal(century if century % 10 else century // 10)} {hundreds} "
    return f" {numbers.cardinal(century)} {numbers.plural(numbers.cardinal(tens))} "


def _fraction(match: re.Match[str]) -> str:
    whole, top, bottom = match[1], int(match[2]), int(match[3])
    if (top, bottom) == (24, 7):
        return " twenty-four seven "
    part = numbers.fraction(top, bottom)
    return f" {numbers.plain(whole)} and {part} " if whole else f" {part} "


def _number_range(match: re.Match[str]) -> str:
    sum_follows = match.string[match.end() : match.end() + 2].lstrip().startswith("=")
    joiner = "minus" if match[2] == " - " or sum_follows else "to"
    return f" {numbers.bare(match[1])} {joiner} {numbers.bare(match[3])} "


def _scaled(match: re.Match[str]) -> str:
    if match[0] in {"2K", "3M", "4K", "8K", "5T"}:
        return f" {numbers.plain(match[1])} {match[2]} "
    return f" {numbers.plain(match[1])} {_SCALE_WORDS[match[2]]} "


def _by(match: re.Match[str]) -> str:
    return f" {numbers.plain(match[1])} by {numbers.plain(match[2])} "


def _plain(match: re.Match[str]) -> str:
    return f"{_minus(match[1])} {numbers.bare(match[2])} "


def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_NUMBER_START = r"(?<![\w.,])"
_CURRENCY = alternatives(CURRENCIES)

RULES: tuple[Rule, ...] = (
    (_compile(r"\b(?:https?://|www\.)[!-~]{1,2000}(?<=[\w/])"), _address),
    (_compile(r"\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"), _address),
    (
        _compile(
            r"(?<![\w.@-])(?:[A-Za-z0-9-]{1,63}\.){1,4}"
            rf"(?:{_DOMAINS})(?![\w-])(?:/[\w/.~%-]{{0,500}}(?<=[\w/]))?"
        ),
        _address,
    ),
    (_compile(r"(?<![\w/])(\d{4})-(\d{1,2})-(\d{1,2})(?=T\d|(?!\w))T?"), _iso_date),
    (
        _compile(
            r"(?<![\w.,-])(?:\+?\d{1,3}[ .-]?)?(?:\(\d{3}\)[ .-]?|\d{3}[ .-])\d{3}[ .-]\d{4}(?!\w)"
            r"|(?<![\w.,-])\d{3}-\d{4}(?![\w-])"
            r"|\+\d{1,3}(?:[ -]\d{2,5}){2,5}(?!\w)|\+\d{7,15}(?!\w)"
        ),
        _phone,
    ),
    (_compile(r"(?<![\w/])(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})(?![\w/])"), _slash_date),
    (
        _compile(rf"\b{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?(?![\w:%])(?:,? (\d{{4}})(?!\d))?"),
        _month_day,
    ),
    (
        _compile(
            rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}(?![a-z])(?:,? (\d{{4}})(?!\d))?"
        ),
        _day_month,
    ),
    (
        _compile(r"(?:(?<=\d)|(?<=\d[AaPp][Mm])) ?[-–—] ?(?=\d{1,2}:\d\d(?!\d))"),
        lambda match: " to ",
    ),
    (
        _compile(
            r"(?<![\w:.])(\d{1,2}):(\d{1,2})(?::(\d{2}))?(?![\d:])"
            r"(?:\s?([AaPp])\.?[Mm](?:\.|\b))?"
        ),
        _time,
    ),
    (
        _compile(
            r"(?<![\w:.])(?:(\d{1,2})\s?(?:([AaPp])[Mm])?\s?[-–—]\s?)?(\d{1,2})"
            r"\s?([AaPp])(?:\.[Mm]\.?|[Mm])(?!\w)"
        ),
        _hour,
    ),
    (
        _compile(
            rf"(?P<minus>(?<!\w)-)?(?<![A-Za-z])(?P<sign>{_CURRENCY})\s?"
            rf"(?:(?P<first>{AMOUNT})\s?[-–—]\s?(?=\d))?(?P<last>{AMOUNT})"
            rf"(?:\s?(?P<scale>{_SCALE[1:-1]}){_NEXT_WORD})?"
        ),
        _money,
    ),
    (
        _compile(
            rf"(?P<minus>(?<!\w)-)?{_NUMBER_START}(?:(?P<first>{AMOUNT})\s?[-–—]\s?)?"
            rf"(?P<last>{AMOUNT})(?:\s?(?P<scale>{_SCALE[1:-1]}))?\s?"
            rf"(?P<sign>{alternatives(CURRENCIES, without='$ US$ HK$ NT$ A$ C$')}){_NEXT_WORD}"
        ),
        _money,
    ),
    (_compile(r"(?<![\w.])([vV]\.?)(\d+(?:\.\d+)*)"), _version),
    (_compile(r"(?<![\w.])()(\d+(?:\.\d+){2,})"), _version),
    (
        _compile(
            r"(?<![\w.,'])(?:'(?=\d\d[^\d])|(?<=the )|(?<=early )|(?<=mid-)|(?<=late )|(?=\d{4}))"
            r"(\d{3}0|[2-9]0)'?s(?!\w)"
        ),
        _decade,
    ),
    (_compile(rf"((?<![\w)])-)?{_NUMBER_START}{_RANGE}\s?%"), _percent),
    (_compile(rf"((?<![\w)])-)?{_NUMBER_START}{_RANGE}\s?°\s?(?:([CF])\b)?"), _degrees),
    (
        _compile(rf"((?<![\w)])-)?{_NUMBER_START}{_RANGE}[ -]?({alternatives(UNITS)})(?![\w²³'])"),
        _measure,
    ),
    (
        _compile(r"(?<![\w.,])(\d{1,3}(?:,\d{3})+|\d{1,15})(?:st|nd|rd|th)(?!\w)"),
        lambda match: f" {numbers.ordinal(int(match[1].replace(',', '')))} ",
    ),
    (_compile(r"(?<![\w/.,])(?:(\d{1,6})[ -])?(\d{1,6})/(\d{1,6})(?![\w/])"), _fraction),
    (_compile(rf"{_NUMBER_START}({AMOUNT})( - |\s?[-–—~]\s?)({AMOUNT})(?![\w-])"), _number_range),
    (_compile(rf"{_NUMBER_START}({AMOUNT})\s?(k|K|M|B|T|bn|mn|tn){_NEXT_WORD}"), _scaled),
    (_compile(rf"{_NUMBER_START}({AMOUNT})\s?[x×]\s?({AMOUNT})(?![\w.])"), _by),
    (_compile(rf"((?<![\w)])-)?(?<![\d.])({AMOUNT})"), _plain),
)

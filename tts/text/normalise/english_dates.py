"""Dates, decades and times of the day."""

import re

from tts.text.normalise import english_numbers as numbers
from tts.text.normalise.common import Rule
from tts.text.normalise.english_words import STARTERS

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
_WEEKDAYS = {
    "Mon": "Monday", "Tue": "Tuesday", "Tues": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday",
    "Thur": "Thursday", "Thurs": "Thursday", "Fri": "Friday", "Sat": "Saturday", "Sun": "Sunday",
}  # fmt: skip
_WEEKDAY = f"({'|'.join(sorted(_WEEKDAYS, key=len, reverse=True))})"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_SENTENCE_NEXT = re.compile(rf"\s*$|\s+(?:{'|'.join(sorted(STARTERS))})\b")


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


def _month_days(match: re.Match[str]) -> str:
    year = f", {numbers.year(int(match[4]))}" if match[4] else ""
    first, last = numbers.ordinal(int(match[2])), numbers.ordinal(int(match[3]))
    return f" {_month_name(match[1])} {first} to {last}{year} "


def _days_month(match: re.Match[str]) -> str:
    year = f", {numbers.year(int(match[4]))}" if match[4] else ""
    first, last = numbers.ordinal(int(match[1])), numbers.ordinal(int(match[2]))
    return f" the {first} to the {last} of {_month_name(match[3])}{year} "


def _name_range(match: re.Match[str]) -> str:
    first, last = (_WEEKDAYS.get(n) or _month_name(n) for n in match.groups())
    return f" {first} to {last} "


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


def _decade(match: re.Match[str]) -> str:
    if len(match[1]) == 2:
        return f" {numbers.plural(numbers.cardinal(int(match[1])))} "
    century, tens = divmod(int(match[1]), 100)
    if not tens:
        hundreds = "hundreds" if century % 10 else "thousands"
        return f" {numbers.cardinal(century if century % 10 else century // 10)} {hundreds} "
    return f" {numbers.cardinal(century)} {numbers.plural(numbers.cardinal(tens))} "


DATE_RULES: tuple[Rule, ...] = (
    (
        re.compile(rf"\b{_WEEKDAY}\.?(?=,? (?:{_MONTH}|\d{{1,2}}(?:[:/]| [A-Z])))"),
        lambda match: _WEEKDAYS[match[1]],
    ),
    (
        re.compile(rf"\b{_MONTH} {_DAY}\s?[-–—]\s?{_DAY}(?![\w:%])(?:,? (\d{{4}})(?!\d))?"),
        _month_days,
    ),
    (
        re.compile(
            rf"(?<![\w.,/-]){_DAY}\s?[-–—]\s?{_DAY} {_MONTH}(?![a-z])(?:,? (\d{{4}})(?!\d))?"
        ),
        _days_month,
    ),
    (re.compile(rf"(?<=\d)\s?[-–—]\s?(?={_MONTH} \d)"), lambda match: " to "),
    (re.compile(r"(?<![\w/])(\d{4})/(\d{1,2})/(\d{1,2})(?![\w/])"), _iso_date),
    (re.compile(r"(?<![\w/])(\d{4})-(\d{1,2})-(\d{1,2})(?=T\d|(?!\w))T?"), _iso_date),
    (re.compile(r"(?<![\w/])(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})(?![\w/])"), _slash_date),
    (
        re.compile(rf"\b{_MONTH} (\d{{1,2}})(?:st|nd|rd|th)?(?![\w:%])(?:,? (\d{{4}})(?!\d))?"),
        _month_day,
    ),
    (
        re.compile(
            rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}(?![a-z])(?:,? (\d{{4}})(?!\d))?"
        ),
        _day_month,
    ),
)

TIME_RULES: tuple[Rule, ...] = (
    (re.compile(rf"\b{_WEEKDAY}\.?\s?[-–—]\s?{_WEEKDAY}(?![a-z])"), _name_range),
    (re.compile(rf"\b{_MONTH}\s?[-–—]\s?{_MONTH}(?![a-z])"), _name_range),
    (
        re.compile(
            r"(?:(?<=\d)|(?<=[\d ][AaPp][Mm])|(?<=[AaPp]\.[Mm]\.)|(?<=noon)|(?<=midnight)) ?[-–—] ?"
            r"(?=\d{1,2}(?::\d\d(?!\d)|\s?[AaPp]\.?[Mm]\b))"
        ),
        lambda match: " to ",
    ),
    (
        re.compile(
            r"(?<![\w:.])(\d{1,2}):(\d{1,2})(?::(\d{2}))?(?![\d:])"
            r"(?:\s?([AaPp])\.?[Mm](?:\.|\b))?"
        ),
        _time,
    ),
    (
        re.compile(
            r"(?<![\w:.])(?:(\d{1,2})\s?(?:([AaPp])[Mm])?\s?[-–—]\s?)?(\d{1,2})"
            r"\s?([AaPp])(?:\.[Mm]\.?|[Mm])(?!\w)"
        ),
        _hour,
    ),
)

RATIO_RULES: tuple[Rule, ...] = (
    (
        re.compile(r"(?<![\w:.,])(\d{1,4}):(\d{1,5})(?![\d:]|\.\d)"),
        lambda match: f" {numbers.plain(match[1])} to {numbers.plain(match[2])} ",
    ),
)

DECADE_RULES: tuple[Rule, ...] = (
    # Ranges of decades, ordinals and quarters, whose second end shows what the dash is.
    (
        re.compile(
            r"(?:(?<=\d0s)\s?[-–—]\s?(?=\d{2,4}s\b)|(?<=\d[snrt][tdh])\s?[-–—]\s?(?=\d{1,4}(?:st|nd|rd|th)\b)"
            r"|(?<=[QH]\d)\s?[-–—]\s?(?=[QH]\d\b))"
        ),
        lambda match: " to ",
    ),
    (
        re.compile(
            r"(?<![\w.,'])(?:'(?=\d\d[^\d])|(?<=the )|(?<=early )|(?<=mid-)|(?<=late )|(?=\d{4}))"
            r"(\d{3}0|[2-9]0)'?s(?!\w)"
        ),
        _decade,
    ),
)

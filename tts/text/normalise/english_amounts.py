"""Amounts of something: money, percent, degrees, measures, thousands and millions."""

import re

from tts.text.normalise import english_numbers as numbers
from tts.text.normalise.common import Rule
from tts.text.normalise.units import CURRENCIES, UNITS, alternatives

AMOUNT = r"(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
"""A number as it is written, with commas and decimals."""
NUMBER_START = r"(?<![\w.,])"
"""Where a number begins that is no part of a word or of another number."""
_RANGE = rf"(?:({AMOUNT})\s?[%°]?\s?[-–—~]\s?)?({AMOUNT})"
_SCALE_WORDS = {
    "k": "thousand", "K": "thousand", "m": "million", "M": "million", "mn": "million",
    "mm": "million", "MM": "million", "b": "billion", "B": "billion", "bn": "billion",
    "T": "trillion", "tn": "trillion",
}  # fmt: skip
_SCALE = r"(thousand|million|billion|trillion|[kKmMbBT]|mn|mm|MM|bn|tn)"
_NEXT_WORD = r"(?![A-Za-z0-9])"
_CURRENCY = alternatives(CURRENCIES)


def _span(first: str | None, last: str) -> str:
    return f"{numbers.plain(first)} to {numbers.plain(last)}" if first else numbers.plain(last)


def _money(match: re.Match[str]) -> str:
    minus = " minus" if match["minus"] else ""
    currency = CURRENCIES[match["sign"]]
    first, last, scale = match["first"], match["last"], match["scale"]
    if scale or first:
        word = f" {_SCALE_WORDS.get(scale, scale)}" if scale else ""
        if match["first_scale"]:
            first = f"{numbers.plain(first)} {_SCALE_WORDS.get(match['first_scale'])}"
            return f"{minus} {first} to {numbers.plain(last)}{word} {currency.many} "
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


def _percent(match: re.Match[str]) -> str:
    return f"{_minus(match[1])} {_span(match[2], match[3])} percent "


def _degrees(match: re.Match[str]) -> str:
    scale = {"C": " Celsius", "F": " Fahrenheit"}.get(match[4] or "", "")
    name = "degree" if match[3] == "1" and not match[2] else "degrees"
    return f"{_minus(match[1])} {_span(match[2], match[3])} {name}{scale} "


def _measure(match: re.Match[str]) -> str:
    unit = UNITS[match[4]]
    name = unit.one if match[3] == "1" and not match[2] else unit.many
    return f"{_minus(match[1])} {_span(match[2], match[3])} {name} "


def _scaled(match: re.Match[str]) -> str:
    if match[0] in {"2K", "3M", "4K", "8K", "5T"}:
        return f" {numbers.plain(match[1])} {match[2]} "
    return f" {numbers.plain(match[1])} {_SCALE_WORDS[match[2]]} "


def _minus(sign: str | None) -> str:
    return " minus" if sign else ""


MONEY_RULES: tuple[Rule, ...] = (
    (
        re.compile(
            rf"(?P<minus>(?<!\w)-)?(?<![A-Za-z])(?P<sign>{_CURRENCY})\s?"
            rf"(?:(?P<first>{AMOUNT})(?P<first_scale>[kKmMbBT]|bn|mn)?\s?[-–—]\s?(?:(?P=sign)\s?)?(?=\d))?(?P<last>{AMOUNT})"
            rf"(?:\s?(?P<scale>{_SCALE[1:-1]}){_NEXT_WORD})?"
        ),
        _money,
    ),
    (
        re.compile(
            rf"(?P<minus>(?<!\w)-)?{NUMBER_START}(?:(?P<first>{AMOUNT})(?P<first_scale>[kKmMbBT])?\s?[-–—]\s?)?"
            rf"(?P<last>{AMOUNT})(?:\s?(?P<scale>{_SCALE[1:-1]}))?\s?"
            rf"(?P<sign>{alternatives(CURRENCIES, without='$ US$ HK$ NT$ A$ C$')}){_NEXT_WORD}"
        ),
        _money,
    ),
)


def _duration(match: re.Match[str]) -> str:
    parts = []
    for text, unit in zip(match.groups(), ("hour", "minute", "second"), strict=True):
        if text:
            parts.append(f"{numbers.plain(text)} {unit}{'s' * (int(text) != 1)}")
    return f" {' '.join(parts)} "


DURATION_RULES: tuple[Rule, ...] = (
    # Beside an hour or a second, "m" is a minute.
    (re.compile(r"(?<![\w.,])(\d{1,3})\s?h\s?(\d{1,2})\s?m(?:in)?(?:\s?(\d{1,2})\s?s)?(?![\w²³'/])"),
     _duration),
    (re.compile(r"(?<![\w.,])()(\d{1,3})\s?m(?:in)?\s?(\d{1,2})\s?s(?![\w²³'/])"), _duration),
)  # fmt: skip


def _feet(match: re.Match[str]) -> str:
    inches = f"{numbers.plain(match[2])} inch{'es' * (match[2] != '1')}"
    feet = "foot" if match[1] == "1" else "feet"
    return f" {numbers.plain(match[1])} {feet} {inches} "


def _arc(match: re.Match[str]) -> str:
    parts = [f"{numbers.plain(match[1])} degree{'s' * (match[1] != '1')}"]
    for text, name in ((match[2], "minute"), (match[3], "second")):
        if text:
            parts.append(f"{numbers.plain(text)} {name}{'s' * (int(text) != 1)}")
    return f" {' '.join(parts)} "


MEASURE_RULES: tuple[Rule, ...] = (
    (
        re.compile(r"(?<![\w.,])(\d)'\s?(\d{1,2})(?:\"|'')(?!\w)"),
        lambda match: f" {numbers.plain(match[1])} foot {numbers.plain(match[2])} ",
    ),
    (re.compile(r"(?<![\w.,])(\d{1,2})\s?ft\.?\s?(\d{1,2})\s?in(?![\w'])"), _feet),
    (re.compile(r"(?<![\w.,])(\d{1,3})\s?°\s?(\d{1,2})'(?:\s?(\d{1,2})\")?"), _arc),
    (re.compile(rf"((?<![\w)])-)?{NUMBER_START}{_RANGE}\s?%"), _percent),
    (re.compile(rf"((?<![\w)])-)?{NUMBER_START}{_RANGE}\s?°\s?(?:([CF])\b)?"), _degrees),
    (
        re.compile(rf"((?<![\w)])-)?{NUMBER_START}{_RANGE}[ -]?({alternatives(UNITS)})(?![\w²³'])"),
        _measure,
    ),
)

SCALE_RULES: tuple[Rule, ...] = (
    (re.compile(rf"{NUMBER_START}({AMOUNT})\s?(k|K|M|B|T|bn|mn|tn){_NEXT_WORD}"), _scaled),
)

"""The rules for everything that holds digits, and for addresses, in the order they apply."""

import re

from tts.text.normalise import english_numbers as numbers
from tts.text.normalise.common import Rule
from tts.text.normalise.english_addresses import ADDRESS_RULES, CODE_RULES, VERSION_RULES
from tts.text.normalise.english_amounts import (
    AMOUNT,
    DURATION_RULES,
    MEASURE_RULES,
    MONEY_RULES,
    NUMBER_START,
    SCALE_RULES,
)
from tts.text.normalise.english_dates import DATE_RULES, DECADE_RULES, RATIO_RULES, TIME_RULES


def _ordinal(match: re.Match[str]) -> str:
    return f" {numbers.ordinal(int(match[1].replace(',', '')))} "


def _fraction(match: re.Match[str]) -> str:
    whole, top, bottom = match[1], int(match[2]), int(match[3])
    if not whole and (top, bottom) in {(24, 7), (9, 11)}:
        return f" {numbers.cardinal(top)} {numbers.cardinal(bottom)} "
    if top == bottom > 9 and not whole:
        return f" {numbers.cardinal(top)} {numbers.cardinal(top)} "
    part = numbers.fraction(top, bottom)
    return f" {numbers.plain(whole)} and {part} " if whole else f" {part} "


def _number_range(match: re.Match[str]) -> str:
    sum_follows = match.string[match.end() : match.end() + 2].lstrip().startswith("=")
    rises = float(match[1].replace(",", "")) < float(match[3].replace(",", ""))
    joiner = "minus" if sum_follows or (match[2] == " - " and not rises) else "to"
    return f" {numbers.bare(match[1])} {joiner} {numbers.bare(match[3])} "


def _power(match: re.Match[str]) -> str:
    sign = "minus " if match[2] == "-" else ""
    return f" {numbers.plain(match[1])} times ten to the {sign}{numbers.plain(match[3])} "


def _by(match: re.Match[str]) -> str:
    if match.string[match.end() : match.end() + 2].lstrip().startswith("="):
        return f" {numbers.plain(match[1])} times {numbers.plain(match[2])} "
    both = [match[1], match[2]]
    if all(len(text) > 2 for text in both):
        both = [_height(text) for text in both]
    else:
        both = [numbers.plain(text) for text in both]
    return f" {both[0]} by {both[1]} "


def _height(text: str) -> str:
    """A count of pixels: nineteen twenty, seven twenty."""
    if not text.isdigit() or len(text) > 4 or text[-2] == "0":
        return numbers.plain(text)
    return f"{numbers.cardinal(int(text[:-2]))} {numbers.cardinal(int(text[-2:]))}"


def _frame(match: re.Match[str]) -> str:
    return f" {_height(match[1])} {match[2]} "


def _plain(match: re.Match[str]) -> str:
    return f"{' minus' if match[1] else ''} {numbers.bare(match[2])} "


RULES: tuple[Rule, ...] = (
    *ADDRESS_RULES,
    *DATE_RULES,
    *TIME_RULES,
    *RATIO_RULES,
    *MONEY_RULES,
    *VERSION_RULES,
    *DECADE_RULES,
    *DURATION_RULES,
    *MEASURE_RULES,
    (re.compile(r"(?<![\w.,])(\d+(?:\.\d+)?)[eE]([-+]?)(\d{1,3})(?![\w.])"), _power),
    *CODE_RULES,
    (
        re.compile(r"(?<![\w.,])(\d{1,3}(?:,\d{3})+|\d{1,15})(?:st|nd|rd|th)(?!\w)"),
        _ordinal,
    ),
    (re.compile(r"(?<![\w/.,])(?:(\d{1,6})[ -])?(\d{1,6})/(\d{1,6})(?![\w/])"), _fraction),
    (re.compile(rf"{NUMBER_START}({AMOUNT})( - |\s?[-–—~]\s?)({AMOUNT})(?![\w-])"), _number_range),
    (re.compile(r"(?<![\w.,])(240|360|480|720|1080|1440|2160)([pi])(?!\w)"), _frame),
    *SCALE_RULES,
    (re.compile(rf"{NUMBER_START}({AMOUNT})\s?[x×]\s?({AMOUNT})(?![\w.])"), _by),
    (re.compile(rf"((?<![\w)])-)?(?<![\d.])({AMOUNT})"), _plain),
)

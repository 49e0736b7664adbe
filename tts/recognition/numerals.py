"""Numbers in words, for transcripts that write digits."""

_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_DIGITS = "零一二三四五六七八九"


def english_number(number: int) -> list[str]:
    """105 is ["one", "hundred", "five"]; from a billion on, digit by digit."""
    if number >= 1_000_000_000:
        return [_SMALL[int(digit)] for digit in str(number)]
    for unit, name in ((1_000_000, "million"), (1_000, "thousand"), (100, "hundred")):
        if number >= unit:
            rest = english_number(number % unit) if number % unit else []
            return [*english_number(number // unit), name, *rest]
    if number < 20:
        return [_SMALL[number]]
    return [_TENS[number // 10 - 2], *([_SMALL[number % 10]] if number % 10 else [])]


def mandarin_number(number: int) -> str:
    """105 is "一百零五"; from 10**12 on, digit by digit."""
    if number >= 10**12:
        return "".join(_DIGITS[int(digit)] for digit in str(number))
    if number < 10:
        return _DIGITS[number]
    if number < 20:
        return "十" + (_DIGITS[number % 10] if number % 10 else "")
    units = ((10**8, "亿"), (10**4, "万"), (1000, "千"), (100, "百"), (10, "十"))
    for unit, name in units:
        if number >= unit:
            rest = number % unit
            gap = "零" if rest and rest < unit // 10 else ""
            # Inside a number ten is "一十", not "十".
            ten = "一" if 10 <= rest < 20 else ""
            tail = gap + ten + mandarin_number(rest) if rest else ""
            return mandarin_number(number // unit) + name + tail
    raise AssertionError(number)

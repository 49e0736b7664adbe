"""English number words: cardinals, ordinals, years, decimals, digit by digit."""

_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["_", "_", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SCALES = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"), (1000, "thousand"))
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth",
    "nine": "ninth", "twelve": "twelfth",
}  # fmt: skip
MOST_DIGITS = 15
"""Longer numbers are read digit by digit: nobody counts them."""


def cardinal(number: int) -> str:
    """1299 -> "one thousand two hundred ninety-nine"; `number` is 0 or more, below 10**15."""
    if number < 20:
        return _ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens] + (f"-{_ONES[ones]}" if ones else "")
    if number < 1000:
        hundreds, rest = divmod(number, 100)
        return f"{_ONES[hundreds]} hundred" + (f" {cardinal(rest)}" if rest else "")
    for size, name in _SCALES:
        if number >= size:
            count, rest = divmod(number, size)
            return f"{cardinal(count)} {name}" + (f" {cardinal(rest)}" if rest else "")
    raise AssertionError(number)


def ordinal(number: int) -> str:
    """21 -> "twenty-first"."""
    words = cardinal(number)
    cut = max(words.rfind(" "), words.rfind("-")) + 1
    head, last = words[:cut], words[cut:]
    if last in _ORDINALS:
        return head + _ORDINALS[last]
    return head + (last[:-1] + "ieth" if last.endswith("y") else last + "th")


def digits(text: str) -> str:
    """ "0451" -> "zero four five one"; whatever is no digit is left out."""
    return " ".join(_ONES[int(c)] for c in text if c.isdigit())


def year(number: int) -> str:
    """1905 -> "nineteen oh five", 2026 -> "twenty twenty-six", 2005 -> "two thousand five"."""
    century, rest = divmod(number, 100)
    if number % 1000 < 10:
        return cardinal(number)
    if rest == 0:
        return f"{cardinal(century)} hundred"
    return f"{cardinal(century)} {f'oh {_ONES[rest]}' if rest < 10 else cardinal(rest)}"


def plain(text: str) -> str:
    """A written number, commas and one decimal point allowed: "1,299.50", "007", ".5"."""
    whole, point, fraction = text.replace(",", "").partition(".")
    if not whole:
        words = "zero"
    elif len(whole) > MOST_DIGITS or (len(whole) > 1 and whole[0] == "0"):
        words = digits(whole)
    else:
        words = cardinal(int(whole))
    return f"{words} point {digits(fraction)}" if point and fraction else words


def is_year(text: str) -> bool:
    """Whether a bare number of four digits is read as a year (1100-2099)."""
    return len(text) == 4 and text.isdigit() and 1100 <= int(text) <= 2099


def bare(text: str) -> str:
    """A number with nothing around it that says what it counts: a year, if it looks like one."""
    return year(int(text)) if is_year(text) else plain(text)


def plural(word: str) -> str:
    """A plural of a number word: "ninety" -> "nineties", "third" -> "thirds"."""
    return word[:-1] + "ies" if word.endswith("y") else word + "s"


def fraction(top: int, bottom: int) -> str:
    """3/4 -> "three quarters"; a denominator that is seldom spoken is "over"."""
    if bottom == 2:
        return f"{cardinal(top)} {'half' if top == 1 else 'halves'}"
    if bottom < 2 or (bottom > 20 and bottom not in {30, 32, 50, 64, 100, 1000}):
        return f"{cardinal(top)} over {cardinal(bottom)}"
    name = {4: "quarter", 100: "hundredth", 1000: "thousandth"}.get(bottom, ordinal(bottom))
    return f"{cardinal(top)} {name if top == 1 else plural(name)}"

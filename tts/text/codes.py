"""Numbers in Latin letters among Chinese: read before the languages are told apart.

A span of one language sees nothing of the other, so what a Chinese word says of
the Latin letters beside it is settled here.
"""

import re

from tts.text.normalise.mandarin_numbers import read_digits
from tts.text.normalise.roman import CHINESE_NUMERAL, chinese_digits
from tts.text.normalise.units import CURRENCIES
from tts.text.tracked import TrackedText

_FLIGHT = re.compile(
    r"(?<=航班)(?P<carrier>[A-Z]{2}\s?)(?P<digits>\d{3,4})(?!\d)"
    r"|(?<![A-Za-z])(?P<carrier2>[A-Z]{2}\s?)(?P<digits2>\d{3,4})(?=\s?(?:次|号)?航班)"
    r"|(?<![A-Za-z])(?P<carrier3>[GDCZTK])(?P<digits3>\d{1,4})(?=\s?次)"
)
# Standards, models and frame heights: GB2312, RTX4090, 1080P.
_MONEY = "|".join(code for code in CURRENCIES if code.isalpha())
_MODEL = re.compile(
    rf"(?<![A-Za-z])(?!(?:{_MONEY})\d)(?P<letters>[A-Z]{{1,3}})(?P<number>\d{{3,5}})(?![\d.])"
    r"|(?<!\d)(?P<height>720|1080|1440|2160)(?=[PpIi](?![A-Za-z]))"
)


def read_codes(text: TrackedText) -> TrackedText:
    """Numerals of chapters as digits, flights, trains and models digit by digit, in place."""
    if text.text.isascii():
        return text
    text = text.sub(CHINESE_NUMERAL, chinese_digits).sub(_FLIGHT, _flight)
    return text.sub(_MODEL, _model)


def _flight(match: re.Match[str]) -> str:
    carrier = match["carrier"] or match["carrier2"] or match["carrier3"]
    digits = match["digits"] or match["digits2"] or match["digits3"]
    return carrier + read_digits(digits, one="幺")


def _model(match: re.Match[str]) -> str:
    return (match["letters"] or "") + read_digits(match["number"] or match["height"])

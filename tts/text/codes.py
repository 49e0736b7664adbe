"""Numbers in Latin letters among Chinese: read before the languages are told apart.

A span of one language sees nothing of the other, so what a Chinese word says of
the Latin letters beside it is settled here.
"""

import re

from tts.text.normalise.mandarin_rules import read_digits
from tts.text.normalise.roman import CHINESE_NUMERAL, chinese_digits
from tts.text.tracked import TrackedText

_FLIGHT = re.compile(
    r"(?<=航班)(?P<carrier>[A-Z]{2}\s?)(?P<digits>\d{3,4})(?!\d)"
    r"|(?<![A-Za-z])(?P<carrier2>[A-Z]{2}\s?)(?P<digits2>\d{3,4})(?=\s?(?:次|号)?航班)"
    r"|(?<![A-Za-z])(?P<carrier3>[GDCZTK])(?P<digits3>\d{1,4})(?=\s?次)"
)


def read_codes(text: TrackedText) -> TrackedText:
    """Numerals of chapters as digits, flights and trains digit by digit, keeping their places."""
    if text.text.isascii():
        return text
    return text.sub(CHINESE_NUMERAL, chinese_digits).sub(_FLIGHT, _flight)


def _flight(match: re.Match[str]) -> str:
    carrier = match["carrier"] or match["carrier2"] or match["carrier3"]
    digits = match["digits"] or match["digits2"] or match["digits3"]
    return carrier + read_digits(digits, one="幺")

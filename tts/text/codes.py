"""Numbers beside Latin letters among Chinese: read before the languages are told apart.

A span of one language sees nothing of the other, so what a Chinese word says of
the Latin letters beside it is settled here. Beside Chinese the number is read in
Chinese (五 G 网络, A 四纸), and the letters are left to stand alone, since letters in a
Chinese span are not heard.
"""

import re
from collections.abc import Callable

from tts.text.normalise.mandarin_numbers import read_digits, read_number
from tts.text.normalise.roman import CHINESE_NUMERAL, chinese_digits
from tts.text.normalise.units import CURRENCIES
from tts.text.tracked import TrackedText

_HAN = "[\u3400-\u4dbf\u4e00-\u9fff]"
_HAS_HAN = re.compile(_HAN)
_MONEY = "|".join(code for code in CURRENCIES if code.isalpha())
_STORED = ("硬盘", "内存", "显存", "流量", "空间", "存储", "固态", "网盘", "带宽", "运存")
_PAID = re.compile(r"[薪资价奖费花赚挣约收付]")
_SCREENS = "屏|显示|高清|超清|视频|电视|画|分辨|投影|蓝光|影|[纯足千黄白]?金"


def _flight(match: re.Match[str]) -> str:
    return read_digits(match["number"], one="幺")


def _digits(match: re.Match[str]) -> str:
    return read_digits(match["number"])


def _generation(match: re.Match[str]) -> str | None:
    """4S店, 5G网络, 2.0T发动机; what is stored in is an amount (两 T 硬盘)."""
    if not _beside_han(match):
        return None
    stored = match.string.startswith(_STORED, match.end()) or "unit" in match.re.groupindex
    return "两" if match["number"] == "2" and stored else read_number(match["number"])


def _format(match: re.Match[str]) -> str | None:
    """4K and 8K are formats, unless money is spoken of; so is every K before a screen."""
    if match["format"] is None:
        before = match.string[max(0, match.start() - 4) : match.start()]
        if match["number"] not in {"2", "4", "8"} or _PAID.search(before):
            return None
    return read_number(match["number"])


def _series(match: re.Match[str]) -> str | None:
    """A4纸, PM2.5超标, iPhone15很贵, 华为P60: the number that a word ends with."""
    if not _beside_han(match):
        return None
    number = match["number"]
    if number.count(".") > 1:
        return "点".join(map(read_number, number.split(".")))
    return read_digits(number) if len(number) == 3 and number.isdigit() else read_number(number)


def _beside_han(match: re.Match[str]) -> bool:
    text, start, end = match.string, match.start(), match.end()
    beside = text[max(0, start - 2) : start].rstrip()[-1:] + text[end : end + 2].lstrip()[:1]
    return bool(_HAS_HAN.search(beside))


_NUMBER = r"(?<![A-Za-z0-9.,:/$€£¥+-])(?P<number>\d{1,3}(?:\.\d{1,2})?)"
_RULES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str | None]], ...] = (
    (re.compile(r"(?<=航班)[A-Z]{2}\s?(?P<number>\d{3,4})(?!\d)"), _flight),
    (re.compile(r"(?<![A-Za-z])[A-Z]{2}\s?(?P<number>\d{3,4})(?=\s?(?:次|号)?航班)"), _flight),
    (re.compile(r"(?<![A-Za-z])[GDCZTK](?P<number>\d{1,4})(?=\s?次)"), _flight),
    # Standards, models, parcels and the heights of frames.
    (
        re.compile(rf"(?<![A-Za-z])(?!(?:{_MONEY})\d)[A-Z]{{1,4}}(?P<number>\d{{3,15}})(?![\d.])"),
        _digits,
    ),
    (re.compile(r"(?<!\d)(?P<number>720|1080|1440|2160)(?=[PpIi](?![A-Za-z]))"), _digits),
    # Not the units L, V and W, nor K, which may be a thousand.
    (re.compile(rf"{_NUMBER}\s?(?P<unit>[KMGTk]B)(?![A-Za-z0-9'])"), _generation),
    (re.compile(rf"{_NUMBER}[A-JM-UX-Z](?![A-Za-z0-9'])"), _generation),
    (re.compile(rf"{_NUMBER}[Kk](?![A-Za-z0-9])(?P<format>(?=\s?(?:{_SCREENS})))?"), _format),
    (
        re.compile(
            rf"(?<![A-Za-z0-9_.@/:#&=?%+\\-])(?!(?:{_MONEY})\d)[A-Za-z]{{1,12}}"
            r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,3}|\d{3})(?![A-Za-z0-9_.@/+%°'-])"
        ),
        _series,
    ),
)


def read_codes(text: TrackedText) -> TrackedText:
    """Numerals of chapters as digits, flights, trains, models, formats and versions, in place."""
    if text.text.isascii() or not _HAS_HAN.search(text.text):
        return text
    text = text.sub(CHINESE_NUMERAL, chinese_digits)
    for pattern, replace in _RULES:
        text = text.sub(pattern, replace, "number")
    return text

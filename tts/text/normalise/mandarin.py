"""Chinese: written numbers, dates, money, units and symbols to characters.

WeText's grammars (bundled with `wetext`) read plain numbers, dates, times and
measures. Rules before them take what they get wrong: they swallow a comma
between digits, so they see no comma; "10%-20%", "2-1", versions, scores,
currency signs with decimals, telephone numbers and long codes are put into
words here.
"""

import re
import threading
from collections.abc import Callable

from tts.text.normalise.common import join_operators, tidy
from tts.text.normalise.mandarin_numbers import read_digits
from tts.text.normalise.mandarin_rules import RULES

_MARKS = str.maketrans(
    {
        ",": "，", "!": "！", "?": "？", ";": "；", ":": "：", "｡": "。", "．": ".", "\n": "，",
        "(": "，", "（": "，", "[": "，", "【": "，", "{": "，", "〔": "，", "〖": "，",
        ")": "，", "）": "，", "]": "，", "】": "，", "}": "，", "〕": "，", "〗": "，", "|": "，",
        "〇": "零",
    }
)  # fmt: skip
_CHUNK = re.compile(r"[，。！？；：、]+|[^，。！？；：、]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_CLOCK = re.compile(r"(?<=\d)：(?=\d)")
_FINAL_STOP = re.compile(r"(?<!\d)\.(?!\d)|(?<=\d)\.(?!\d)|(?<!\d)\.(?=\d)")
_LAST_BRACKET = re.compile(r"[)\]}）】〕〗]+\s*$")
_LAST_DOTS = re.compile(r"(?:…|\.{2,})[ 。]*$")
_DASH = re.compile(r"\s*(?:[—–―]+|-{2,}| - |…+|\.{2,})\s*")
_SPACE_BESIDE_HAN = re.compile(r"(?<![0-9A-Za-z]) +| +(?![0-9A-Za-z])")
_REPEAT = re.compile(r"(.)々")
_NEEDS_GRAMMAR = re.compile(r"\d")
_DIGITS = re.compile(r"\d+")
_REST = re.compile(
    "[^A-Za-z ，。！？；：、\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]+"
)
_GAPS = re.compile(r" *(?=[^A-Za-z ]) *|(?<=[^A-Za-z ]) +")

_lock = threading.Lock()
_grammar: list[Callable[[str], str]] = []


def _load() -> Callable[[str], str]:
    """The WeText normaliser; importing it takes about half a second, so only when it is needed."""
    if not _grammar:
        with _lock:
            if not _grammar:
                from wetext import Normalizer

                normalizer = Normalizer(lang="zh", operator="tn")
                normalizer.normalize("2")
                _grammar.append(normalizer.normalize)
    return _grammar[0]


def warm_up() -> None:
    """Load the grammars; idempotent and thread-safe."""
    _load()


def normalise(text: str) -> str:
    """Han characters and `，。！？；：、` only; "" where nothing is spoken."""
    text = join_operators(text)
    text = _CLOCK.sub(":", _THOUSANDS.sub("", _REPEAT.sub(r"\1\1", text.strip())))
    text = _LAST_BRACKET.sub("", text)
    for pattern, replace in RULES:
        text = pattern.sub(replace, text)
    text = _DASH.sub("，", _LAST_DOTS.sub("。", text))
    text = _FINAL_STOP.sub("。", _keep_clock(text).translate(_MARKS))
    spoken = "".join(_speak(chunk) for chunk in _CHUNK.findall(text))
    return tidy(_GAPS.sub("", spoken).strip(), gap="").strip()


def _keep_clock(text: str) -> str:
    # The grammars need the colon of "9:30"; every other colon is a pause.
    return re.sub(r"(?<=\d):(?=\d)", "∶", text)


def _speak(chunk: str) -> str:
    if _NEEDS_GRAMMAR.search(chunk):
        chunk = _load()(_SPACE_BESIDE_HAN.sub("", chunk).replace("∶", ":"))
        chunk = _DIGITS.sub(lambda match: read_digits(match[0]), chunk)
    return _REST.sub("", chunk)

"""The rules that run before the Chinese grammars, in the order they apply."""

import re

from tts.text.normalise.mandarin_codes import CODES
from tts.text.normalise.mandarin_numbers import EARLY, TWO, Rule, counted, read_digits, read_number
from tts.text.normalise.units import CURRENCIES, UNITS, alternatives

_NUMBER = r"(?<!\d)\d+(?:\.\d+)?"  # only from its first digit: linear on long codes
_DASH = r"\s?[-–—~～至到]+\s?"
_SCALE = r"[千百]?[万亿]|千|百"
_COUNTED = (
    "(?:[美欧日港澳]?元|人民币|英镑|块钱?|[角毛分]|[人次个件名台辆份字页杯瓶]"
    "|(?:平方|立方)?(?:千|厘|毫)?米|公里|公斤|千克|毫?克|吨|毫?升|千卡|度)"
)
_LATIN_SCALE = {"k": 10**3, "K": 10**3, "m": 10**6, "M": 10**6, "B": 10**9, "b": 10**9}
_TIME_WORDS = (
    "上午|下午|晚上?|凌晨|早上?|中午|傍晚|次日|翌日|第二天|周|星期|今[天晚日年]|明[天日年]"
)
MOST_DIGITS = 12
"""Longer numbers are codes and read digit by digit."""


def _phone(match: re.Match[str]) -> str:
    spoken = read_digits(match[0], one="幺")
    return f"加{spoken}" if match[0].startswith("+") else spoken


def _version(match: re.Match[str]) -> str:
    groups = match[0].split(".")
    if len(groups) == 3 and len(groups[0]) == 4:
        return match[0]  # 2022.01.02 is a date, which the grammar reads
    return "点".join(
        read_digits(g) if len(g) > 2 or g[0] == "0" else counted(int(g)) for g in groups
    )


def _money(match: re.Match[str]) -> str:
    name = CURRENCIES[match["sign"]].zh
    minus = "负" if match["minus"] else ""
    first = f"{_amount(match['first'])}到" if match["first"] else ""
    scale = match["scale"] or ""
    last = _amount(match["last"])
    if scale in _LATIN_SCALE:
        last, scale = _scaled(last, scale), ""
    return f"{minus}{first}{last}{scale}{name}"


def _money_words(match: re.Match[str]) -> str:
    return f"{_amount(match[1])}{CURRENCIES[match[2]].zh}"


def _amount(text: str) -> str:
    whole, point, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}{point}{fraction}" if fraction else whole


def _scaled(number: str, scale: str) -> str:
    if scale == "w":
        return f"{number}万"
    whole, _, fraction = number.partition(".")
    zeros = {10**3: 3, 10**6: 6, 10**9: 9}[_LATIN_SCALE[scale]]
    if len(fraction) > zeros or len(whole) > 6:
        return f"{number}{scale}"
    return str(int(whole + fraction.ljust(zeros, "0")))


def _percent(match: re.Match[str]) -> str:
    name = "百分之" if match[4] == "%" else "千分之"
    minus = "负" if match[1] else ""
    first = f"{minus}{name}{match[2]}到" if match[2] else minus
    number = "百" if match[3] == "100" else match[3]
    return f"{first}{name}{number}"


def _degrees(match: re.Match[str]) -> str:
    name = {"C": "摄氏度", "F": "华氏度"}.get(match[3] or "", "度")
    first = f"{_signed(match[1])}{name}到" if match[1] else ""
    return f"{first}{_signed(match[2])}{name}"


def _signed(number: str) -> str:
    return number.replace("-", "负")


def _measure(match: re.Match[str]) -> str:
    first = f"{match[1]}到" if match[1] else ""
    name = UNITS[match[3]].zh
    last = "两" if match[2] == "2" and not first else match[2]
    if name.endswith(("每小时", "每秒", "每分钟")):
        what, _, per = name.partition("每")
        return f"每{per}{first}{last}{what}"
    return f"{first}{last}{name}"


def _range(match: re.Match[str]) -> str:
    before, first, last, after = match[1] or "", match[2], match[3], match[4]
    if before:
        return f"{before}{first}比{last}"
    if after.startswith("="):
        return f"{first}减{last}{after}"
    falls = float(last) <= float(first)
    return f"{first}{'比' if falls else '到'}{last}{after}"


def _room(match: re.Match[str]) -> str:
    # A round number may count rooms ("200房间"); and 200 said as a number is a room too.
    return match[0] if match[1].endswith("00") else read_digits(match[1])


def _year_range(match: re.Match[str]) -> str:
    return f"{read_digits(match[1])}到{read_digits(match[2])}{match[3]}"


def _long(match: re.Match[str]) -> str:
    text = match[0]
    if len(text) <= 16 and text.endswith("0" * 8):
        return f"{text[:-8]}亿"
    return read_digits(text)


_SIGNS = alternatives(CURRENCIES)
_CODES = alternatives(CURRENCIES, without="$ US$ HK$ NT$ A$ C$")
_ZH_UNITS = alternatives({key: unit for key, unit in UNITS.items() if unit.zh})

RULES: tuple[Rule, ...] = (
    (re.compile(r"(?<![\d.])(?:\+86[- ]?)?1[3-9]\d[- ]?\d{4}[- ]?\d{4}(?!\d)"), _phone),
    (
        re.compile(
            r"(?<![\d.])(?:\+86[- ]?)?0\d{2,3}[- ]\d{7,8}(?!\d)"
            r"|[(（]0\d{2,3}[)）][- ]?\d{7,8}(?!\d)"
        ),
        _phone,
    ),
    (re.compile(r"(?<![\d.])[48]00[- ]?\d{3}[- ]?\d{4}(?!\d)"), _phone),
    (re.compile(r"\+\d{1,3}(?:[ -]?\d{2,5}){2,5}(?!\d)"), _phone),
    *CODES,
    *EARLY,
    (re.compile(r"(?<![\d.])\d+(?:\.\d+){2,}(?![\d.])"), _version),
    (
        re.compile(
            r"(?<![\d.,:/$€£¥~～-])(\d{3,4})(?=\s?(?:号?(?:房间|病房|教室|会议室|包厢|客房|宿舍)|号?房(?![间子东价屋产])"
            r"|室(?![内外温友])))"
        ),
        _room,
    ),
    (re.compile(r"(?<=房间号|房号是|门牌号|航班号|车次号|房间为|房间是)(\d{3,4})(?![\d.])"), _room),
    (
        re.compile(
            rf"(?P<minus>(?<!\d)-)?(?P<sign>{_SIGNS})\s?(?:(?P<first>{_NUMBER}){_DASH}(?=\d))?"
            rf"(?P<last>{_NUMBER})\s?(?P<scale>{_SCALE}|[kKMB](?![A-Za-z]))?(?:元|美元|块)?"
        ),
        _money,
    ),
    (re.compile(rf"({_NUMBER}(?:{_SCALE})?)\s?({_CODES})(?![A-Za-z])"), _money_words),
    (
        re.compile(rf"(?:(?<![\d.])(-))?(?:({_NUMBER})[%‰]?{_DASH})?({_NUMBER})\s?([%‰])"),
        _percent,
    ),
    (
        re.compile(
            rf"(?:((?:(?<!\d)-)?{_NUMBER})\s?(?:°\s?[CF]?)?\s?[–—~～至到-]\s?)?"
            rf"((?:(?<!\d)-)?{_NUMBER})\s?°\s?([CF](?![A-Za-z]))?"
        ),
        _degrees,
    ),
    (
        re.compile(
            rf"(?:({_NUMBER})(?:{_ZH_UNITS})?{_DASH})?({_NUMBER})\s?({_ZH_UNITS})(?![A-Za-z²³])"
        ),
        _measure,
    ),
    (re.compile(rf"(?<![\d.])({_NUMBER})([kKw])(?![A-Za-z])"), lambda m: _scaled(m[1], m[2])),
    (re.compile(r"(?<!\d)([05-9]\d)后(?![天年来面])"), lambda m: f"{read_digits(m[1])}后"),
    (
        re.compile(r"(\d)\.0{1,4}(?=[元块])|(\d\.\d{0,4}[1-9])0{1,4}(?=[元块])"),
        lambda m: m[1] or m[2],
    ),
    (
        re.compile(
            r"(?<!\d)((?:19|20)\d\d)年?\s?[-–—~～至到]\s?((?:19|20)\d\d|\d\d)(年|学年|财年|赛季)"
        ),
        _year_range,
    ),
    *TWO,
    (
        re.compile(
            r"(比分[是为以]?|以)?(?<![\d.:/年月日号-])(\d{1,6}(?:\.\d{1,6})?)\s?[-–—~～]\s?"
            r"(\d{1,6}(?:\.\d{1,6})?)(?![\d.:/月日-])(\s?=?)"
        ),
        _range,
    ),
    (re.compile(r"(?<=\d)\s?[–—～]\s?(?=\d)"), "~"),
    (re.compile(r"(?<=[月日号点分年])\s?[-–—~～]\s?(?=\d)"), "到"),
    (re.compile(rf"(?<=[\d月日号点分年])\s?[-–—~～]\s?(?={_TIME_WORDS})"), "到"),
    (re.compile(r"(?<=周[一二三四五六日末])\s?[-–—~～]\s?(?=周)"), "到"),
    (re.compile(r"(?<=\d)\s?[x×*]\s?(?=\d)"), "乘"),
    (re.compile(r"\s?÷\s?"), "除以"),
    (re.compile(r"\s?×\s?"), "乘"),
    (re.compile(r"\s?=\s?"), "等于"),
    (re.compile(r"\s?\+\s?(?=[\d\u4e00-\u9fff])"), "加"),
    (re.compile(r"\+"), "加"),
    (re.compile(r"(?<=[\d\u4e00-\u9fff])\s?>\s?(?=[\d\u4e00-\u9fff-])"), "大于"),
    (re.compile(r"(?<=[\d\u4e00-\u9fff])\s?<\s?(?=[\d\u4e00-\u9fff-])"), "小于"),
    (re.compile(r"≥"), "大于等于"),
    (re.compile(r"≤"), "小于等于"),
    (re.compile(r"≠"), "不等于"),
    (re.compile(r"≈"), "约等于"),
    (re.compile(r"±"), "正负"),
    (re.compile(r"→"), "到"),
    (re.compile(r"(?<!\d)~(?=\d)"), "约"),
    (re.compile(r"&"), "和"),
    (re.compile(r"²"), "平方"),
    (re.compile(r"³"), "立方"),
    (re.compile(r"(?<![A-Za-z\d])-(?=\d)"), "负"),
    (
        # An amount for each of something; "4月/五月" and "3个苹果/梨" are a choice.
        re.compile(
            rf"((?<!\d)\d{{1,15}}(?:\.\d{{1,15}})?(?:{_SCALE})?{_COUNTED})\s?/\s?(?=[\u4e00-\u9fff])"
        ),
        r"\1每",
    ),
    (re.compile(r"(?<=[\u4e00-\u9fff])\s?/\s?(?=[\u4e00-\u9fff])"), "或"),
    (re.compile(rf"(?<!\d)\d{{{MOST_DIGITS + 1},}}(?![.\d])"), _long),
    # The grammars take "12.2" for a day of December.
    (re.compile(r"(?<![\d.])\d{1,4}\.\d{1,12}(?![\d.])"), lambda match: read_number(match[0])),
)

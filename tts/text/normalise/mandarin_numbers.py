"""Chinese numbers that the grammars read as amounts where they are none, and 二 against 两.

Ordinals and dates take 二 (第二个, 五月二日), amounts 两 (两个, 两年); codes and model numbers are
read digit by digit.
"""

import re
from collections.abc import Callable

Rule = tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]

_DIGIT_NAMES = "零一二三四五六七八九"
_PLACES = ("", "十", "百", "千")


def read_digits(text: str, *, one: str = "一") -> str:
    """Each digit by its name; telephone numbers say 幺 for 1."""
    return "".join(one if c == "1" else _DIGIT_NAMES[int(c)] for c in text if c.isdigit())


def counted(number: int) -> str:
    """A number from 0 to 9,999 as it is counted: 二百零二, never 两."""
    if not number:
        return _DIGIT_NAMES[0]
    digits = str(number)
    spoken = ""
    for place, digit in zip(range(len(digits) - 1, -1, -1), digits, strict=True):
        if digit != "0":
            spoken += _DIGIT_NAMES[int(digit)] + _PLACES[place]
        elif not spoken.endswith("零"):
            spoken += "零"
    spoken = spoken.rstrip("零")
    return spoken.removeprefix("一") if spoken.startswith("一十") else spoken


def _ordinal(match: re.Match[str]) -> str:
    return f"第{counted(int(match[1]))}"


def _digits(match: re.Match[str]) -> str:
    return read_digits(match[0])


def _minute(match: re.Match[str]) -> str:
    return "零二" if match[0] == "02" else "二"


# Words behind which a number of three digits or more is a code.
_CODED = (
    "验证码|校验码|动态码|激活码|邀请码|兑换码|取件码|提货码|识别码|密码|口令|邮编|邮政编码|代码|号码"
    "|序列号|区号|工号|学号|考号|座位号|编号|账号|帐号|卡号|尾号|单号|票号|批号|证号|房号|微信号|手机号"
    "|频道号|会议号|取餐号|房间|车牌|证件|身份证|QQ|电话|热线"
)
_CODE_LINK = r"(?:号|号码)?(?:\s?[是为：:]\s?|\s)?"
_CODE = re.compile(
    rf"((?:{_CODED}){_CODE_LINK})"
    r"(\d{3,12})(?![\d.,:%％]|\s?[间个元块次年月万亿千百])"
)
_PAID = re.compile(r"[薪资价奖费花赚挣约收付]")
# What is counted with 两, although the grammars say 二 or leave it.
_TWO_TAKES = (
    "次位名件条张本台辆只座家份种部支杯瓶双套层间块片颗倍晚遍趟顿毛角成"
    "个天周岁步句篇首幅届轮场局节项门幢棵朵滴根串堆群批队"
)
_TWO_UNITS = "公斤|公里|公分|公顷|英寸|英尺|英里|小时|分钟|周年|星期|个月|人份|[KMGT]B"


def _letter_k(match: re.Match[str]) -> str:
    """4K and 8K are formats, unless money is spoken of."""
    if _PAID.search(match[1]):
        return match[0]
    return f"{match[1]}{read_digits(match[2])}K"


EARLY: tuple[Rule, ...] = (
    (_CODE, lambda m: m[1] + read_digits(m[2])),
    (re.compile(r"(?<![\d.:：/-])0\d{2,11}(?![\d.:：/%-])"), _digits),
    (re.compile(r"(.{0,4}?)(?<![\d.])([248])[Kk](?![A-Za-z\d])"), _letter_k),
    (re.compile(r"(?<!\d)(?:19|20)\d{2}(?=[届级款版])"), _digits),
    (re.compile(r"第\s?(\d{1,4})(?![\d.,])"), _ordinal),
    (re.compile(r"(?<![A-Za-z])[Nn][Oo]\.\s?(\d{1,4})(?![\d.,])"), _ordinal),
    (re.compile(r"(?<![\d.])2(?=分之)"), "二"),
    (re.compile(r"(?<=[月])\s?2(?=[日号])"), "二"),
    (re.compile(r"(?<![\d.])2(?=日(?![内后前游]|\d?夜))"), "二"),
    (re.compile(r"(?<=点)0?2(?=分(?![之钟]))"), _minute),
    (re.compile(r"(?<![\d.])2(?=单元|手[房车货烟机书]|合[一1]|等|年级|楼|号|班|路|线|月)"), "二"),
    (re.compile(r"(?<=排)2(?=[座号])|(?<=行)2(?=列)"), "二"),
    (re.compile(r"(?<![\d.第./:：])2(?=年(?![级代度]))"), "两"),
)
"""Before any rule that reads numbers."""

TWO: Rule = (
    re.compile(
        rf"(?<![\d第.:/])2(?=[{_TWO_TAKES}]|{_TWO_UNITS}|[至到]\d{{1,3}}(?:[{_TWO_TAKES}]|{_TWO_UNITS})"
        r"|点(?:钟|半|$|[\d零二]{1,2}分|[^\d一-十]))"
    ),
    "两",
)

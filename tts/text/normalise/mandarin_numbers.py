"""Chinese numbers that are no plain amounts, and 二 against 两.

Ordinals, dates and names take 二 (第二个, 五月二日, 二楼), amounts 两 (两个, 两年, 两点).
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
    """A number from 0 to 9,999 as an ordinal has it: 二, 二百零二, but 两千."""
    if not number:
        return _DIGIT_NAMES[0]
    digits = str(number)
    spoken = ""
    for place, digit in zip(range(len(digits) - 1, -1, -1), digits, strict=True):
        if digit != "0":
            spoken += ("两" if digit == "2" and place > 2 else _DIGIT_NAMES[int(digit)]) + _PLACES[
                place
            ]
        elif not spoken.endswith("零"):
            spoken += "零"
    spoken = spoken.rstrip("零")
    return spoken.removeprefix("一") if spoken.startswith("一十") else spoken


def read_number(text: str) -> str:
    """A number of up to four digits, decimals allowed: "2.5" is 二点五, "00" 零零."""
    whole, point, fraction = text.partition(".")
    spoken = read_digits(whole) if whole[0] == "0" else counted(int(whole))
    return f"{spoken}点{read_digits(fraction)}" if point else spoken


def _ordinal(match: re.Match[str]) -> str:
    if not match[3]:
        return f"第{counted(int(match[1]))}"
    joiner = {"、": "、", "/": "、", "和": "和"}.get(match[2].strip(), "到")
    return f"第{counted(int(match[1]))}{joiner}{counted(int(match[3]))}"


def _number(match: re.Match[str]) -> str:
    return counted(int(match[1]))


def _pair(match: re.Match[str]) -> str:
    """The ends of a range of days or months: 二到五日."""
    return f"{counted(int(match[1]))}到{counted(int(match[2]))}"


def _iso_date(match: re.Match[str]) -> str:
    tail = "，" if match[4] else ""
    return f"{match[1]}年{counted(int(match[2]))}月{counted(int(match[3]))}日{tail}"


def _class(match: re.Match[str]) -> str:
    year, number = (counted(int(part)) if part.isdigit() else part for part in match.groups())
    return f"{year}{number}班"


def _about(match: re.Match[str]) -> str:
    """Two neighbours are an estimate, said in one: 两三天."""
    first, last = int(match[1]), int(match[2])
    if last != first + 1:
        return match[0]
    names = ("两" if first == 2 else counted(first), "两" if last == 2 else counted(last))
    return "".join(names)


def _minutes(match: re.Match[str]) -> str:
    seconds = f"{match[2]}秒" if match[2] else ""
    return f"{match[1]}分{seconds}"


def _clock(match: re.Match[str]) -> str:
    score, hour, minute, second = match[1], int(match[2]), match[3], match[4]
    if score is not None and not second:
        return f"{score}{hour}比{int(minute)}"
    if hour > 24:
        return match[0]
    minutes = f"{minute}分" if int(minute) or second else ""
    seconds = f"{int(second)}秒" if second and int(second) else ""
    return f"{score or ''}{hour}点{minutes}{seconds}"


_WON = "获胜|战胜|击败|大胜|完胜|险胜|胜|领先|落后|惜败|不敌|告负|负于|逆转|屏|宽|的比"
_NUMERALS = "零一二三四五六七八九十"
_MONTH = r"(1[0-2]|0?[1-9])"
_NAMED_TWO = (
    r"单元|手[房车货烟机书]|合[一1]|等|年级|楼|号|路(?!人|大军)|线|月|世纪|次元|维|进制|元论"
    r"|元[一二三123]?次|代(?!人)|房东|股东|类(?=医疗|器械|疫苗|苗|市场|户|账户|地区|资质)|班(?!人|车)"
)

EARLY: tuple[Rule, ...] = (
    (
        re.compile(
            rf"(比[分例]?[是为以]?\s?|以|(?=\d{{1,2}}:\d\d\s?(?:{_WON})))?(?<![\d:.])(\d{{1,2}}):([0-5]\d)"
            r"(?::([0-5]\d))?(?![\d:.]|\s?[AaPp]\.?[Mm])"
        ),
        _clock,
    ),
    (
        re.compile(r"第\s?(\d{1,4})(?:(\s?[、/和到至~～–-]\s?)(\d{1,4}))?(?![\d.,])"),
        _ordinal,
    ),
    (re.compile(r"(?<![A-Za-z])[Nn][Oo]\.\s?(\d{1,4})()()(?![\d.,])"), _ordinal),
    (
        re.compile(
            rf"(?<![\d.])((?:19|20)\d{{2}})[-/.]{_MONTH}[-/.](3[01]|[12]\d|0?[1-9])"
            r"(?![\d.])(\s?T?(?=\d)|)"
        ),
        _iso_date,
    ),
    (
        re.compile(rf"(?<![\d./-])((?:19|20)\d{{2}})(?:/{_MONTH}|-(0[1-9]|1[0-2]))(?![\d./年-])"),
        lambda m: f"{m[1]}年{counted(int(m[2] or m[3]))}月",
    ),
    (re.compile(r"(?:(?<=公元前)|(?<=[公西]元))(\d{3,4})(?=年)"), lambda m: read_digits(m[1])),
    (
        re.compile(
            r"(?<![\d.第了近约满有共这达活过去前后整足隔经-])([6-9][1-9])(?=年(?![前来间代度多之了以]"
            r"|的(?:历史|时[间光]|经验|光阴|岁月|生命|婚姻|工作|努力|坚持|发展|等待)))"
        ),
        lambda m: read_digits(m[1]),
    ),
    (re.compile(r"(?<!\d)(?:19|20)\d{2}(?=[届级款版])"), lambda m: read_digits(m[0])),
    (
        re.compile(r"(?<![\d.:/-])(\d{1,2})\s?[-–—~～至到]\s?(\d{1,2})(?=日|号|月)"),
        _pair,
    ),
    (
        re.compile(rf"([{_NUMERALS}\d]?)\s?[(（]\s?(\d{{1,2}}|[{_NUMERALS}]{{1,3}})\s?[)）]\s?班"),
        _class,
    ),
    (re.compile(r"(?<![\d.])2(?=分之)"), "二"),
    (re.compile(r"(?<=月)\s?2(?=[日号])"), "二"),
    (re.compile(r"(?<![\d.])2(?=日(?![内后前游]|\d?夜))"), "二"),
    (
        re.compile(r"(?<=[点时])(0?)2(?=分(?![之钟]))|(?<=分)(0?)2(?=秒)"),
        lambda m: "零二" if m[1] or m[2] else "二",
    ),
    (re.compile(rf"(?<![\d.])2(?={_NAMED_TWO})"), "二"),
    (re.compile(r"(?<=排)2(?=[座号])|(?<=行)2(?=列)"), "二"),
    (re.compile(r"(?<![\d.第./:：])2(?=年(?![级代度]))"), "两"),
    (
        re.compile(r"(?<!\d)\d\d(?=折|级(?:新生|学生|本科|研究生|毕业))"),
        lambda m: read_digits(m[0]),
    ),
    (re.compile(r"(?<=\d米)\d\d(?![\d.]|[米厘公毫多个])"), lambda m: read_digits(m[0])),
    (re.compile(r"(?<=血压)\s?(\d{2,3})/(?=\d{2,3})"), lambda m: f"{counted(int(m[1]))}，"),
    (re.compile(r"(?<![\d./])24/7(?![\d./])"), "7乘24"),
    (re.compile(r"(?<![\d./])(\d{2,3})/(?=\1(?![\d./]))"), r"\1比"),
    (re.compile(r"(?<!\d)([05-9]0)(?=、[05-9]0后)"), lambda m: read_digits(m[0])),
    (re.compile(r"(\d{1,4})\^(\d{1,3})(?![\d.])"), r"\1的\2次方"),
    (re.compile(r"(?<=°)\s?(\d{1,2})'(?:\s?(\d{1,2})(?:\"|''))?"), _minutes),
    (re.compile(r"(?<![\d'])(\d{1,2})'\s?(\d{1,2})(?:\"|'')"), _minutes),
)
"""Before any rule that reads numbers."""

# What is counted with 两, although the grammars say 二 or leave it.
_TWO_TAKES = (
    "次位名件条张本台辆只座家份种部支杯瓶双套层间块片颗倍晚遍趟顿毛角成折"
    "个天周岁步句篇首幅届轮场局节项门幢棵朵滴根串堆群批队"
    "所副亩类者边旁侧国岸款样圈声笔处包打沓摞桌席栋扇票艘股株户胜负平室房厅卫梯居任"
)
_TWO_UNITS = (
    "公斤|公里|公分|公顷|英寸|英尺|英里|小时|分钟|周年|星期|个月|人份|列火车|方面|地分居|下子"
    "|大(?=[\u4e00-\u9fff])(?!队|姨|爷|妈)|美元|美金|欧元|英镑|日元|港[元币]|澳元|加元|韩元|卢[比布]|新台币"
    "|连[胜败冠]|路(?:人|大军)"
)
_CLOCK_TWO = (
    r"点(?:钟|半|整|\d{2}(?!\d)|\d分|[一三]刻"
    rf"|[{_NUMERALS}]{{1,3}}分|(?![\d{_NUMERALS}]))"
)
_ABOUT = re.compile(
    rf"(?<![\d、第.])(?<!第[{_NUMERALS}]、)([1-8])、([2-9])(?=[{_TWO_TAKES}年万千百])"
)

TWO: tuple[Rule, ...] = (
    (_ABOUT, _about),
    (
        re.compile(
            rf"(?<![\d第.:/])2(?=[{_TWO_TAKES}]|{_TWO_UNITS}|{_CLOCK_TWO}"
            rf"|[至到]\d{{1,3}}(?:[{_TWO_TAKES}]|{_TWO_UNITS}))"
        ),
        "两",
    ),
)

"""Units of measure and currencies: how they are written, and read in each language."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unit:
    """`one` and `many` are the English words, `zh` the Chinese one ("" where speakers say the
    letters themselves)."""

    one: str
    many: str
    zh: str


def _unit(one: str, zh: str, many: str = "") -> Unit:
    return Unit(one, many or f"{one}s", zh)


UNITS: dict[str, Unit] = {
    "km/h": _unit("kilometer per hour", "公里每小时", "kilometers per hour"),
    "kph": _unit("kilometer per hour", "公里每小时", "kilometers per hour"),
    "mph": _unit("mile per hour", "英里每小时", "miles per hour"),
    "m/s": _unit("meter per second", "米每秒", "meters per second"),
    "km": _unit("kilometer", "公里"),
    "m": _unit("meter", "米"),
    "dm": _unit("decimeter", "分米"),
    "cm": _unit("centimeter", "厘米"),
    "mm": _unit("millimeter", "毫米"),
    "μm": _unit("micrometer", "微米"),
    "nm": _unit("nanometer", "纳米"),
    "km²": _unit("square kilometer", "平方公里"),
    "m²": _unit("square meter", "平方米"),
    "cm²": _unit("square centimeter", "平方厘米"),
    "m³": _unit("cubic meter", "立方米"),
    "cm³": _unit("cubic centimeter", "立方厘米"),
    "ft": _unit("foot", "英尺", "feet"),
    "mi": _unit("mile", "英里"),
    "lb": _unit("pound", "磅"),
    "lbs": _unit("pound", "磅"),
    "oz": _unit("ounce", "盎司"),
    "kg": _unit("kilogram", "千克"),
    "g": _unit("gram", "克"),
    "mg": _unit("milligram", "毫克"),
    "μg": _unit("microgram", "微克"),
    "L": _unit("liter", "升"),
    "ml": _unit("milliliter", "毫升"),
    "mL": _unit("milliliter", "毫升"),
    "h": _unit("hour", "小时"),
    "hr": _unit("hour", "小时"),
    "hrs": _unit("hour", "小时"),
    "min": _unit("minute", "分钟"),
    "mins": _unit("minute", "分钟"),
    "s": _unit("second", "秒"),
    "sec": _unit("second", "秒"),
    "secs": _unit("second", "秒"),
    "ms": _unit("millisecond", "毫秒"),
    "μs": _unit("microsecond", "微秒"),
    "ns": _unit("nanosecond", "纳秒"),
    "Hz": _unit("hertz", "赫兹", "hertz"),
    "kHz": _unit("kilohertz", "千赫兹", "kilohertz"),
    "MHz": _unit("megahertz", "兆赫兹", "megahertz"),
    "GHz": _unit("gigahertz", "吉赫兹", "gigahertz"),
    "W": _unit("watt", "瓦"),
    "kW": _unit("kilowatt", "千瓦"),
    "MW": _unit("megawatt", "兆瓦"),
    "Wh": _unit("watt hour", "瓦时"),
    "kWh": _unit("kilowatt hour", "千瓦时"),
    "V": _unit("volt", "伏"),
    "mV": _unit("millivolt", "毫伏"),
    "kV": _unit("kilovolt", "千伏"),
    "mA": _unit("milliampere", "毫安"),
    "mAh": _unit("milliampere hour", "毫安时"),
    "dB": _unit("decibel", "分贝"),
    "kPa": _unit("kilopascal", "千帕"),
    "MPa": _unit("megapascal", "兆帕"),
    "kcal": _unit("kilocalorie", "千卡"),
    "cal": _unit("calorie", "卡"),
    "kJ": _unit("kilojoule", "千焦"),
    "px": _unit("pixel", "像素"),
    "KB": _unit("kilobyte", ""),
    "kB": _unit("kilobyte", ""),
    "MB": _unit("megabyte", ""),
    "GB": _unit("gigabyte", ""),
    "TB": _unit("terabyte", ""),
    "Mbps": _unit("megabit per second", "兆比特每秒", "megabits per second"),
    "Gbps": _unit("gigabit per second", "吉比特每秒", "gigabits per second"),
    "kbps": _unit("kilobit per second", "千比特每秒", "kilobits per second"),
    "fps": _unit("frame per second", "帧每秒", "frames per second"),
    "rpm": _unit("revolution per minute", "转每分钟", "revolutions per minute"),
}


@dataclass(frozen=True, slots=True)
class Currency:
    """A currency's English words (with its hundredth, "" where it has none) and Chinese word."""

    one: str
    many: str
    cent: str
    cents: str
    zh: str


_DOLLAR = ("cent", "cents")
CURRENCIES: dict[str, Currency] = {
    "$": Currency("dollar", "dollars", *_DOLLAR, "美元"),
    "US$": Currency("US dollar", "US dollars", *_DOLLAR, "美元"),
    "USD": Currency("US dollar", "US dollars", *_DOLLAR, "美元"),
    "HK$": Currency("Hong Kong dollar", "Hong Kong dollars", *_DOLLAR, "港元"),
    "HKD": Currency("Hong Kong dollar", "Hong Kong dollars", *_DOLLAR, "港元"),
    "NT$": Currency("Taiwan dollar", "Taiwan dollars", *_DOLLAR, "新台币"),
    "A$": Currency("Australian dollar", "Australian dollars", *_DOLLAR, "澳元"),
    "C$": Currency("Canadian dollar", "Canadian dollars", *_DOLLAR, "加元"),
    "€": Currency("euro", "euros", *_DOLLAR, "欧元"),
    "EUR": Currency("euro", "euros", *_DOLLAR, "欧元"),
    "£": Currency("pound", "pounds", "penny", "pence", "英镑"),
    "GBP": Currency("pound", "pounds", "penny", "pence", "英镑"),
    "¥": Currency("yuan", "yuan", "", "", "元"),
    "RMB": Currency("yuan", "yuan", "", "", "元"),
    "CNY": Currency("yuan", "yuan", "", "", "元"),
    "JPY": Currency("yen", "yen", "", "", "日元"),
    "₹": Currency("rupee", "rupees", "", "", "卢比"),
    "₩": Currency("won", "won", "", "", "韩元"),
}


def alternatives(words: dict[str, Unit] | dict[str, Currency], *, without: str = "") -> str:
    """A regular expression's alternatives for the keys, longest first."""
    keys = sorted((k for k in words if k not in without.split()), key=len, reverse=True)
    return "|".join(re.escape(key) for key in keys)

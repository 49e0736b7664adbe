"""English abbreviations and symbols to words."""

import re

TITLES = {
    "Dr": "Doctor", "Mr": "Mister", "Mrs": "Missus", "Ms": "Ms", "Prof": "Professor",
    "Gen": "General", "Col": "Colonel", "Maj": "Major", "Capt": "Captain", "Lt": "Lieutenant",
    "Sgt": "Sergeant", "Gov": "Governor", "Sen": "Senator", "Rep": "Representative",
    "Rev": "Reverend", "Hon": "Honorable", "Mt": "Mount", "Fr": "Father", "Pres": "President",
}  # fmt: skip
"""Read only before a capital letter; they never end a sentence."""
INSIDE = {
    "e.g": "for example", "i.e": "that is", "vs": "versus", "cf": "compare", "viz": "namely",
    "approx": "approximately", "incl": "including", "esp": "especially", "misc": "miscellaneous",
    "est": "established", "dept": "department", "Dept": "Department", "Univ": "University",
    "a.k.a": "also known as",
}  # fmt: skip
"""Never end a sentence."""
MAY_END = {
    "etc": "et cetera", "Inc": "Incorporated", "Ltd": "Limited", "Co": "Company",
    "Corp": "Corporation", "Jr": "Junior", "Sr": "Senior", "Ave": "Avenue", "Blvd": "Boulevard",
    "Rd": "Road", "Bros": "Brothers", "al": "al", "Ph.D": "PhD", "M.D": "MD", "B.A": "BA",
    "a.m": "AM", "p.m": "PM", "A.M": "AM", "P.M": "PM",
    "Jan": "January", "Feb": "February", "Mar": "March", "Apr": "April", "Jun": "June",
    "Jul": "July", "Aug": "August", "Sept": "September", "Sep": "September", "Oct": "October",
    "Nov": "November", "Dec": "December",
}  # fmt: skip
"""May end a sentence: the next word tells."""
BEFORE_NUMBER = {
    "No": "number", "no": "number", "Nos": "numbers", "Fig": "figure", "fig": "figure",
    "Figs": "figures", "Vol": "volume", "vol": "volume", "Ch": "chapter", "ch": "chapter",
    "Sec": "section", "sec": "section", "p": "page", "pp": "pages", "Eq": "equation",
    "eq": "equation", "Art": "article", "Pt": "part", "c": "circa", "ca": "circa",
    "Lv": "level", "lv": "level", "Ver": "version", "ver": "version",
    "Ep": "episode", "ep": "episode", "Apt": "Apartment", "apt": "apartment", "Ste": "Suite",
}  # fmt: skip
"""Abbreviations only before a digit."""
STARTERS = frozenset(
    [
        "A",
        "After",
        "All",
        "Although",
        "An",
        "And",
        "Are",
        "As",
        "At",
        "Because",
        "Before",
        "But",
        "By",
        "Can",
        "Did",
        "Do",
        "Does",
        "During",
        "Each",
        "Every",
        "For",
        "From",
        "He",
        "Her",
        "Here",
        "His",
        "How",
        "However",
        "I",
        "If",
        "In",
        "Is",
        "It",
        "Its",
        "Let",
        "Many",
        "Most",
        "My",
        "No",
        "Now",
        "On",
        "Once",
        "One",
        "Only",
        "Our",
        "People",
        "Please",
        "She",
        "Since",
        "So",
        "Some",
        "That",
        "The",
        "Their",
        "Then",
        "There",
        "These",
        "They",
        "This",
        "Those",
        "Today",
        "Tomorrow",
        "Two",
        "Was",
        "We",
        "Were",
        "What",
        "When",
        "Where",
        "Which",
        "While",
        "Who",
        "Why",
        "Will",
        "With",
        "Yes",
        "Yesterday",
        "You",
        "Your",
    ]
)
"""Capitalised words that seldom follow an abbreviation inside a sentence."""


def _any(table: dict[str, str]) -> str:
    return "|".join(re.escape(key) for key in sorted(table, key=len, reverse=True))


_TITLE = re.compile(rf"\b({_any(TITLES)})\.(?=\s*(?:[A-Z]|and ))")
_SAINT = re.compile(
    r"(?<![A-Z]\w )\bSt\.(?=\s+[A-Z])(?<!\w{3} St\.)|(?:^|(?<=[Ii]n )|(?<=of ))St\.(?=\s+[A-Z])"
)
_STREET = re.compile(r"\bSt\.(?!\s+[A-Z])")
_INSIDE = re.compile(rf"(?<![\w.])({_any(INSIDE)})\.(?![A-Za-z])")
_MAY_END = re.compile(rf"(?<![\w.])({_any(MAY_END)})\.(?=(\s+[A-Z][a-z]*|\s*$)?)(?![A-Za-z])")
_BEFORE_NUMBER = re.compile(rf"(?<![\w.])({_any(BEFORE_NUMBER)})\.\s?(?=\d)")
_HASH_NUMBER = re.compile(r"(?<!\w)#\s?(?=\d)")
_INITIALS = re.compile(r"(?<![\w.])((?:[A-Z]\.){2,8}(?:[A-Z](?!\w))?)(?=(\s+[A-Z][a-z]*|\s*$)?)")
_INITIAL = re.compile(r"(?<![\w.'])([A-Z])\.(?=\s*[A-Z][a-z'.])")
_WITH = re.compile(r"(?<!\w)w/(o?)(?!\w)\s?|(?<!\w)w/(?=\w)")


def _keeps_stop(follows: str | None) -> bool:
    return follows is not None and (not follows.strip() or follows.strip() in STARTERS)


def _may_end(match: re.Match[str]) -> str:
    return MAY_END[match[1]] + ("." if _keeps_stop(match[2]) else "")


def _initials(match: re.Match[str]) -> str:
    return match[1].replace(".", "") + ("." if _keeps_stop(match[2]) else "")


def expand_before_numbers(text: str) -> str:
    """Abbreviations that a number follows; must run while the digits still stand."""
    text = _BEFORE_NUMBER.sub(lambda match: f"{BEFORE_NUMBER[match[1]]} ", text)
    return _HASH_NUMBER.sub("number ", text)


def expand(text: str) -> str:
    """Titles, abbreviations and dotted initials to words or letters."""
    text = _TITLE.sub(lambda match: TITLES[match[1]], text)
    text = _STREET.sub("Street", _SAINT.sub("Saint", text))
    text = _INSIDE.sub(lambda match: INSIDE[match[1]], text)
    text = _MAY_END.sub(_may_end, text)
    text = _INITIALS.sub(_initials, text)
    text = _INITIAL.sub(r"\1", text)
    return _WITH.sub(lambda match: " without " if match[1] else " with ", text)


_SYMBOL_WORDS = {
    "&": "and", "+": "plus", "=": "equals", "@": "at", "%": "percent", "‰": "per mille",
    "×": "times", "÷": "divided by", "±": "plus or minus", "≈": "approximately",
    "≤": "less than or equal to", "≥": "greater than or equal to", "≠": "does not equal",
    "∞": "infinity", "√": "square root of", "§": "section", "°": "degrees", "²": "squared",
    "³": "cubed", "→": "to", "⇒": "implies", "¢": "cents", "∼": "about",
}  # fmt: skip
_SYMBOL = re.compile("[" + re.escape("".join(_SYMBOL_WORDS)) + "]")
_SLASH = re.compile(r"(?<=\w) ?/ ?(?=\w)")
_TIMES = re.compile(r"(?<=\w) {0,3}\*{1,2} {0,3}(?=\w)")
_PER_UNIT = re.compile(r"(?<=[a-z]) /(mo|yr|wk|hr|h|min|sec|s|kg|lb|oz)\b")
_PER_NAMES = {
    "mo": "month", "yr": "year", "wk": "week", "hr": "hour", "h": "hour", "min": "minute",
    "sec": "second", "s": "second", "kg": "kilogram", "lb": "pound", "oz": "ounce",
}  # fmt: skip
_EITHER = re.compile(r"(?i)\b(and)/(?=or\b)|\b(s?he|his|him)/(?=(?:she|hers?|they|he)\b)")
_PER = re.compile(r" {0,2}/ ?(?=(?:second|minute|hour|day|night|week|month|year|person|user)\b)")
_POWER = re.compile(r"(?<=\w) ?\^ ?(?=\w)")
_LESS = re.compile(r"(?<=\w) +< *(?=\w)|(?<=\w) ?< (?=\w)")
_MORE = re.compile(r"(?<=\w) +> *(?=\w)|(?<=\w) ?> (?=\w)")
_ABOUT = re.compile(r"(?<!\w)~(?= ?\w)")
_SHARP = re.compile(r"(?<![A-Za-z])([A-G])#(?!\w)")
_HASHTAG = re.compile(r"(?<!\w)#(?=[A-Za-z])")
_PIPE = re.compile(r"\s*\|[\s|]*")


def name_symbols(text: str) -> str:
    """Symbols that are read; the others are left to be taken out."""
    text = _EITHER.sub(lambda match: f"{match[1]} " if match[1] else f"{match[2]} or ", text)
    text = _PER_UNIT.sub(lambda match: f" per {_PER_NAMES[match[1]]}", text)
    text = _PER.sub(" per ", text)
    text = _SLASH.sub(" slash ", _TIMES.sub(" times ", text))
    text = _POWER.sub(" to the power of ", text)
    text = _MORE.sub(" greater than ", _LESS.sub(" less than ", text))
    text = _SHARP.sub(r"\1 sharp", text)
    text = _HASHTAG.sub("hashtag ", _ABOUT.sub(" about ", text))
    text = _PIPE.sub(", ", text)
    return _SYMBOL.sub(lambda match: f" {_SYMBOL_WORDS[match[0]]} ", text)

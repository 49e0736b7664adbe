"""From a piece of received text to the characters that are to be read.

Takes away, keeping each character's place: ChatTTS control tokens, Markdown
(headings, emphasis, lists, quotes, rules, tables, code marks, links and images
down to their text), HTML tags and entities, emoji and invisible characters.
Every pattern is linear: repeated classes are disjoint from what follows them,
or bounded.
"""

import re

from tts.text.characters import fold
from tts.text.controls import CONTROL_PATTERN
from tts.text.links import DANGLING_TARGET, IMAGE_IN_LINK, LINK
from tts.text.tracked import TrackedText

_FENCE = re.compile(r"^[ \t]{0,12}(?:`{3,40}|~{3,40})[^\n`]*$", re.MULTILINE)
_RULE = re.compile(r"^[ \t|:+=_*\-]{3,500}$", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]{0,12}(?:>[ \t]?){1,8}", re.MULTILINE)
_HEADING = re.compile(r"^[ \t]{0,12}#{1,6}[ \t]+", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]{0,40}[-*+•‣◦▪●○◆■–—][ \t]+(?:\[[ xX]\][ \t]+)?(?=\S)", re.MULTILINE)
_NUMBERED = re.compile(r"^([ \t]{0,40}\d{1,3})[.)](?=[ \t])", re.MULTILINE)
_TAG_NAMES = (
    "a|abbr|article|audio|b|blockquote|body|br|center|cite|code|dd|del|details|div|dl|dt|em|"
    "figure|font|footer|h[1-6]|head|header|hr|html|i|img|ins|kbd|li|main|mark|nav|ol|p|pre|q|s|"
    "samp|section|small|span|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|tt|u|ul|video"
)
_TAG = re.compile(
    rf"</?(?:{_TAG_NAMES})(?:[ \t\n]+[\w:-]{{1,40}}"
    r"(?:=(?:\"[^\"<>]{0,500}\"|'[^'<>]{0,500}'))?){0,20}[ \t\n]?/?>",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--[^<>]{0,500}-->")
_ENTITY = re.compile(r"&(amp|lt|gt|quot|apos|nbsp|ndash|mdash|hellip|#39|#34);")
_ENTITIES = {
    "amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'", "nbsp": " ",
    "ndash": "–", "mdash": "—", "hellip": "…", "#39": "'", "#34": '"',
}  # fmt: skip
_EMPHASIS = re.compile(
    r"(?<![\d*])\*{1,3}(?=[^\s*])|(?<=[^\s*])\*{1,3}(?![\d*])"
    r"|(?<![\w])_{1,3}(?=[^\s_])|(?<=[^\s_])_{1,3}(?![\w])|~~|`{1,40}"
)
_ESCAPE = re.compile(r"\\(?=[*_`#\[\]()~>|.!-])")


def clean(piece: str, offset: int, *, line_start: bool) -> TrackedText:
    """The characters of `piece` that are to be read, tied to their places.

    `offset` is where the piece begins in the original; `line_start` whether
    it begins a line, for the marks that mean something only there.
    """
    text = TrackedText.of(piece, offset)
    if "[" in piece:
        targets = [match.span() for match in DANGLING_TARGET.finditer(piece)]

        def between_links(match: re.Match[str]) -> str | None:
            return None if any(a < match.start() < b for a, b in targets) else " "

        text = text.sub(CONTROL_PATTERN, between_links)
        text = text.sub(IMAGE_IN_LINK, "").keep_group(LINK).keep_group(LINK)
        text = text.sub(DANGLING_TARGET, " ")
    elif "](" in piece:
        text = text.sub(DANGLING_TARGET, " ")
    if "<" in piece:
        text = text.sub(_COMMENT, " ").sub(_TAG, " ")
    if "&" in piece:
        text = text.sub(_ENTITY, lambda match: _ENTITIES[match[1]])
    text = _clean_lines(text, line_start=line_start)
    return text.sub(_ESCAPE, "").sub(_EMPHASIS, "").map(fold)


def _clean_lines(text: TrackedText, *, line_start: bool) -> TrackedText:
    def at_line_start(match: re.Match[str]) -> str | None:
        return "" if line_start or match.start() else None

    def number(match: re.Match[str]) -> str | None:
        return f"{match[1]}," if line_start or match.start() else None

    for pattern in (_FENCE, _RULE, _QUOTE, _HEADING, _BULLET, _HEADING):
        text = text.sub(pattern, at_line_start)
    return text.sub(_NUMBERED, number)


def is_speakable(text: str) -> bool:
    """Whether anything of a text can be heard: a letter or a digit outside of mark-up.

    Empty and blank text, punctuation, emoji and control tokens are silent.
    """
    return any(c.isalnum() for c in clean(text, 0, line_start=True).text)

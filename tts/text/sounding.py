"""Whether text goes on with something that is heard, before its next piece is decided."""

import re

from tts.text.controls import CONTROL_PATTERN

_HEARD = "A-Za-z0-9\u3400-\u4dbf\u4e00-\u9fff"
# Without what may begin mark-up whose letters are silent: tags, entities, fences, targets.
_SILENT = re.compile(
    rf"(?:[^{_HEARD}<\[\]`~&\\]+|{CONTROL_PATTERN.pattern})*", re.IGNORECASE | re.ASCII
)
_NEXT = re.compile(rf"(?:`(?!`)|~(?!~))?[{_HEARD}]")


def heard_after(text: str, at: int) -> tuple[bool, int]:
    """Whether `text[at:]` is certain to be heard, whatever follows it; and where to look again.

    Up to there it makes no sound. False where it is not certain yet.
    """
    silent = _SILENT.match(text, at)
    end = silent.end() if silent else at
    return _NEXT.match(text, end) is not None, end

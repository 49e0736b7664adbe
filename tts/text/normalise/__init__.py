"""Written text to words as they are spoken, a module for each language.

`normalise(text, language)` takes the folded text of one language span. What
comes out holds, for English, ASCII letters, spaces, "'", "-" and `.,!?;:`; for
Chinese, Han characters and `，。！？；：、` (a Latin letter that no rule knows
stays). Digits, symbols, brackets and quotes never come out, so that an engine's
vocabulary need not know them.
"""

from tts.text.normalise import english, mandarin
from tts.text.segment import Language


def normalise(text: str, language: Language) -> str:
    """The words of `text`; "" when nothing of it is spoken."""
    if language is Language.ZH:
        return mandarin.normalise(text)
    return english.normalise(text)


def warm_up() -> None:
    """Load what the first call would wait for (0.3-0.6 s: the Chinese grammars); idempotent."""
    mandarin.warm_up()

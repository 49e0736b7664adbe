"""Text to Kokoro's phonemes: English as hibari writes it, Mandarin as misaki does.

Dictionaries are read once a process, by whoever needs them first; all functions
may be called from any thread.
"""

import logging
import re
import threading
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Protocol

from tts.engines.homophones import HAN, readable
from tts.text.segment import Language

_HAN_OR_REST = re.compile(rf"[{HAN}]+|[^{HAN}]+")
_PAUSES = str.maketrans("，、。．！？；：", ",,..!?;:")
_PAUSE = re.compile(r"[,.!?;:]")
_TONES = (("˧˩˧", "↓"), ("˧˥", "↗"), ("˥˩", "↘"), ("˥", "→"), ("ɻ̩", "ɨ"), ("ɹ̩", "ɨ"), ("̯", ""))
_BORDERS = tuple(re.compile(rf"{marks}[”\")]*\s+") for marks in (r"[.!?…]", r"[,;:—]", ""))
_LEAST_SHARE = 0.6


class Phonemiser(Protocol):
    """Reads text in one language."""

    def __call__(self, text: str) -> list[str]:
        """The phonemes of each sentence of `text`; those without any are left out."""


def phonemiser(language: Language, *, british: bool = False) -> Phonemiser:
    """The reader of `language`, loaded when first asked for (English 0.5 s, Mandarin 0.8 s)."""
    return _READERS[language, british and language is Language.EN].get()


class EnglishPhonemiser:
    """American or British English by hibari: dictionary, part of speech, a net for the rest."""

    def __init__(self, *, british: bool) -> None:
        from hibari import Hibari
        from hibari.g2p import G2P

        self._sentences = Hibari.split_sentences
        self._g2p = G2P(british=british)
        # A word that is in no dictionary: it loads the net, which is lazy and not locked.
        self._g2p("Voicehostly.")

    def __call__(self, text: str) -> list[str]:
        read = (str(self._g2p(sentence)) for sentence in self._sentences(text))
        return [phonemes for phonemes in read if phonemes]


class MandarinPhonemiser:
    """Mandarin as in misaki 0.9.4 `ZHG2P`, with which Kokoro v1.0 was trained.

    Words by jieba, syllables by pypinyin, their sounds by misaki's table, tones
    as arrows. misaki's own class is not used: it imports cn2an, whose work (digits)
    is done long before. Only Han and marks are read, everything else is a pause; Han
    without a known reading is read as what sounds the same (`homophones`).
    """

    def __init__(self) -> None:
        _quiet_jieba()
        import jieba

        # `initialize` would share a cache file in the system's temporary folder with
        # every other process; building from the dictionary takes 0.5 s longer.
        self._words = jieba.Tokenizer()
        self._words.FREQ, self._words.total = self._words.gen_pfdict(self._words.get_dict_file())
        self._words.initialized = True
        self("你好")

    def __call__(self, text: str) -> list[str]:
        pieces = [self._piece(piece) for piece in _HAN_OR_REST.findall(text.translate(_PAUSES))]
        phonemes = "".join(pieces).strip()
        return [phonemes] if phonemes.strip(" ,.!?;:") else []

    def _piece(self, piece: str) -> str:
        if not re.match(rf"[{HAN}]", piece):
            pause = _PAUSE.search(piece)
            return f"{pause[0]} " if pause else " "
        return " ".join(_word_sounds(word) for word in self._words.cut(readable(piece)))


class _Lazy:
    """A reader that the first who needs it loads, while the others wait."""

    def __init__(self, load: Callable[[], Phonemiser]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._reader: Phonemiser | None = None

    def get(self) -> Phonemiser:
        with self._lock:
            if self._reader is None:
                self._reader = self._load()
            return self._reader


_READERS = {
    (Language.EN, False): _Lazy(lambda: EnglishPhonemiser(british=False)),
    (Language.EN, True): _Lazy(lambda: EnglishPhonemiser(british=True)),
    (Language.ZH, False): _Lazy(MandarinPhonemiser),
}


def _quiet_jieba() -> None:
    """jieba logs every load to standard error, and its source has invalid escapes."""
    for category in (DeprecationWarning, SyntaxWarning):
        # By path, since the compiler knows no module name.
        warnings.filterwarnings("ignore", category=category, module=r".*\bjieba\b.*")
    import jieba

    jieba.setLogLevel(logging.WARNING)
    jieba.default_logger.removeHandler(jieba.log_console)


def _word_sounds(word: str) -> str:
    from pypinyin import Style, lazy_pinyin

    # Within a word the reading of a character follows from its neighbours (银行, 行走).
    syllables = lazy_pinyin(word, style=Style.TONE3, neutral_tone_with_five=True)
    return "".join(_syllable_sounds(syllable) for syllable in syllables)


@lru_cache(maxsize=2048)
def _syllable_sounds(syllable: str) -> str:
    from misaki.transcription import pinyin_to_ipa

    sounds = "".join("".join(part) for part in pinyin_to_ipa(syllable)[0])
    for written, arrow in _TONES:
        sounds = sounds.replace(written, arrow)
    return sounds


def split_phonemes(phonemes: str, limit: int) -> list[str]:
    """Parts of at most `limit` characters and about equal length, cut at word borders.

    The end of a sentence is the best border, then a pause, then a space; a word
    longer than `limit` is cut through. Raises ValueError for a limit under 1.
    """
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    parts: list[str] = []
    rest = phonemes.strip()
    while len(rest) > limit:
        cut = _border(rest, limit)
        parts.append(rest[:cut].strip())
        rest = rest[cut:].strip()
    return [part for part in (*parts, rest) if part]


def _border(text: str, limit: int) -> int:
    aim = len(text) / -(-len(text) // limit)
    for pattern in _BORDERS:
        ends = [match.end() for match in pattern.finditer(text)]
        # The space itself does not count: it is stripped.
        near = [end for end in ends if aim * _LEAST_SHARE <= len(text[:end].rstrip()) <= limit]
        if near:
            return min(near, key=lambda end: abs(end - aim))
    return limit

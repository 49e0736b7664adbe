"""`tts.text` as the splitter of requests."""

from collections.abc import Iterator
from dataclasses import replace

from tts.engines.chattts import ENGINE as CHATTTS
from tts.text.segment import Language, Segment
from tts.text.split import Segmenter, iter_segments
from tts.text.split_config import SplitConfig, SplitMode
from tts.text.validate import text_validate

LATER_MIN_CHARS = {CHATTTS: 75}
"""Engines that speak short texts badly: about five seconds, or 21 Chinese characters."""


class PlatformSplitter:
    """Splits and normalises as the platform does everywhere."""

    def check(self, text: str, max_characters: int) -> None:
        """Raise the TextError that the text earns."""
        text_validate(text, max_characters)

    def segments(
        self, text: str, language: str | None, split: SplitConfig | None, engine: str
    ) -> Iterator[Segment]:
        """The segments of a whole text, made as they are asked for."""
        return iter_segments(text, _language(language), _for_engine(split, engine))

    def feed(self, language: str | None, split: SplitConfig | None, engine: str) -> Segmenter:
        """A splitter for text that arrives in pieces."""
        return Segmenter(_for_engine(split, engine), _language(language))


def _for_engine(split: SplitConfig | None, engine: str) -> SplitConfig:
    """`split`, or the default, with what the engine wants; who asks for clauses gets them."""
    split = split or SplitConfig()
    least = LATER_MIN_CHARS.get(engine, 0)
    if split.mode is SplitMode.CLAUSE or split.later_min_chars >= least:
        return split
    return replace(split, later_min_chars=least)


def _language(name: str | None) -> Language | None:
    return None if name is None else Language(name)

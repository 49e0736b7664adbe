"""`tts.text` as the splitter of requests."""

from collections.abc import Iterator

from tts.text.segment import Language, Segment
from tts.text.split import Segmenter, iter_segments
from tts.text.split_config import SplitConfig
from tts.text.validate import text_validate


class PlatformSplitter:
    """Splits and normalises as the platform does everywhere."""

    def check(self, text: str, max_characters: int) -> None:
        """Raise the TextError that the text earns."""
        text_validate(text, max_characters)

    def segments(
        self, text: str, language: str | None, split: SplitConfig | None
    ) -> Iterator[Segment]:
        """The segments of a whole text, made as they are asked for."""
        return iter_segments(text, _language(language), split)

    def feed(self, language: str | None, split: SplitConfig | None) -> Segmenter:
        """A splitter for text that arrives in pieces."""
        return Segmenter(split, _language(language))


def _language(name: str | None) -> Language | None:
    return None if name is None else Language(name)

"""Who asks for what, and how."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from tenants.principal import Principal
from tts.speech.order import SpeechOrder
from tts.speech.text import TextPiece
from tts.text.split_config import SplitConfig


@dataclass(frozen=True, slots=True)
class SpeechAsk:
    """Who asks for what, by which transport; `received` is a time of the service's clock."""

    principal: Principal
    order: SpeechOrder
    request_id: str
    transport: str
    received: float
    text: str | AsyncIterator[TextPiece] = field(repr=False)
    split: SplitConfig | None = None

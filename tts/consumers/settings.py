"""The settings of a socket's session and what `session.update` does to them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
from msgspec import UNSET

from coordination.clipping import clipped
from tts.audio.format import AudioFormat
from tts.consumers.protocol import AudioTransport, SessionUpdate
from tts.speech.errors import InvalidParameter
from tts.speech.order import SpeechOrder, order_from_mapping
from tts.speech.plan import CREDIT_SECONDS
from tts.text.split_config import SplitConfig, SplitMode

_ORDER_FIELDS = (
    "model",
    "voice",
    "response_format",
    "sample_rate",
    "speed",
    "language",
    "seed",
    "quality_tier",
    "instructions",
)
# Containers whose bytes mean something in pieces without a whole file around them.
STREAMABLE = (AudioFormat.PCM, AudioFormat.MP3, AudioFormat.OPUS, AudioFormat.AAC)


@dataclass(frozen=True, slots=True)
class SocketLimits:
    """What one socket may do; told to the client in `session.created`.

    `buffer_characters`: text of one context that may wait to be spoken.
    `contexts`: contexts that may be open at once; with base64 audio,
    `parallel_contexts` of them speak at the same time, else one. `errors`: refusals of its
    own making (see `violations`) that end it; each message that is taken makes up for one.
    """

    message_bytes: int = 65_536
    buffer_characters: int = 8_000
    contexts: int = 16
    parallel_contexts: int = 4
    idle_seconds: float = 60.0
    unsent_audio_seconds: float = float(CREDIT_SECONDS)
    errors: int = 20


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """The settings that the next context begins with; `values` are as the client gave them."""

    values: Mapping[str, Any] = field(
        default_factory=lambda: {"model": "tts-1", "voice": "alloy", "response_format": "pcm"}
    )
    transport: AudioTransport = AudioTransport.BINARY
    max_buffer_delay_ms: int = 3000
    split: SplitConfig = field(default_factory=SplitConfig)

    def order(self) -> SpeechOrder:
        """The settings as an order; raises the errors of `order_from_mapping`."""
        order = order_from_mapping(self.values)
        if order.format not in STREAMABLE:
            allowed = ", ".join(item.value for item in STREAMABLE)
            raise InvalidParameter(
                f"Invalid value for 'response_format': a socket sends {allowed}.",
                param="response_format",
            )
        return order

    def updated(self, update: SessionUpdate) -> "SessionSettings":
        """These settings with `update` applied; raises when the result is not valid."""
        given = {name: getattr(update, name) for name in _ORDER_FIELDS}
        defaults = SessionSettings().values
        values = {
            **self.values,
            **{k: defaults.get(k) if v is None else v for k, v in given.items() if v is not UNSET},
        }
        settings = replace(
            self,
            values=values,
            split=self._split_updated(update),
            transport=_or_default(update.audio_transport, self.transport, AudioTransport.BINARY),
            max_buffer_delay_ms=_or_default(
                update.max_buffer_delay_ms, self.max_buffer_delay_ms, 3000
            ),
        )
        settings.order()
        return settings

    def _split_updated(self, update: SessionUpdate) -> SplitConfig:
        default = SplitConfig()
        mode = _or_default(update.split, self.split.mode, default.mode)
        first = _or_default(
            update.first_chunk_chars, self.split.first_max_chars, default.first_max_chars
        )
        try:
            return SplitConfig(
                mode=SplitMode(mode),
                first_max_chars=min(first, default.max_chars),
                min_chars=min(default.min_chars, first),
            )
        except ValueError:
            allowed = ", ".join(SplitMode)
            raise InvalidParameter(
                f"Invalid value for 'split': {clipped(mode)}; allowed are {allowed}.", param="split"
            ) from None

    def describe(self) -> dict[str, Any]:
        """The settings as the server reports them."""
        order = self.order()
        return {
            "model": order.model,
            "voice": order.voice,
            "response_format": order.format.value,
            "sample_rate": order.output_rate,
            "speed": order.speed,
            "language": order.language,
            "seed": order.seed,
            "quality_tier": order.quality_tier,
            "instructions": order.instructions or None,
            "audio_transport": self.transport.value,
            "max_buffer_delay_ms": self.max_buffer_delay_ms,
            "split": self.split.mode.value,
            "first_chunk_chars": self.split.first_max_chars,
        }


def limits_describe(limits: SocketLimits) -> dict[str, Any]:
    """The limits as the server reports them."""
    return msgspec.to_builtins(limits)  # type: ignore[no-any-return]  # a dict, for a dataclass


def _or_default(value: Any, current: Any, default: Any) -> Any:
    if value is UNSET:
        return current
    return default if value is None else value


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """What a context was begun with; later `session.update`s do not touch it."""

    order: SpeechOrder
    transport: AudioTransport
    max_buffer_delay: float
    buffer_characters: int
    idle_seconds: float
    split: SplitConfig

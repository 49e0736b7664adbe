"""What a request needs from the rest of the platform, as protocols.

`voicehost.wiring` gives the real ones; whole requests are tested without Redis
or a database behind them.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

from models_registry.selectors import RoutedVersion
from tenants.principal import Principal, TierSpec
from tenants.reservation import Reservation
from tts.engine.request import VoiceSpec
from tts.text.segment import Segment
from tts.text.split_config import SplitConfig


class Limiter(Protocol):
    """The tenants' limits: `tenants.limits.Limiter`."""

    async def reserve(
        self, *, principal: Principal, tier: TierSpec, request_id: str, characters: int
    ) -> Reservation:
        """Hold a slot and `characters`; raises a TenantError with `retry_after`."""

    async def extend(self, reservation: Reservation, *, characters: int) -> Reservation:
        """Hold `characters` more for text that came later; raises as `reserve` does."""

    async def renew(self, reservation: Reservation) -> bool:
        """Keep the slot of a request that is still running."""

    async def settle(self, reservation: Reservation, characters_spoken: int) -> bool:
        """Give the slot back, and what was not spoken."""


class RouteLeases(Protocol):
    """Counts the requests on each version: `models_registry.leases.RouteLeases`."""

    async def acquire(self, version: str, request_id: str) -> object:
        """Count the request; it expires unless renewed."""

    async def renew(self, version: str, request_ids: Collection[str]) -> frozenset[str]:
        """Keep them counted; returns those that were no longer."""

    async def release(self, version: str, request_id: str) -> object:
        """Count it no more."""


class Directory(Protocol):
    """Reads of keys, routes and voices, as of the configuration in force."""

    async def authenticate(self, secret: str) -> Principal:
        """Whose key or token `secret` is; raises an authentication error."""

    async def authenticate_again(self, principal: Principal) -> Principal:
        """The same caller as things are now; raises once its key is no longer good."""

    async def route(self, model: str, principal: Principal) -> RoutedVersion:
        """The version for `model`; raises RouteNotFound."""

    async def voice(self, name: str, *, tenant_id: str, engine: str) -> VoiceSpec:
        """The voice called `name`; raises an error when the tenant has none."""

    async def voices_speaking(self, language: str, *, tenant_id: str, engine: str) -> Sequence[str]:
        """Names of voices that speak `language`."""

    async def epoch(self) -> str:
        """The configuration's epoch, as this process last saw it."""


class Feed(Protocol):
    """Splits text that arrives in pieces."""

    def append(self, text: str) -> Sequence[Segment]:
        """Take more text; returns the segments that are certain now."""

    def flush(self) -> Sequence[Segment]:
        """The rest of what came, as segments; more text may follow."""

    def flush_words(self) -> Sequence[Segment]:
        """`flush`, without a last word that may go on."""


class TextSplitter(Protocol):
    """Turns text into segments; called in threads only."""

    def check(self, text: str, max_characters: int) -> None:
        """Raise a TextError when `text` cannot be spoken at all or is too long."""

    def segments(
        self, text: str, language: str | None, split: SplitConfig | None, engine: str
    ) -> Iterator[Segment]:
        """The segments of a whole text, made as they are asked for."""

    def feed(self, language: str | None, split: SplitConfig | None, engine: str) -> Feed:
        """A splitter for text that arrives in pieces."""

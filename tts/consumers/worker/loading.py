"""Between the engines of a worker and what makes them: values and protocols.

VersionUnavailable
└── NoRoom  there is no memory for an engine now; nothing is wrong with it
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tts.engine.config import BatchingConfig
from tts.engine.errors import EngineError, VersionUnavailable
from tts.engine.request import Profile
from tts.engines.base import SpeechEngine

EngineKey = tuple[str, Profile]


class NoRoom(VersionUnavailable):
    """There is no memory for an engine now; nothing is wrong with it."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version that some route gives weight to. `source` is the loader's own.

    `numbers` has the profiles that are loaded in another's number formats.
    """

    key: str
    batching: BatchingConfig
    source: object
    numbers: Mapping[Profile, Profile] = field(default_factory=dict)


class EngineLoader(Protocol):
    """Makes engines, and knows what of them is in memory.

    `load`, `retain` and `shrink` are called in the loader's thread and may take long, the others
    in any thread; they return at once.
    """

    evict: Callable[[EngineKey], None]
    """Called in the loader's thread to have an engine taken out, for the memory that it holds;
    returns once it is closed, else raises."""

    def load(self, version: Version, profile: Profile, *, demanded: bool) -> SpeechEngine:
        """Load; raises EngineError, NoRoom among them.

        Where it is not `demanded` by a request, no version that has weight makes room for it.
        """

    def settled(self, key: EngineKey) -> None:
        """The engine is in use: from now on it is idle without leases."""

    def closed(self, key: EngineKey) -> None:
        """The engine was closed."""

    def lease(self, key: EngineKey) -> bool:
        """Keep an engine for a request; False where it is about to be taken out."""

    def release(self, key: EngineKey) -> None:
        """The request is over."""

    def prefer(self, versions: Collection[str]) -> None:
        """These versions have weight: others make room before them."""

    def retain(self, versions: Collection[str]) -> None:
        """Forget what only versions other than these needed."""

    def shrink(self) -> None:
        """Make room where the device has more in use than it should."""


class EngineListener(Protocol):
    """Who waits for engines (the intake)."""

    def engine_ready(self, version: str, profile: Profile) -> None: ...

    def engine_failed(self, version: str, profile: Profile, error: EngineError) -> None: ...

    def count(self, version: str) -> int: ...

"""Between the engines of a worker and what makes them: values and protocols."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tts.engine.config import BatchingConfig
from tts.engine.errors import EngineError
from tts.engine.request import Profile
from tts.engines.base import SpeechEngine


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
    """Makes engines; called in the loader's thread."""

    def load(self, version: Version, profile: Profile) -> SpeechEngine:
        """Load; raises EngineError."""

    def retain(self, versions: Collection[str]) -> None:
        """Forget what only versions other than these needed."""


class EngineListener(Protocol):
    """Who waits for engines (the intake)."""

    def engine_ready(self, version: str, profile: Profile) -> None: ...

    def engine_failed(self, version: str, profile: Profile, error: EngineError) -> None: ...

    def count(self, version: str) -> int: ...

"""What a worker tells of itself: read by heartbeats, readiness and the dashboard."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tts.engine.request import Priority


@dataclass(frozen=True, slots=True)
class EngineStats:
    """One engine: `resident` utterances of `slots`, `requests` that use it, whether it broke."""

    version: str
    profile: str
    requests: int
    resident: int
    slots: int
    broken: bool = False


@dataclass(frozen=True, slots=True)
class CoreStats:
    """A moment of the core. `waiting` requests had no turn yet, `active` ones did.

    `free` counts places where one more request could compute at once, over all
    engines: slots of STEP engines, lanes of the others. `depth` is `waiting` by
    priority, `leases` the requests not yet ended by version: zero is drained.
    """

    waiting: int = 0
    active: int = 0
    free: int = 0
    draining: bool = False
    depth: Mapping[Priority, int] = field(default_factory=dict)
    leases: Mapping[str, int] = field(default_factory=dict)
    engines: tuple[EngineStats, ...] = ()

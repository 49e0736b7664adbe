"""What shards become in memory, who holds it, and what all of it takes. Not thread-safe."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from models_registry.shards.eviction import Candidate, Holding

Evict = Callable[[], None]
"""Called to have a holder let go, from the thread that needs room; returns once it has."""


@dataclass(frozen=True, slots=True)
class ResidentKey:
    """What a resident is made of: the sha256 of each of its shards, in order, and how.

    Equal shards make equal residents, whatever versions they belong to. `owner` is blank,
    or the name of the only holder that may use it (a cache, for example).
    """

    digests: tuple[str, ...]
    transform: str
    owner: str = ""

    def __str__(self) -> str:
        parts = [self.transform, *(digest[:12] for digest in self.digests)]
        return ":".join([*parts, self.owner] if self.owner else parts)


class ResidentState(StrEnum):
    """BUILDING: bytes are reserved for it. LEAVING: planned for eviction, nobody may take it."""

    BUILDING = "building"
    RESIDENT = "resident"
    LEAVING = "leaving"


@dataclass(slots=True, eq=False)
class Resident:
    """An object in memory. `size` is reserved while it is built, and measured afterwards."""

    key: ResidentKey
    size: int
    state: ResidentState = ResidentState.BUILDING
    value: object = None
    holders: set[str] = field(default_factory=set)
    loaded_at: float = 0.0
    used_at: float = 0.0
    reload_seconds: float = 0.0


@dataclass(slots=True, eq=False)
class Holder:
    """An engine that holds residents, and the leases of requests on it.

    `demanded`: requests wait for it. `reserved` bytes are kept for what it is still to build.
    `settled`: it has all that it needs; before that it is busy whatever its leases.
    """

    name: str
    evict: Evict
    preferred: bool
    demanded: bool
    used_at: float
    reserved: int = 0
    leases: int = 0
    settled: bool = False
    leaving: bool = False

    @property
    def busy(self) -> bool:
        """Whether nothing that it holds may be evicted."""
        return self.leases > 0 or not self.settled or self.leaving


class ResidentTable:
    """Residents and holders; `accounted` are the bytes of all residents and reservations."""

    def __init__(self) -> None:
        self._residents: dict[ResidentKey, Resident] = {}
        self._holders: dict[str, Holder] = {}
        self.accounted = 0

    def __iter__(self) -> Iterator[Resident]:
        return iter(list(self._residents.values()))

    def __contains__(self, key: ResidentKey) -> bool:
        return key in self._residents

    def get(self, key: ResidentKey) -> Resident | None:
        """The resident, in whatever state."""
        return self._residents.get(key)

    def add(self, key: ResidentKey) -> Resident:
        """A resident that is to be built; it has no bytes yet."""
        resident = self._residents[key] = Resident(key, 0)
        return resident

    def resize(self, resident: Resident, size: int) -> None:
        """Account for another number of bytes."""
        self.accounted += size - resident.size
        resident.size = size

    def reserve(self, holder: Holder, size: int) -> None:
        """Keep so many bytes for a holder, instead of those that were kept before."""
        self.accounted += size - holder.reserved
        holder.reserved = size

    def remove(self, resident: Resident) -> None:
        """Forget a resident and its bytes."""
        del self._residents[resident.key]
        self.accounted -= resident.size
        resident.value = None

    @property
    def reserved(self) -> int:
        """Bytes that are kept for what is still to be built."""
        return sum(holder.reserved for holder in self._holders.values())

    def holder(self, name: str) -> Holder | None:
        """The holder of that name."""
        return self._holders.get(name)

    def holder_add(self, holder: Holder) -> None:
        """A new holder; raises ValueError where one of its name is there."""
        if holder.name in self._holders:
            raise ValueError(f"there is a holder named {holder.name} already")
        self._holders[holder.name] = holder

    def holder_remove(self, name: str) -> list[Resident]:
        """It holds nothing any more; returns what only it could use."""
        holder = self._holders.pop(name, None)
        if holder is not None:
            self.reserve(holder, 0)
        owned = []
        for resident in self._residents.values():
            resident.holders.discard(name)
            if resident.key.owner == name:
                owned.append(resident)
        return owned

    def held(self, name: str) -> list[Resident]:
        """What the holder of that name holds."""
        return [resident for resident in self._residents.values() if name in resident.holders]

    def holdings(self) -> dict[str, Holding]:
        """The holders, for a plan."""
        return {
            name: Holding(name, holder.busy, holder.preferred, holder.used_at)
            for name, holder in self._holders.items()
        }

    def candidates(self) -> dict[str, tuple[Candidate, Resident]]:
        """What a plan may choose from, by the candidate's key."""
        found = {}
        for number, resident in enumerate(self._residents.values()):
            if resident.state is not ResidentState.RESIDENT:
                continue
            candidate = Candidate(
                key=str(number),
                size=resident.size,
                holders=frozenset(resident.holders),
                loaded_at=resident.loaded_at,
                used_at=resident.used_at,
                reload_seconds=resident.reload_seconds,
            )
            found[candidate.key] = (candidate, resident)
        return found

    def missing(self, digests: Mapping[str, int]) -> int:
        """The bytes of those shards, given by sha256, of which nothing is resident."""
        present = {
            digest for resident in self._residents.values() for digest in resident.key.digests
        }
        return sum(size for digest, size in digests.items() if digest not in present)

    def unneeded(self, digests: Collection[str]) -> list[Resident]:
        """Residents that nobody holds and that are made of other shards than these."""
        return [
            resident
            for resident in self._residents.values()
            if resident.state is ResidentState.RESIDENT
            and not resident.holders
            and not set(digests).issuperset(resident.key.digests)
        ]

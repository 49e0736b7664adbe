"""The requests that a worker has, and those it had."""

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tts.engine.request import Profile, SpeechRequest
from tts.text.segment import Segment

REMEMBERED = 4096
"""Requests that have ended and whose opening, should it arrive again, is passed over."""


@dataclass(slots=True)
class Entry:
    """A request that this worker has.

    `serial` names its opening among its gateway's. `held` are its segments
    while its engine loads; afterwards it is `leased`. Nothing is replied to a `silent` one.
    """

    gateway_id: str
    request: SpeechRequest
    since: float
    serial: int
    held: list[Segment] | None = None
    leased: bool = False
    next_segment: int = 0
    input_over: bool = False
    granted: int = 0
    started: bool = False
    silent: bool = False

    @property
    def opening(self) -> tuple[str, int]:
        """What tells this opening from any other."""
        return (self.gateway_id, self.serial)


class Ledger:
    """Entries by request id. `idle` is set while there are none; `ended` is told each that ends."""

    def __init__(self, ended: Callable[[Entry], None]) -> None:
        self._told = ended
        self._entries: dict[str, Entry] = {}
        self._ended: OrderedDict[tuple[str, int], None] = OrderedDict()
        self.idle = asyncio.Event()
        self.idle.set()

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        """The entries of this moment: they may be ended while one goes through them."""
        return iter(list(self._entries.values()))

    @property
    def active(self) -> int:
        """Requests that have been started."""
        return sum(entry.started for entry in self._entries.values())

    @property
    def waiting(self) -> int:
        """Requests that wait, for their turn or their engine."""
        return len(self) - self.active

    @property
    def gateways(self) -> dict[str, int]:
        """The gateways that listen to this worker, and to how many requests each."""
        listening = (entry for entry in self._entries.values() if not entry.silent)
        return dict(Counter(entry.gateway_id for entry in listening))

    def get(self, request_id: str) -> Entry | None:
        """The request, in whatever attempt."""
        return self._entries.get(request_id)

    def find(self, request_id: str, attempt: int) -> Entry | None:
        """The request, if it is in this attempt."""
        entry = self._entries.get(request_id)
        return entry if entry is not None and entry.request.attempt == attempt else None

    def held(self, version: str, profile: Profile) -> list[Entry]:
        """The requests that wait for this engine."""
        return [
            entry
            for entry in self._entries.values()
            if entry.held is not None
            and (entry.request.version, entry.request.profile) == (version, profile)
        ]

    def knows(self, opening: tuple[str, int], request_id: str) -> bool:
        """Whether this opening has arrived before."""
        entry = self._entries.get(request_id)
        return opening in self._ended or (entry is not None and entry.opening == opening)

    def add(self, entry: Entry) -> None:
        """Begin a request."""
        self._entries[entry.request.request_id] = entry
        self.idle.clear()

    def forget(self, entry: Entry) -> None:
        """End a request; nothing if it was ended already."""
        if self._entries.get(entry.request.request_id) is not entry:
            return
        del self._entries[entry.request.request_id]
        if not self._entries:
            self.idle.set()
        self._told(entry)
        self._ended[entry.opening] = None
        if len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)

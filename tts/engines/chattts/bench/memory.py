"""What a loaded profile takes of a process's memory, measured in a process of its own."""

import ctypes
import gc
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, Self, TypeVar

from tts.engine.errors import VersionUnavailable
from tts.engine.request import Profile
from tts.engines.base import Device
from tts.engines.chattts.device_memory import memory_reserved
from tts.engines.chattts.engine import ChatTtsEngine
from tts.engines.chattts.manifest import chattts_manifest
from tts.engines.devices import device_find
from tts.engines.shards import LocalShards

P = ParamSpec("P")
T = TypeVar("T")
E = TypeVar("E", bound=ChatTtsEngine)
_ROLLUP = Path("/proc/self/smaps_rollup")


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of this process. `resident`: PSS, its own and its share of what others map too.

    `anonymous`: what belongs to no file, swapped out or not. Other processes that come and go
    change the shares of libraries, and so the former, never the latter.
    """

    resident: int
    anonymous: int

    @classmethod
    def read(cls) -> Self:
        """Now, without what is free: what lies idle in the heap would hide what leaks into it."""
        gc.collect()
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:  # glibc's
            trim(0)
        fields = dict(
            line.split(":", 1) for line in _ROLLUP.read_text(encoding="ascii").splitlines()[1:]
        )
        pss, anonymous, swapped = (
            int(fields[name].split()[0]) * 1024 for name in ("Pss", "Anonymous", "Swap")
        )
        return cls(pss, anonymous + swapped)


@dataclass(frozen=True, slots=True)
class Loaded:
    """Memory of a process `before` and `after` it loaded a profile; `slot` is a slot's, in bytes.

    `slots` is how many there are, `reserved` what is held of a CUDA device; 0 on the CPU.
    """

    before: Memory
    after: Memory
    slots: int
    slot: int
    reserved: int = 0


class WatchedEngine(ChatTtsEngine):
    """The engine, which tells what it holds."""

    @property
    def hidden(self) -> int:
        """Numbers of a speaker's vector."""
        return self._config.hidden

    @property
    def slots(self) -> int:
        """All slots of its cache."""
        return self._backend.cache.slots

    @property
    def free_slots(self) -> int:
        """Slots that no row has."""
        return self._loop.free_slots

    @property
    def slot_bytes(self) -> int:
        """Cache memory of one slot."""
        return self._loop.slot_bytes

    @property
    def utterances(self) -> int:
        """Utterances that it remembers."""
        return len(self._speeches) + len(self._refining)


def engine_load(engine: E, folder: Path, profile: Profile, device: Device) -> E:
    """Have an engine load as a worker does; returns it. Raises VersionUnavailable."""
    shards = LocalShards(chattts_manifest(folder).shards)
    engine.load(shards, device, profile, _nothing)
    return engine


def loaded_measure(folder: Path, profile: Profile, device: Device) -> Loaded:
    """Load a profile into this process and look."""
    before = Memory.read()
    engine = engine_load(WatchedEngine(), folder, profile, device)
    after = Memory.read()
    reserved = memory_reserved(device_find(device.name))
    loaded = Loaded(before, after, engine.slots, engine.slot_bytes, reserved)
    engine.close()
    return loaded


def apart(work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """What `work` gives in a new process, which imports all anew; its exceptions are raised here.

    Raises VersionUnavailable where that process was killed, as for want of memory.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(work, *arguments, **named).result()
        except BrokenProcessPool as error:
            raise VersionUnavailable("the measuring process was killed") from error


def _nothing() -> None:
    """Nobody waits for a recording here."""

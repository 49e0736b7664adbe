"""What workers say of themselves, and how often: the basis of placement and of death detection."""

import msgspec

BEAT_SECONDS = 0.2
BEAT_TTL_MS = 900
"""A process whose beat has not been renewed for this long counts as dead."""
STARVED_SECONDS = 4.0
"""For how much longer a supervised process on the same machine counts as alive without a beat.

Its death would have been announced. A busy machine may keep a process from running
for longer than a beat lasts, and to end its streams then would be our own fault.
"""
LOADING_TTL_MS = 15_000
"""While a model loads: loading may hold the interpreter for longer than a beat lasts.

A death in that time is noticed by the supervisor, or when the stream is gone.
"""
WATCH_SECONDS = 0.1
"""How often a gateway with requests under way looks at the beats."""
INDEX_TTL_SECONDS = 60
"""The index sets outlive the last process that renews them by this long."""


class WorkerBeat(msgspec.Struct, frozen=True):
    """The state of a synthesis worker.

    `incarnation` is new whenever the worker has lost what it had been sent: at
    start, and when its stream vanished. `sequence` counts beats. `versions` can
    be spoken now, `loading` soon, `failed` not (with the reason), `cold` once a request
    has them loaded: memory does not hold all at the same time. `slots` bounds
    the requests computed together, over all versions. `gateways` says whose the
    requests are: how many of `waiting` and `active` each gateway still listens to.
    `supervised` says whether somebody on its host announces its death.
    """

    worker_id: str
    incarnation: str
    sequence: int
    versions: tuple[str, ...] = ()
    loading: tuple[str, ...] = ()
    failed: dict[str, str] = {}
    cold: tuple[str, ...] = ()
    slots: int = 0
    free_slots: int = 0
    waiting: int = 0
    active: int = 0
    gateways: dict[str, int] = {}
    draining: bool = False
    booting: bool = False
    host: str = ""
    pid: int = 0
    started_at: float = 0.0
    supervised: bool = False


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(WorkerBeat)


def beat_encode(beat: WorkerBeat) -> bytes:
    """A beat as JSON, readable to an operator with redis-cli."""
    return _encoder.encode(beat)


def beat_decode(raw: bytes) -> WorkerBeat | None:
    """The beat in `raw`; None when it is not one (a worker of another release)."""
    try:
        return _decoder.decode(raw)
    except msgspec.MsgspecError:
        return None

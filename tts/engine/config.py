"""Settings of the engine core: frozen, checked when made."""

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class BatchingConfig:
    """Per version, from the admin, in force within a second.

    `max_slots`: utterances resident in the engine at once. `max_batch`: rows
    computed together. `max_wait_seconds`: the longest time a batch is held open
    for more (utterance engines that batch; step engines join at every step and
    never wait). An engine that can hold less takes less.
    """

    max_slots: int = 8
    max_batch: int = 8
    max_wait_seconds: float = 0.05

    def __post_init__(self) -> None:
        if not 1 <= self.max_slots <= 1024:
            raise ValueError(f"max_slots must be 1 to 1024, not {self.max_slots}")
        if not 1 <= self.max_batch <= self.max_slots:
            raise ValueError(
                f"max_batch must be 1 to max_slots ({self.max_slots}), not {self.max_batch}"
            )
        if not 0.0 <= self.max_wait_seconds <= 1.0:
            raise ValueError(f"max_wait_seconds must be 0 to 1 second, not {self.max_wait_seconds}")

    def within(self, most: int | None) -> "BatchingConfig":
        """These settings for an engine that computes `most` utterances side by side."""
        if most is None or most >= self.max_slots:
            return self
        return replace(self, max_slots=most, max_batch=min(self.max_batch, most))


@dataclass(frozen=True, slots=True)
class CoreConfig:
    """Per worker.

    `max_waiting`: requests that may wait; more are refused at once. `lanes`:
    utterance calls computed at the same time over all engines (CPU threads).
    `safety_factor`: how much faster than real time each stream must be carried.
    `enough_buffer_seconds`: a listener with this much audio ahead yields to
    those with less. `offline_slots_share`: the share of slots offline work may
    hold, so that a real-time request never finds them all taken; the same share
    of the queue. `stall_seconds`: a listener that takes nothing for so long is
    given up. `max_preemptions`: how often one segment may lose its place to a
    more urgent one. `prepare_seconds`: how long one turn may tokenise before the
    rest waits for the next. `max_failures`: whole steps that may fail in a row
    before the engine counts as broken. `position_seconds`: the shortest time
    between two reports of a request's place in the queue. `chunk_seconds`: the
    longest chunk of audio.
    """

    max_waiting: int = 256
    lanes: int = 2
    safety_factor: float = 1.05
    enough_buffer_seconds: float = 4.0
    offline_slots_share: float = 0.75
    stall_seconds: float = 30.0
    max_preemptions: int = 2
    prepare_seconds: float = 0.02
    max_failures: int = 3
    position_seconds: float = 0.5
    chunk_seconds: float = 1.0

    def __post_init__(self) -> None:
        if self.max_waiting < 1 or self.lanes < 1:
            raise ValueError("max_waiting and lanes must be at least 1")
        if self.safety_factor < 1.0:
            raise ValueError(f"safety_factor must be at least 1, not {self.safety_factor}")
        if not 0.0 < self.offline_slots_share <= 1.0:
            raise ValueError(
                f"offline_slots_share must be above 0, up to 1, not {self.offline_slots_share}"
            )
        if self.max_preemptions < 0 or self.max_failures < 1:
            raise ValueError("max_preemptions must be at least 0 and max_failures at least 1")
        for name in ("stall_seconds", "chunk_seconds"):
            if getattr(self, name) <= 0.0:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)}")

"""What a tone version's manifest may set."""

import json
from dataclasses import dataclass, fields

from tts.engine.errors import VersionUnavailable
from tts.engines.base import EngineKind


@dataclass(frozen=True, slots=True)
class ToneConfig:
    """The shard "config" as JSON; every field may be left out.

    `mode` is "step" or "utterance"; `batches` (utterance mode) computes all
    utterances that come together in one call. A step or call costs `cost_ms`,
    each of its rows `row_cost_ms`, each second of audio `audio_cost_ms`, all in
    computing time; where `busy` is false it is waited, as for a device of its own.
    A row gains `step_seconds` of audio by a step; in utterance mode audio arrives
    in pieces of `piece_seconds`. A character sounds for `character_seconds`.
    """

    mode: str = "step"
    batches: bool = False
    cost_ms: float = 0.0
    row_cost_ms: float = 0.0
    audio_cost_ms: float = 0.0
    busy: bool = True
    step_seconds: float = 0.1
    piece_seconds: float = 1.0
    character_seconds: float = 0.06
    sample_rate: int = 24_000

    def __post_init__(self) -> None:
        if self.mode not in (EngineKind.STEP, EngineKind.UTTERANCE):
            raise ValueError(f"mode must be step or utterance, not {self.mode!r}")
        if self.batches and self.mode == EngineKind.STEP:
            raise ValueError("batches is for mode utterance; step mode batches always")
        for name in ("cost_ms", "row_cost_ms", "audio_cost_ms"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative")
        for name in ("step_seconds", "piece_seconds", "character_seconds", "sample_rate"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above 0")


def parse(data: bytes) -> ToneConfig:
    """Read the shard; raises VersionUnavailable that names what is wrong."""
    known = {field.name: field.default for field in fields(ToneConfig)}
    try:
        values = json.loads(data or b"{}")
        if not isinstance(values, dict):
            raise TypeError("it must be a JSON object")
        for name, value in values.items():
            if name not in known:
                raise TypeError(f"{name!r} is not one of {', '.join(known)}")
            if not _fits(value, known[name]):
                raise TypeError(f"{name} must be a {type(known[name]).__name__}")
        return ToneConfig(**values)
    except (ValueError, TypeError) as error:
        raise VersionUnavailable(f"the tone engine's config shard: {error}") from error


def _fits(value: object, default: object) -> bool:
    if isinstance(default, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is type(default)

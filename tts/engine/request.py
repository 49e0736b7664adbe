"""What the platform asks an engine to speak: values that cross process boundaries."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Priority(IntEnum):
    """Order in which waiting requests are served; a smaller number goes first."""

    REALTIME = 0
    STANDARD = 1
    OFFLINE = 2


class Profile(StrEnum):
    """Quality against speed; what a profile means belongs to the engine."""

    REALTIME = "realtime"
    STANDARD = "standard"
    HQ = "hq"


@dataclass(frozen=True, slots=True)
class VoicePart:
    """One speaker of a voice and its weight in a mix (weights need not sum to 1).

    `payload` is the speaker's embedding where the model does not contain it.
    """

    speaker: str
    weight: float = 1.0
    payload: bytes = b""


@dataclass(frozen=True, slots=True)
class VoiceSpec:
    """A voice as an engine needs it.

    `parts` has one entry for a plain voice and several for a mix. `companion`
    speaks the languages that this voice does not. `gain_db` is the voice's fixed
    loudness correction.
    """

    name: str
    engine: str
    parts: tuple[VoicePart, ...]
    languages: tuple[str, ...]
    companion: "VoiceSpec | None" = None
    gain_db: float = 0.0

    def speaks(self, language: str) -> bool:
        """Whether this voice, without its companion, speaks `language` ("zh", "en")."""
        return language in self.languages


@dataclass(frozen=True, slots=True)
class SpeechRequest:
    """One request for speech; its segments travel beside it, as they come.

    Audio is always mono. `sample_rate` is fixed by the engine; resampling is
    the web process's business. `max_queue_seconds` is the deadline for the
    first step: a request that is predicted to miss it is refused at once, one
    that misses it is ended with `QueueTimeout`. `initial_credit_samples` is how
    much audio (at the engine's sample rate) may be sent before the first grant.
    """

    request_id: str
    tenant_id: str
    version: str
    profile: Profile
    priority: Priority
    voice: VoiceSpec
    speed: float = 1.0
    seed: int | None = None
    max_queue_seconds: float = 10.0
    initial_credit_samples: int = 24_000 * 30
    attempt: int = 1
    style: str = ""

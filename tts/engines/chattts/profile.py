"""What each profile trades: numbers' precision, how early audio leaves, how often it is tried."""

from dataclasses import dataclass

from tts.engine.request import Profile
from tts.engines.chattts.backend import CacheShape, Precision
from tts.engines.chattts.windows import PLANS, WindowPlan


@dataclass(frozen=True, slots=True)
class ProfileSettings:
    """One profile. `takes`: utterances computed and compared, of which the best is spoken.

    With several takes nothing leaves before all are there. `refines`: ChatTTS may write pauses
    and laughter into the text before it is spoken.
    """

    precision: Precision
    vocoder: Precision
    windows: WindowPlan
    cache: CacheShape
    takes: int = 1
    refines: bool = False


POSITIONS = 1_152
"""Tokens of prompt and audio: 15 s of audio are 704, the prompt of such a text at most 400."""

PROFILES = {
    Profile.REALTIME: ProfileSettings(
        Precision.INT8, Precision.BF16, PLANS[Profile.REALTIME], CacheShape(16, POSITIONS)
    ),
    Profile.STANDARD: ProfileSettings(
        Precision.BF16, Precision.BF16, PLANS[Profile.STANDARD], CacheShape(16, POSITIONS)
    ),
    Profile.HQ: ProfileSettings(
        Precision.FP32,
        Precision.FP32,
        PLANS[Profile.HQ],
        CacheShape(12, POSITIONS),
        takes=3,
        refines=True,
    ),
}

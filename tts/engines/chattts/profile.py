"""What each profile trades: numbers' precision, how early audio leaves, how often it is tried."""

from dataclasses import dataclass, replace

from tts.engine.request import Profile
from tts.engines.base import Device
from tts.engines.chattts.backend import CacheShape, Precision
from tts.engines.chattts.windows import PLANS, WindowPlan


@dataclass(frozen=True, slots=True)
class ProfileSettings:
    """One profile. `takes`: utterances computed and compared, of which the best is spoken.

    `vocoder_group`: windows of one shape that the vocoder computes together, always as many.
    With several takes nothing leaves before all are there. `refines`: ChatTTS may write pauses
    and laughter into the text before it is spoken.
    """

    precision: Precision
    vocoder: Precision
    windows: WindowPlan
    cache: CacheShape
    takes: int = 1
    vocoder_group: int = 1
    refines: bool = False


POSITIONS = 1_536
"""Tokens of prompt and audio. The longest segment is 13 s, 610 tokens: twice that fits beside any
embedding's prompt (300 at most), 1.6 times beside 8 s of a recording and what is said in it."""

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


_CUDA_SLOTS = {Profile.REALTIME: 64, Profile.STANDARD: 64, Profile.HQ: 24}
_CUDA_VOCODER_GROUP = 8


def profile_settings(
    profile: Profile, device: Device, numbers: Profile | None = None
) -> ProfileSettings:
    """What `profile` trades on `device`, with the precisions of `numbers` where that is given.

    A CUDA device computes many rows in the time of one, and 16-bit numbers faster than it
    quantises activations, so int8 has no use there.
    """
    precise = PROFILES[numbers or profile]
    settings = replace(PROFILES[profile], precision=precise.precision, vocoder=precise.vocoder)
    if not device.name.startswith("cuda"):
        return settings
    int8 = settings.precision is Precision.INT8
    return replace(
        settings,
        precision=Precision.BF16 if int8 else settings.precision,
        cache=replace(settings.cache, slots=_CUDA_SLOTS[profile]),
        vocoder_group=_CUDA_VOCODER_GROUP,
    )

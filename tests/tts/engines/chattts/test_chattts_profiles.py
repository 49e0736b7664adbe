"""What profiles trade depends on the device."""

import pytest

from tts.engine.request import Profile
from tts.engines.base import Device
from tts.engines.chattts.backend import Precision
from tts.engines.chattts.profile import PROFILES, profile_settings


@pytest.mark.parametrize("profile", list(Profile))
def test_the_cpu_has_the_profiles_as_they_are(profile: Profile) -> None:
    assert profile_settings(profile, Device("cpu")) == PROFILES[profile]


@pytest.mark.parametrize(
    ("profile", "precision"),
    [
        (Profile.REALTIME, Precision.BF16),
        (Profile.STANDARD, Precision.BF16),
        (Profile.HQ, Precision.FP32),
    ],
)
def test_cuda_has_more_slots_and_no_int8(profile: Profile, precision: Precision) -> None:
    settings = profile_settings(profile, Device("cuda:1"))
    assert settings.precision is precision
    assert settings.cache.slots > PROFILES[profile].cache.slots
    assert settings.cache.positions == PROFILES[profile].cache.positions
    assert settings.takes == PROFILES[profile].takes

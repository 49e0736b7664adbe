"""From error rates to verdicts, and to the numbers in which a profile is loaded."""

from collections.abc import Mapping

from models_registry.services import CheckedProfile
from models_registry.states import Verdict
from tts.engine.request import Profile

WORSE_BY = 0.01
"""More than one percentage point above full precision is worse."""
UNINTELLIGIBLE_ABOVE = 0.5
"""Above this error rate full precision is not understood itself: random weights."""
PRECISER = (Profile.REALTIME, Profile.STANDARD, Profile.HQ)
"""From fast numbers to exact ones; the last are full precision."""
_ROUNDING = 1e-9

Errors = Mapping[str, float]
"""Error rates by language."""


def intelligible(reference: Errors) -> frozenset[str]:
    """The languages in which full precision is understood."""
    return frozenset(
        language for language, rate in reference.items() if rate <= UNINTELLIGIBLE_ABOVE
    )


def verdict(errors: Errors, reference: Errors) -> Verdict:
    """Of one profile: what is worse in any language that is understood in full precision."""
    languages = intelligible(reference)
    if not languages:
        return Verdict.UNINTELLIGIBLE
    worst = max(errors[language] - reference[language] for language in languages)
    return Verdict.WORSE if worst > WORSE_BY + _ROUNDING else Verdict.PASSED


def profiles_judge(
    errors: Mapping[Profile, Errors], reference: Errors
) -> tuple[CheckedProfile, ...]:
    """The verdict on each profile in `errors`, against full precision.

    One that is worse is loaded in the numbers of the next that is more exact and is not worse
    itself. The last has none to fall back to. What nobody understands says nothing about the
    fastest numbers, which then stay out of use.
    """
    verdicts = {profile: verdict(found, reference) for profile, found in errors.items()}
    return tuple(
        CheckedProfile(
            profile.value,
            verdicts[profile],
            dict(found),
            dict(reference),
            _numbers(profile, verdicts),
        )
        for profile, found in errors.items()
    )


def unverified() -> tuple[CheckedProfile, ...]:
    """Of a version that nobody has listened to: the fastest numbers are not used before."""
    return (
        CheckedProfile(PRECISER[0].value, Verdict.UNVERIFIED, {}, {}, numbers=PRECISER[1].value),
    )


def _numbers(profile: Profile, verdicts: Mapping[Profile, Verdict]) -> str:
    if verdicts[profile] is Verdict.UNINTELLIGIBLE and profile is PRECISER[0]:
        return PRECISER[1].value
    if verdicts[profile] is not Verdict.WORSE or profile is PRECISER[-1]:
        return ""
    for other in PRECISER[PRECISER.index(profile) + 1 : -1]:
        if verdicts.get(other) is Verdict.PASSED:
            return other.value
    return PRECISER[-1].value

"""Error rates become verdicts, and verdicts say in whose numbers a profile is loaded."""

import pytest

from models_registry.states import Verdict
from tts.checking.verdict import Errors, profiles_judge, unverified, verdict
from tts.engine.request import Profile

REALTIME, STANDARD, HQ = Profile.REALTIME, Profile.STANDARD, Profile.HQ
GOOD = {"zh": 0.02, "en": 0.03}
BAD = {"zh": 0.02, "en": 0.0401}


@pytest.mark.parametrize(
    ("errors", "reference", "expected"),
    [
        (GOOD, GOOD, Verdict.PASSED),
        ({"zh": 0.0, "en": 0.0}, GOOD, Verdict.PASSED),
        ({"zh": 0.03, "en": 0.04}, GOOD, Verdict.PASSED),
        (BAD, GOOD, Verdict.WORSE),
        ({"zh": 0.0301, "en": 0.0}, GOOD, Verdict.WORSE),
        ({"zh": 0.5}, {"zh": 0.5}, Verdict.PASSED),
        ({}, {"zh": 0.51, "en": 1.2}, Verdict.UNINTELLIGIBLE),
        # What is not understood in full precision counts neither way.
        ({"zh": 0.02, "en": 1.0}, {"zh": 0.02, "en": 0.9}, Verdict.PASSED),
        ({"zh": 0.04, "en": 0.0}, {"zh": 0.02, "en": 0.9}, Verdict.WORSE),
    ],
)
def test_a_point_is_the_limit(errors: Errors, reference: Errors, expected: Verdict) -> None:
    assert verdict(errors, reference) == expected


@pytest.mark.parametrize(
    ("realtime", "standard", "hq", "numbers"),
    [
        (GOOD, GOOD, GOOD, ("", "", "")),
        (BAD, GOOD, GOOD, ("standard", "", "")),
        (BAD, BAD, GOOD, ("hq", "hq", "")),
        (GOOD, BAD, GOOD, ("", "hq", "")),
        (GOOD, GOOD, BAD, ("", "", "")),
        (BAD, BAD, BAD, ("hq", "hq", "")),
    ],
)
def test_what_is_worse_takes_the_next_exacter_numbers(
    realtime: Errors, standard: Errors, hq: Errors, numbers: tuple[str, ...]
) -> None:
    judged = profiles_judge({REALTIME: realtime, STANDARD: standard, HQ: hq}, GOOD)
    assert [found.profile for found in judged] == ["realtime", "standard", "hq"]
    assert tuple(found.numbers for found in judged) == numbers


def test_what_nobody_understands_is_not_loaded_in_the_fastest_numbers() -> None:
    judged = profiles_judge({REALTIME: {}, STANDARD: {}, HQ: {}}, {"zh": 1.0})
    assert {found.verdict for found in judged} == {Verdict.UNINTELLIGIBLE}
    assert [found.numbers for found in judged] == ["standard", "", ""]


def test_what_nobody_has_listened_to_is_not_loaded_in_the_fastest_numbers() -> None:
    (found,) = unverified()
    assert (found.profile, found.verdict, found.numbers) == (
        "realtime", Verdict.UNVERIFIED, "standard"
    )  # fmt: skip

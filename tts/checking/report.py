"""What was heard, in lines for people and as JSON."""

from collections.abc import Sequence

from models_registry.services import CheckedProfile
from models_registry.states import Verdict
from tts.checking.verdict import UNINTELLIGIBLE_ABOVE, WORSE_BY, Errors

JsonObject = dict[str, object]


def lines(key: str, checked: Sequence[CheckedProfile]) -> list[str]:
    """A line for each profile."""
    return [f"{key} {found.profile}: {_line(found)}" for found in checked]


def to_json(key: str, sentences: int, checked: Sequence[CheckedProfile]) -> JsonObject:
    """Error rates are shares: 0.01 is one percentage point."""
    return {
        "version": key,
        "sentences": sentences,
        "tokens": {"zh": "toneless syllables", "en": "words"},
        "worse_by": WORSE_BY,
        "unintelligible_above": UNINTELLIGIBLE_ABOVE,
        "profiles": [
            {
                "profile": found.profile,
                "verdict": str(found.verdict),
                "errors": dict(found.errors),
                "reference": dict(found.reference),
                "numbers": found.numbers or found.profile,
            }
            for found in checked
        ],
    }


def percent(errors: Errors) -> str:
    """Error rates by language."""
    return ", ".join(f"{language} {rate:.1%}" for language, rate in errors.items())


def _line(found: CheckedProfile) -> str:
    if found.verdict is Verdict.UNINTELLIGIBLE:
        return (
            f"unintelligible, since full precision is ({percent(found.reference)} not understood)"
        )
    line = f"{found.verdict}, {percent(found.errors)} not understood"
    return f"{line}; is loaded in the numbers of {found.numbers}" if found.numbers else line

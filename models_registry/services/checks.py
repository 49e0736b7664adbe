"""What was heard of a version's profiles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from coordination.epoch import epoch_bump
from models_registry.errors import VersionNotFound
from models_registry.models import ModelVersion, ProfileCheck
from models_registry.states import Verdict


@dataclass(frozen=True, slots=True)
class CheckedProfile:
    """A profile's verdict.

    `errors` and `reference` are error rates by language, this profile's and full precision's.
    `numbers` is the profile whose number formats it is to be loaded in; blank: its own.
    """

    profile: str
    verdict: Verdict
    errors: Mapping[str, float]
    reference: Mapping[str, float]
    numbers: str = ""


def version_checks_set(
    version_key: str, checked: Sequence[CheckedProfile], *, sentences: int, at: datetime
) -> None:
    """Keep what was heard, in place of what was before; raises VersionNotFound.

    Workers load the version anew where its numbers are others now. `sentences` were spoken in
    each language.
    """
    with transaction.atomic():
        version = ModelVersion.objects.select_for_update().filter(key=version_key).first()
        if version is None:
            raise VersionNotFound(f"there is no version '{version_key}'")
        for found in checked:
            ProfileCheck.objects.update_or_create(
                version=version,
                profile=found.profile,
                defaults={
                    "verdict": found.verdict,
                    "errors": dict(found.errors),
                    "reference": dict(found.reference),
                    "sentences": sentences,
                    "numbers": found.numbers,
                    "checked_at": at,
                },
            )
        epoch_bump()

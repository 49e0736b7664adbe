"""The states of a version and the ways between them, and what was heard of its profiles."""

from django.db.models import TextChoices


class VersionState(TextChoices):
    """Where a version is in its life.

    draft: registered; verified: its bytes match the manifest; ready: may be
    given traffic; live: has traffic; draining: gives it up; retired: gone for
    good; failed: did not load, see the reason.
    """

    DRAFT = "draft"
    VERIFIED = "verified"
    READY = "ready"
    LIVE = "live"
    DRAINING = "draining"
    RETIRED = "retired"
    FAILED = "failed"

    @property
    def may_serve(self) -> bool:
        """Whether a route may give traffic to a version in this state."""
        return self not in (VersionState.FAILED, VersionState.RETIRED)

    @property
    def successors(self) -> frozenset["VersionState"]:
        """The states that may follow this one."""
        return _SUCCESSORS[self]


_SUCCESSORS = {
    VersionState.DRAFT: frozenset({VersionState.VERIFIED, VersionState.FAILED}),
    VersionState.VERIFIED: frozenset({VersionState.READY, VersionState.FAILED}),
    VersionState.READY: frozenset(
        {VersionState.LIVE, VersionState.DRAINING, VersionState.RETIRED, VersionState.FAILED}
    ),
    VersionState.LIVE: frozenset({VersionState.READY, VersionState.DRAINING, VersionState.FAILED}),
    VersionState.DRAINING: frozenset(
        {VersionState.READY, VersionState.LIVE, VersionState.RETIRED, VersionState.FAILED}
    ),
    VersionState.FAILED: frozenset({VersionState.DRAFT, VersionState.RETIRED}),
    VersionState.RETIRED: frozenset(),
}


class Verdict(TextChoices):
    """What a recogniser made of a version's profile.

    unverified: nobody has listened; passed: it is understood as well as full precision, within
    a point; worse: it is not, and is loaded in other numbers; unintelligible: full precision is
    not understood itself, so that nothing can be said.
    """

    UNVERIFIED = "unverified"
    PASSED = "passed"
    WORSE = "worse"
    UNINTELLIGIBLE = "unintelligible"

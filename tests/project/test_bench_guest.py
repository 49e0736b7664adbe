"""A run's tenant may do what the run needs, and nothing of it is left."""

import pytest

from models_registry.models import ModelVersion, Route
from models_registry.states import VersionState
from tenants.hashing import secret_digest
from tenants.models import ApiKey, QualityTier, Tenant
from tenants.selectors import key_record
from voicehost.bench.guest import guest_admitted


@pytest.fixture
def tier(db: None) -> QualityTier:
    """A tier that was there before."""
    return QualityTier.objects.create(
        name="before", rank=900, priority="realtime", profile="realtime", concurrency=1,
        requests_per_minute=1, characters_per_minute=1, max_characters=1, max_queue_seconds=1.0,
    )  # fmt: skip


def test_the_key_may_ask_for_both_tiers_and_the_tones(tier: QualityTier) -> None:
    with guest_admitted(concurrency=300, tone_config={"step_seconds": 0.5}) as guest:
        principal = key_record(digest=secret_digest(guest.key)).principal
        realtime = principal.tier_for(guest.realtime)
        standard = principal.tier_for(guest.standard)
        assert (realtime.profile, standard.profile) == ("realtime", "standard")
        assert realtime.concurrency == 300
        assert Route.objects.filter(name=guest.tone, weights__weight=100).count() == 1


def test_it_is_removed(tier: QualityTier) -> None:
    tiers = set(QualityTier.objects.values_list("name", flat=True))
    with guest_admitted(concurrency=1, tone_config={}) as guest:
        pass
    assert set(QualityTier.objects.values_list("name", flat=True)) == tiers
    assert not Tenant.objects.filter(slug__startswith="bench-").exists()
    assert not ApiKey.objects.filter(name__startswith="bench-").exists()
    assert not Route.objects.filter(name=guest.tone).exists()
    version = ModelVersion.objects.get(label=guest.tone)
    assert version.state == VersionState.RETIRED


def test_it_is_removed_after_a_failure(tier: QualityTier) -> None:
    with pytest.raises(ZeroDivisionError), guest_admitted(concurrency=1, tone_config={}):
        raise ZeroDivisionError
    assert not Tenant.objects.filter(slug__startswith="bench-").exists()

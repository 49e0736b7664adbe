"""A request gets the tier, model and scope that it may have, or an error that says what it may."""

import pytest

from tenants.choices import Scope
from tenants.errors import ModelNotAllowed, ScopeMissing, TierNotAllowed, UnknownTier
from tenants.principal import Principal
from tests.tenants.callers import principal_for, tier_spec_for

REALTIME = tier_spec_for("realtime", rank=10)
STANDARD = tier_spec_for("standard", rank=20, allowed_models=("tone", "kokoro"))


@pytest.fixture
def caller() -> Principal:
    return principal_for(
        STANDARD, tiers=(REALTIME, STANDARD), known_tiers=("realtime", "standard", "hq")
    )


@pytest.mark.parametrize(
    ("requested", "default", "tier"),
    [
        (None, None, "standard"),
        (None, "realtime", "realtime"),
        ("realtime", None, "realtime"),
        ("standard", "realtime", "standard"),
        (None, "hq", "standard"),  # the route's own tier, above the key's
        (None, "gone", "standard"),
    ],
)
def test_tier_is_the_request_s_then_the_route_s_then_the_key_s(
    caller: Principal, requested: str | None, default: str | None, tier: str
) -> None:
    assert caller.tier_for(requested, default).name == tier


def test_tier_above_the_key_is_refused_and_names_what_it_may_have(caller: Principal) -> None:
    with pytest.raises(TierNotAllowed) as caught:
        caller.tier_for("hq", None)
    assert (caught.value.status, caught.value.type) == (403, "permission_error")
    assert caught.value.param == "quality_tier"
    assert caught.value.message.endswith("it may use: 'realtime', 'standard'.")


@pytest.mark.parametrize("name", ["gold", "", "Standard", "x" * 10_000])
def test_unknown_tier_is_a_bad_request(caller: Principal, name: str) -> None:
    with pytest.raises(UnknownTier) as caught:
        caller.tier_for(name, "realtime")
    assert (caught.value.status, caught.value.type) == (400, "invalid_request_error")
    assert "'realtime', 'standard'" in caught.value.message
    assert len(caught.value.message) < 200


def test_model_that_the_tier_includes(caller: Principal) -> None:
    caller.check_model("kokoro", STANDARD, is_public=True)
    caller.check_model("anything", REALTIME, is_public=True)
    with pytest.raises(ModelNotAllowed) as caught:
        caller.check_model("chattts", STANDARD, is_public=True)
    assert (caught.value.status, caught.value.param) == (403, "model")
    assert caught.value.message.endswith(
        "it includes: 'tone', 'kokoro'. Tiers of this API key that do: 'realtime'."
    )


def test_model_that_is_not_public_is_for_the_tiers_that_name_it(caller: Principal) -> None:
    caller.check_model("kokoro", STANDARD, is_public=False)
    with pytest.raises(ModelNotAllowed) as caught:
        caller.check_model("kokoro", REALTIME, is_public=False)
    assert caught.value.message == (
        "The quality tier 'realtime' does not include the model 'kokoro'; "
        "it includes every public model. Tiers of this API key that do: 'standard'."
    )
    with pytest.raises(ModelNotAllowed, match=r"every public model\.$"):
        caller.check_model("chattts", REALTIME, is_public=False)


def test_scope_that_the_key_has() -> None:
    caller = principal_for(scopes=frozenset({Scope.SPEECH, Scope.JOBS}))
    caller.require_scope(Scope.SPEECH)
    with pytest.raises(ScopeMissing) as caught:
        caller.require_scope(Scope.USAGE)
    assert caught.value.status == 403
    assert caught.value.message == (
        "This needs the scope 'usage'; this API key has: 'jobs', 'speech'."
    )

"""What is evicted for a number of bytes: enough, not too much, and the least useful."""

from hypothesis import given
from hypothesis import strategies as st

from models_registry.shards.eviction import Candidate, EvictionPlan, Holding, eviction_plan

NOW = 1000.0


def test_least_recently_used_goes_first() -> None:
    old, new = _candidate("old", used_at=100.0), _candidate("new", used_at=900.0)

    assert _plan([new, old], needed=10) == EvictionPlan(("old",), (), 10)


def test_what_costs_more_to_reload_stays_longer() -> None:
    dear = _candidate("dear", used_at=100.0, reload_seconds=60.0)
    cheap = _candidate("cheap", used_at=900.0, reload_seconds=1.0)

    plan = _plan([dear, cheap], needed=10)

    assert plan is not None
    assert plan.residents == ("cheap",)


def test_versions_without_weight_go_before_those_with_weight() -> None:
    recent = _candidate("recent", used_at=999.0, holders={"retired"})
    idle = _candidate("idle", used_at=1.0, holders={"live"})
    holdings = {"retired": _holding("retired", preferred=False), "live": _holding("live")}

    plan = _plan([idle, recent], holdings, needed=10)

    assert plan == EvictionPlan(("recent",), ("retired",), 10)


def test_an_idle_engine_gives_up_no_more_than_is_needed() -> None:
    parts = [_candidate(name, size=size, holders={"a"}) for name, size in (("s", 10), ("l", 90))]

    plan = _plan(parts, {"a": _holding("a")}, needed=50)

    assert plan == EvictionPlan(("l",), ("a",), 90)


def test_one_engine_is_closed_before_two_are_broken() -> None:
    first = [_candidate(f"a{part}", holders={"a"}, used_at=10.0) for part in range(2)]
    second = [_candidate(f"b{part}", holders={"b"}, used_at=20.0) for part in range(2)]

    plan = _plan([*second, *first], {"a": _holding("a"), "b": _holding("b")}, needed=20)

    assert plan is not None
    assert plan.holders == ("a",)


def test_what_is_leased_stays() -> None:
    held = _candidate("held", holders={"a", "b"})
    holdings = {"a": _holding("a"), "b": _holding("b", busy=True)}

    assert _plan([held], holdings, needed=1) is None


def test_what_was_loaded_a_moment_ago_stays() -> None:
    young = _candidate("young", loaded_at=NOW - 5, used_at=NOW - 5)

    assert _plan([young], needed=1, minimum_residency=10.0) is None
    assert _plan([young], needed=1, minimum_residency=5.0) is not None


def test_nothing_is_dropped_that_would_not_help() -> None:
    small, large = _candidate("small", size=10, used_at=1.0), _candidate("large", size=100)

    plan = _plan([small, large], needed=100)

    assert plan is not None
    assert plan.residents == ("large",)


_names = st.sampled_from("abc")
_candidates = st.lists(
    st.builds(
        Candidate,
        key=st.uuids().map(str),
        size=st.integers(0, 100),
        holders=st.frozensets(_names),
        loaded_at=st.floats(0, NOW),
        used_at=st.floats(0, NOW),
        reload_seconds=st.floats(0, 100),
    ),
    max_size=12,
    unique_by=lambda candidate: candidate.key,
)
_holdings = st.fixed_dictionaries(
    {
        name: st.builds(
            Holding,
            name=st.just(name),
            busy=st.booleans(),
            preferred=st.booleans(),
            used_at=st.floats(0, NOW),
        )
        for name in "abc"
    }
)


@given(_candidates, _holdings, st.integers(1, 400), st.floats(0, NOW))
def test_a_plan_frees_enough_of_what_may_go_and_is_minimal(
    candidates: list[Candidate],
    holdings: dict[str, Holding],
    needed: int,
    minimum_residency: float,
) -> None:
    by_key = {candidate.key: candidate for candidate in candidates}
    free = {
        candidate.key
        for candidate in candidates
        if NOW - candidate.loaded_at >= minimum_residency
        and not any(holdings[name].busy for name in candidate.holders)
    }

    plan = _plan(candidates, holdings, needed, minimum_residency)

    if plan is None:
        assert sum(by_key[key].size for key in free) < needed
        return
    sizes = [by_key[key].size for key in plan.residents]
    assert set(plan.residents) <= free
    assert plan.freed == sum(sizes) >= needed
    assert all(plan.freed - size < needed for size in sizes)
    assert set(plan.holders) == {name for key in plan.residents for name in by_key[key].holders}


def _plan(
    candidates: list[Candidate],
    holdings: dict[str, Holding] | None = None,
    needed: int = 1,
    minimum_residency: float = 0.0,
) -> EvictionPlan | None:
    return eviction_plan(
        candidates, holdings or {}, needed, now=NOW, minimum_residency=minimum_residency
    )


def _candidate(
    key: str,
    *,
    size: int = 10,
    holders: set[str] | None = None,
    loaded_at: float = 0.0,
    used_at: float = 500.0,
    reload_seconds: float = 1.0,
) -> Candidate:
    return Candidate(key, size, frozenset(holders or ()), loaded_at, used_at, reload_seconds)


def _holding(name: str, *, busy: bool = False, preferred: bool = True) -> Holding:
    return Holding(name, busy, preferred, used_at=0.0)

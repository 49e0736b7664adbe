"""Weights are met to one bucket, and a change moves exactly the buckets that must move."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models_registry.split import BUCKETS, Owners, SplitTable, bucket_of, buckets_for, resplit

weights = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d", "e"]), st.integers(0, 10_000), min_size=1
).filter(lambda item: any(item.values()))


def owners_of(split: Owners) -> list[str]:
    table = SplitTable.of(split)
    return [table.owner(bucket) for bucket in range(BUCKETS)]


def test_canary_grows_and_shrinks_without_losing_a_key() -> None:
    ten = resplit(resplit({}, {"old": 100}), {"old": 90, "new": 10})
    before = owners_of(ten)
    twenty = resplit(ten, {"old": 80, "new": 20})
    after = owners_of(twenty)
    assert before.count("new") == 1000
    assert after.count("new") == 2000
    assert all(now == "new" for was, now in zip(before, after, strict=True) if was == "new")
    assert owners_of(resplit(twenty, {"old": 90, "new": 10})) == before


@given(weights)
@settings(max_examples=60)
def test_shares_are_exact_to_a_bucket(wanted: dict[str, int]) -> None:
    counts = buckets_for(wanted)
    total = sum(wanted.values())
    assert sum(counts.values()) == BUCKETS
    for key, weight in wanted.items():
        assert abs(counts[key] - weight * BUCKETS / total) < 1


@given(st.lists(weights, min_size=2, max_size=6))
@settings(max_examples=60, deadline=None)
def test_every_change_moves_the_least(steps: list[dict[str, int]]) -> None:
    split = resplit({}, steps[0])
    owners = owners_of(split)
    for wanted in steps[1:]:
        old, new = {key: owners.count(key) for key in "abcde"}, buckets_for(wanted)
        split = resplit(split, wanted)
        now = owners_of(split)
        moved = sum(was != is_ for was, is_ in zip(owners, now, strict=True))
        assert moved == sum(max(0, old[key] - new.get(key, 0)) for key in "abcde")
        assert {key: now.count(key) for key in new} == new
        owners = now


@given(st.integers(1, 9_999), st.lists(st.integers(0, 10_000), min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_two_versions_come_back_to_the_same_owners(start: int, path: list[int]) -> None:
    split = resplit({}, {"old": BUCKETS})
    split = resplit(split, {"old": BUCKETS - start, "new": start})
    before = owners_of(split)
    for weight in path:
        split = resplit(split, {"old": BUCKETS - weight, "new": weight})
    split = resplit(split, {"old": BUCKETS - start, "new": start})
    assert owners_of(split) == before


def test_keys_spread_as_the_weights_say() -> None:
    table = SplitTable.of(resplit({}, {"old": 9, "new": 1}))
    keys = [f"key-{number}" for number in range(20_000)]
    share = sum(table.owner(bucket_of("salt", key)) == "new" for key in keys) / len(keys)
    # Five standard deviations of a binomial share of 0.1 over 20,000 keys.
    assert share == pytest.approx(0.1, abs=5 * (0.1 * 0.9 / 20_000) ** 0.5)


def test_routes_with_different_salts_draw_different_keys() -> None:
    keys = [f"key-{number}" for number in range(2_000)]
    first = {key for key in keys if bucket_of("one", key) < 1000}
    second = {key for key in keys if bucket_of("two", key) < 1000}
    assert len(first & second) < 60  # 20 expected


@pytest.mark.parametrize("wanted", [{}, {"a": 0}, {"a": -1, "b": 2}])
def test_no_weight_above_zero_is_refused(wanted: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="weights of at least 0"):
        buckets_for(wanted)


@pytest.mark.parametrize("owners", [{}, {"a": [(0, 9_998)]}, {"a": [(0, 9_999)], "b": [(6, 5)]}])
def test_owners_must_cover_every_bucket_once(owners: Owners) -> None:
    with pytest.raises(ValueError, match="every bucket exactly once"):
        SplitTable.of(owners)

"""Which residents to evict for a number of bytes: planned as a whole, before any is dropped.

Least recently used first, weighed by what a reload would cost: the time since a resident
was used estimates the time to its next use, so `reload seconds / (idle seconds x bytes)` is
the reload time that a byte kept saves per second, and the least of it goes first. Residents
of equal cost per byte go strictly by last use (GreedyDual-Size without its frequency term:
Cao and Irani 1997). Versions that have weight go after all that have none.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

_INSTANT = 1e-3
"""Seconds below which times count as this, so that no worth is 0 or infinite."""


@dataclass(frozen=True, slots=True)
class Holding:
    """Who holds residents (an engine). `busy`: it has leases or is being loaded.

    `preferred`: a route gives its version weight.
    """

    name: str
    busy: bool
    preferred: bool
    used_at: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """A resident as the plan sees it: its size in bytes, its holders by name, and its times."""

    key: str
    size: int
    holders: frozenset[str]
    loaded_at: float
    used_at: float
    reload_seconds: float


@dataclass(frozen=True, slots=True)
class EvictionPlan:
    """Residents to drop, by key, after `holders` have let go of them; `freed` bytes in all."""

    residents: tuple[str, ...]
    holders: tuple[str, ...]
    freed: int


def eviction_plan(
    candidates: Collection[Candidate],
    holdings: Mapping[str, Holding],
    needed: int,
    *,
    now: float,
    minimum_residency: float,
    spare_preferred: bool = False,
) -> EvictionPlan | None:
    """The residents to evict for `needed` bytes; None where not that many can be freed.

    Nothing that is leased or younger than `minimum_residency` seconds is in it, with
    `spare_preferred` nothing of versions that have weight, and nothing without which the
    rest would free enough. Residents of the same holders are evicted
    together, as far as they are needed: an engine that lost one shard is of no use.
    """
    groups: dict[tuple[frozenset[str], str], list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        if now - candidate.loaded_at < minimum_residency:
            continue
        holding = [holdings[name] for name in candidate.holders]
        if spare_preferred and any(item.preferred for item in holding):
            continue
        if not any(item.busy for item in holding):
            alone = "" if candidate.holders else candidate.key
            groups[candidate.holders, alone].append(candidate)
    ranked = sorted(groups.values(), key=lambda members: _rank(members, holdings, now))
    chosen: list[Candidate] = []
    freed = 0
    for members in ranked:
        # Within a group the largest first: the fewest are dropped then.
        for member in sorted(members, key=lambda member: (-member.size, member.key)):
            if freed >= needed:
                break
            chosen.append(member)
            freed += member.size
    if freed < needed:
        return None
    return _pruned(chosen, freed, needed)


def _rank(
    members: list[Candidate], holdings: Mapping[str, Holding], now: float
) -> tuple[bool, float, float, str]:
    """What goes first is least: without weight, of little worth, long unused."""
    holding = [holdings[name] for name in members[0].holders]
    used_at = max([member.used_at for member in members] + [item.used_at for item in holding])
    idle = max(now - used_at, _INSTANT)
    reload_seconds = max(sum(member.reload_seconds for member in members), _INSTANT)
    size = max(sum(member.size for member in members), 1)
    preferred = any(item.preferred for item in holding)
    return preferred, reload_seconds / (idle * size), used_at, members[0].key


def _pruned(chosen: list[Candidate], freed: int, needed: int) -> EvictionPlan:
    """Leave out what need not go, beginning with what is worth most (the last)."""
    kept: list[Candidate] = []
    for candidate in reversed(chosen):
        if freed - candidate.size >= needed:
            freed -= candidate.size
        else:
            kept.append(candidate)
    kept.reverse()
    holders = dict.fromkeys(name for candidate in kept for name in sorted(candidate.holders))
    return EvictionPlan(tuple(candidate.key for candidate in kept), tuple(holders), freed)

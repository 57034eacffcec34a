"""Groups of workers, found on one half of the tasks and confirmed on the other."""

import math
from typing import Any

import numpy as np
from attrs import evolve, frozen
from scipy.special import stdtrit

from quietcrowd.inference.labels.groups.agreement import Excess
from quietcrowd.inference.labels.groups.candidates import FAR, LEAST_MEMBERS, NEAR, candidates
from quietcrowd.inference.labels.groups.reports import Codes, Crowd, GroupReports, Mask

MOST_GROUPS = 4
"""Number of groups that are searched, one after another."""

TESTED = 4
"""Number of candidates of each half that the other half tests."""

FALSE_GROUPS, FALSE_NAMES = 5e-4, 1e-3
"""Nominal probabilities of a false group in each search, and that any worker is named falsely."""

REFINEMENTS = 3
"""Number of times that workers join or leave a set."""

JOINS = 2.0
"""t statistic of a worker's excess agreement above which the group's reports include its own."""

LEAST_WORKERS, LEAST_TASKS = 12, 30
"""Size of a crowd in which groups are searched."""

RELATED, LEAST_SHARE = (0.15, 0.4), (0.45, 0.75)
"""Explained fraction of a group's agreement, and the least share of excess that it then needs."""

LEAST_CROWD = 0.08
"""Agreement within the rest below which it is no crowd that shares a truth."""

MARGIN = (0.33, 0.34, 0.5, 0.51), (0.05, 0.1, 0.1, 0.2)
"""Fraction of the workers in a group, and by how much more they agree than the rest."""

MOST_PART, MAJORITY = 0.75, 0.65
"""Largest fraction of the workers in a group, and agreement of one with more than half of them."""

LEAST_GAP = 0.15
"""Mean excess agreement of others with a group, as a fraction of that within it, above which the
group is only the best part of the crowd. A named worker has certainly more."""

MOST_SPREAD = 0.05
"""Standard deviation of the members' excess agreement, relative to its mean, that accounts with one
source may have. Honest workers differ more, by at least twice as much."""

LEAST_KNOWN, CERTAIN = 5, 3.0
"""Number of known truths, and of standard errors, that decide between a group and its rest."""


@frozen(kw_only=True, eq=False)
class Group:
    """Workers with more agreement than the truths explain.

    `members` are codes of workers. In the model, their reports come from one source, and each
    member follows it with the probability `following`. The agreement of each of the `named` is
    certain; a flag names only them.
    """

    members: Codes
    named: Codes
    following: float


def find_groups(reports: GroupReports, table: Any) -> tuple[Group, ...]:
    """Return the groups of workers; `table` is the mean channel, at [answer, report]."""
    if len(reports.draws) == 0:
        return ()
    present = np.bincount(reports.workers) > 0
    codes, places = np.flatnonzero(present).astype(np.int32), np.cumsum(present) - 1
    crowd = Crowd.of(
        evolve(reports, workers=places[reports.workers].astype(np.int32)),
        np.asarray(table, float),
        len(codes),
    )
    if len(codes) < LEAST_WORKERS or len(crowd.first) < LEAST_TASKS or crowd.signal < 1e-6:
        return ()
    free = np.ones(len(codes), bool)
    groups: list[Group] = []
    while len(groups) < MOST_GROUPS:
        found = _next_group(crowd, free)
        if found is None:
            break
        members, named, following = found
        free &= ~members
        groups.append(Group(members=codes[members], named=codes[named], following=following))
    return tuple(groups)


def _next_group(crowd: Crowd, free: Mask) -> tuple[Mask, Mask, float] | None:
    """Return the members and the named of the most certain group, and how often they follow."""
    confirmed = [
        (found, search)
        for search, test in (crowd.halves, crowd.halves[::-1])
        for found in _confirmed(search, test, free)
    ]
    seen: list[Mask] = []
    for found, search in sorted(confirmed, key=lambda pair: -pair[0].t):
        all_tasks = _refined(Excess.of(crowd, found.members, found.rest), free, JOINS)
        if all_tasks is None or any((all_tasks.members == old).all() for old in seen):
            continue
        seen.append(all_tasks.members)
        near, t, tasks = all_tasks.membership
        certain = stdtrit(np.maximum(tasks - 1, 2), 1.0 - FALSE_NAMES / len(free))
        surplus = 1.0 - LEAST_GAP * all_tasks.within / np.maximum(near, 1e-9)
        named = all_tasks.members & (t * surplus >= certain)
        other = _refined(found, free, 0.0)
        other = other and Excess.of(search, other.members, other.rest)
        if named.sum() < LEAST_MEMBERS or other is None or all_tasks.share < LEAST_SHARE[0]:
            continue
        if not all(_overlap(all_tasks.members, one.members) for one in (found, other)):
            continue
        if _is_group((found, other), all_tasks, named):
            within = np.mean([found.within, other.within])
            return all_tasks.members, named, float(np.clip(np.sqrt(within), 0.3, 0.98))
    return None


def _overlap(one: Mask, two: Mask) -> bool:
    return bool(3 * (one & two).sum() >= (one | two).sum())


def _confirmed(search: Crowd, test: Crowd, free: Mask) -> list[Excess]:
    """Return sets found on a half of the tasks, with certain excess agreement on the other."""
    sets: dict[bytes, Excess] = {}
    for members, rest in candidates(search, free):
        first = Excess.of(search, members, rest)
        for one in (first, _refined(first, free, 0.0)):
            if one is not None and _promising(one, 2.0):
                sets.setdefault(one.members.tobytes(), one)
    found = sorted(sets.values(), key=lambda one: -one.t)
    tested = [Excess.of(test, one.members, one.rest) for one in found[:TESTED]]
    level = 1.0 - FALSE_GROUPS / (2 * TESTED)
    return [
        one
        for one in tested
        if one is not None and _promising(one, float(stdtrit(one.tasks - 1, level)))
    ]


def _promising(excess: Excess, least: float) -> bool:
    return excess.t >= least and excess.share > 0.25


def _refined(found: Excess | None, free: Mask, least: float) -> Excess | None:
    """Return the comparison after workers with enough excess agreement have joined."""
    for _ in range(REFINEMENTS):
        if found is None:
            break
        near, t, count = found.membership
        level = np.average(near[found.members], weights=np.sqrt(count[found.members]) + 1e-9)
        members = free & (near > NEAR * level) & (t >= least) & (level > 0)
        rest = free & (near < FAR * level) & (count > 0) & ~members
        if min(members.sum(), rest.sum()) < LEAST_MEMBERS:
            return None
        if (members == found.members).all() and (rest == found.rest).all():
            break
        found = Excess.of(found.crowd, members, rest)
    return found


def _is_group(halves: tuple[Excess, Excess], whole: Excess, named: Mask) -> bool:
    """Return whether the members, and not the rest, follow a source that is not the truth.

    Each of `halves` is measured on the tasks that did not choose its members; on the others, and on
    the `whole`, their agreement would be too large. Known truths decide first. Reports alone cannot
    always decide: ``research/docs/theory/groups-of-workers.md``.
    """
    sizes = [(one.within, one.rest_within, one.explained, one.share) for one in halves]
    within, rest, explained, share = np.mean(sizes, axis=0)
    error, rest_error = np.sqrt(np.sum([np.square(one.errors) for one in halves], axis=0)) / 2.0
    decided, known = whole.nearer_to_truths()
    if within > 1.1 + error or (known >= LEAST_KNOWN and decided < -1.0):
        return False
    if known >= LEAST_KNOWN and decided > CERTAIN and share >= LEAST_SHARE[0]:
        return True
    related = max(explained, 0.0) / max(within, 1e-9)
    if (
        share < np.interp(related, RELATED, LEAST_SHARE)
        or rest < max(LEAST_CROWD, 3.0 * rest_error)
        or np.mean([_others(one) for one in halves]) > LEAST_GAP * within
    ):
        return False
    uniform = _more_uniform(whole, named)
    if uniform is not None:
        return uniform
    part = whole.members.mean()
    lead = within - rest - math.hypot(error, rest_error)
    small = part <= 0.5 or (part <= MOST_PART and within >= MAJORITY and related <= RELATED[0])
    return bool(small and lead >= np.interp(part, *MARGIN))


def _more_uniform(whole: Excess, named: Mask) -> bool | None:
    """Return whether the named follow their source more uniformly than the rest its own.

    None if it is uncertain.
    """
    spread, error = _spread(whole, named)
    back = Excess.of(whole.crowd, whole.rest, whole.members)
    other, other_error = (0.0, error) if back is None else _spread(back, whole.rest)
    if spread > min(other + other_error + error, max(2.0 * error, MOST_SPREAD**2)):
        return False
    if spread + error < other - other_error:
        return True
    alike = other + other_error < (2.0 * MOST_SPREAD) ** 2
    return False if alike else None


def _spread(excess: Excess, workers: Mask) -> tuple[float, float]:
    """Return the relative variance of excess agreement without noise, and its standard error."""
    near, t, _ = excess.membership
    own = near[workers]
    noise = (own / np.where(t == 0.0, 1e-9, t)[workers]) ** 2
    mean = max(float(own.mean()), 1e-9)
    weights = 1.0 / (noise + (0.2 * mean) ** 2) ** 2  # workers with few tasks count less
    weights /= weights.sum()
    mean = max(float(weights @ own), 1e-9)
    variance = float(weights @ (own - mean) ** 2)
    error = variance * math.sqrt(2.0 * float((weights**2).sum()))
    return max(variance - float(weights @ noise), 0.0) / mean**2, error / mean**2


def _others(excess: Excess) -> float:
    """Return the mean excess agreement of other workers with the members."""
    near, _, tasks = excess.membership
    others = ~excess.members & (tasks > 0)
    return float(near[others].mean()) if others.any() else 0.0

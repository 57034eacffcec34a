"""Guarantees of polls with shuffling; see ``docs/theory/shuffling.md``."""

from __future__ import annotations

import math
import textwrap
from typing import Any

from attrs import frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.mechanism import Mechanism, check_mechanism
from quietcrowd.privacy.guarantee import MOST_REPORTS, PrivacyGuarantee
from quietcrowd.privacy.rounding import show_loss
from quietcrowd.privacy.shuffling import KeepOrReplace, ShuffledLoss, fewest_others, shuffled_loss
from quietcrowd.privacy.tail_bound import tail_at
from quietcrowd.validation import check_proportion, check_whole

__all__ = ["ShuffledGuarantee", "fewest_honest", "shuffled_assumption", "shuffled_guarantee"]

_FINER = 100
"""The tail follows from the pair at a delta smaller by this factor."""

_SOURCES = {
    "exact": "docs/theory/shuffling.md, numerically, over all answers of the others",
    "blanket": "Balle et al., CRYPTO 2019; docs/theory/shuffling.md",
    "clones": "Feldman, McMillan and Talwar, FOCS 2021; docs/theory/shuffling.md",
    "local": "the guarantee of each report: shuffling is not shown to add to it",
}


@frozen(kw_only=True)
class ShuffledGuarantee:
    """Privacy loss of one report, locally and, under an assumption, after shuffling.

    Neighboring inputs differ in one worker's answer. The attacker on the shuffled output sees
    reports without senders, and knows all other answers and which reports are dishonest.

    Attributes
    ----------
    local : PrivacyGuarantee
        Guarantee of the report itself, without a shuffler.
    honest : int
        Least number of honest reports, including the worker's own.
    epsilon, delta : float
        Pair of differential privacy of the shuffler's output.
    tail : float
        Loss exceeded with probability at most `delta`, against one other answer fixed beforehand.
    source : str
        Source of the proof of the pair.
    """

    local: PrivacyGuarantee
    honest: int
    epsilon: float
    delta: float
    tail: float
    source: str

    @property
    def assumption(self) -> str:
        """Assumption under which the pair and the tail are valid."""
        return shuffled_assumption(self.honest)

    def __str__(self) -> str:
        second = (
            f"Only if {self.assumption}: whoever sees this one output alone learns "
            f"(epsilon, delta) = ({show_loss(self.epsilon)}, {show_loss(self.delta, 3)}) about the "
            f"answer at most. Source: {self.source}."
        )
        return f"{self.local}\n{textwrap.fill(second, width=80, break_on_hyphens=False)}"


def shuffled_assumption(honest: int) -> str:
    """Return the assumption under which a guarantee after shuffling is valid.

    Examples
    --------
    >>> print(shuffled_assumption(500).partition(",")[0])
    the shuffler is honest and shows nobody who sent which report
    """
    return (
        "the shuffler is honest and shows nobody who sent which report, nothing else tells it, "
        "each report enters one published output only, "
        f"and at least {honest:,} of the reports, the worker's own among them, were randomised as "
        "they should be by workers who tell nobody what they sent"
    )


def shuffled_guarantee(mechanism: Mechanism, *, honest: int, delta: float) -> ShuffledGuarantee:
    """Return the guarantee of one report in a poll with shuffling.

    It protects against attackers that see one published output. A report may enter only one, since
    the difference of two shows the counts of a smaller group, down to a single late report.

    Parameters
    ----------
    mechanism : Mechanism
        Mechanism with a finite guarantee without a delta.
    honest : int
        Least number of honest reports, including one's own. If in doubt, give a smaller number.
    delta : float
        Above 0 and below 1; it should be below one divided by the number of workers.

    Raises
    ------
    ParameterError
        If an argument is invalid, or the mechanism's guarantee has a delta or is infinite.

    Examples
    --------
    >>> from quietcrowd import Categorical, RandomizedResponse
    >>> mechanism = RandomizedResponse(domain=Categorical(["no", "yes"]), epsilon=1.0)
    >>> found = shuffled_guarantee(mechanism, honest=1_000, delta=1e-6)
    >>> found.local.epsilon <= 1.0, round(found.epsilon, 2)
    (True, 0.13)
    """
    check_mechanism(mechanism)
    check_whole("honest", honest, 1, MOST_REPORTS)
    check_proportion("delta", delta)
    local = _pure_guarantee(mechanism)
    pair, finer = (_loss_at(mechanism, local, honest, one) for one in (delta, delta / _FINER))
    return ShuffledGuarantee(
        local=local,
        honest=int(honest),
        epsilon=pair.epsilon,
        delta=float(delta),
        tail=min(local.worker_epsilon, tail_at(finer.epsilon, finer.delta, float(delta))),
        source=_SOURCES[pair.bound],
    )


def fewest_honest(mechanism: Mechanism, *, delta: float) -> int | None:
    """Return the fewest honest reports with which shuffling provably improves the guarantee.

    None if 10,000,000 of them do not suffice. Parameters and exceptions are those of
    `shuffled_guarantee`.

    Examples
    --------
    >>> from quietcrowd import Ordinal, SubsetSelection
    >>> mechanism = SubsetSelection(domain=Ordinal(range(20)), epsilon=2.5)
    >>> number = fewest_honest(mechanism, delta=1e-6)
    >>> shuffled_guarantee(mechanism, honest=number, delta=1e-6).epsilon < mechanism.epsilon
    True
    """
    check_mechanism(mechanism)
    check_proportion("delta", delta)
    local = _pure_guarantee(mechanism)
    others = fewest_others(local.worker_epsilon, float(delta), _response_of(mechanism))
    return None if others is None else others + 1


def _pure_guarantee(mechanism: Mechanism) -> PrivacyGuarantee:
    local = mechanism.guarantee(answers=1, tasks=1)
    if local.delta or math.isinf(local.worker_epsilon):
        raise ParameterError(
            f"a poll with shuffling needs a mechanism whose loss is bounded and has no delta; that "
            f"of {mechanism.name!r} is ({show_loss(local.worker_epsilon)}, "
            f"{show_loss(local.delta, 3)}). Take RandomizedResponse (on the command line: -m "
            "one-layer)."
        )
    return local


def _loss_at(
    mechanism: Mechanism, local: PrivacyGuarantee, honest: int, delta: float
) -> ShuffledLoss:
    return shuffled_loss(
        local.worker_epsilon, int(honest) - 1, float(delta), _response_of(mechanism)
    )


def _response_of(mechanism: Mechanism) -> KeepOrReplace | None:
    """Return the randomized response that a worker's report follows, or None."""
    channel: Any = mechanism.worker_channel
    if channel is None:
        return None
    sets = channel.sets
    if sets is not None and sets.members == 1:
        size, keep, other = sets.labels, float(sets.held), float(sets.held_other)
    elif channel.keep_and_other is not None:
        keep, other = channel.keep_and_other
        size = len(channel.probabilities)
    else:
        return None
    if size == 2 and keep < other:  # the same after swapping the labels
        keep, other = other, keep
    return KeepOrReplace(size=size, keep=keep, other=other) if keep > other > 0 else None

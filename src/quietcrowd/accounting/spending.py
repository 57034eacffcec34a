"""Charges of workers, their composition, and a filter for releases that depend on earlier ones.

Exact composition needs a schedule that is fixed beforehand. A device that decides by its spending
needs a privacy filter; only at delta 0 does the sum of its losses remain a bound. Theorem, proof
and checks: ``research/docs/theory/budgets.md``.
"""

import json
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from attrs import Factory, evolve, field, frozen

from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.privacy.guarantee import MOST_REPORTS
from quietcrowd.privacy.loss import LossDistribution, ReleaseLoss, pure_distribution
from quietcrowd.privacy.loss_grid import compose_losses, sum_losses
from quietcrowd.privacy.rounding import as_entered, decimal_up
from quietcrowd.privacy.tails import composed_tail
from quietcrowd.validation import check_real, check_text, check_whole, parse_json, plain

VERSION = 1

ChargeKey: TypeAlias = "tuple[str, str, Mechanism]"
"""Worker, campaign and mechanism."""


@frozen(kw_only=True)
class Charge:
    """Reports of one worker to one campaign with one mechanism.

    `count` is the number of answers, or of tasks if every task is reported. `spared` is the
    difference of the losses about `count` reports on unnamed tasks and about all of these together.
    It is 0 unless the mechanism has a smaller bound for named tasks.
    """

    worker: str
    campaign: str
    mechanism: Mechanism
    count: int
    spared: float = 0.0

    @property
    def key(self) -> ChargeKey:
        """Key of the charge in a ledger."""
        return self.worker, self.campaign, self.mechanism


def add_charge(charges: dict[ChargeKey, Charge], more: Charge) -> None:
    """Merge a charge into the one with the same key, in place; `spared` is rounded down."""
    key = more.key
    before = charges.get(key)
    count, spared = more.count, more.spared
    if before is not None:
        count += before.count
        both = before.spared and spared
        spared = math.nextafter(before.spared + spared, 0.0) if both else before.spared or spared
    what = f"all that {more.worker!r} reports to campaign {more.campaign!r}"
    check_whole(what, count, 1, MOST_REPORTS)
    charges[key] = more if before is None else evolve(more, count=count, spared=spared)


def write_charges(charges: Iterable[Charge]) -> str:
    """Write charges as text for `read_charges`."""
    listed = list(charges)
    mechanisms = list(dict.fromkeys(one.mechanism for one in listed))
    places = {mechanism: place for place, mechanism in enumerate(mechanisms)}
    return json.dumps(
        {
            "ledger": "quietcrowd",
            "version": VERSION,
            "mechanisms": [mechanism.to_dict() for mechanism in mechanisms],
            "charges": [
                [one.worker, one.campaign, places[one.mechanism], one.count]
                + [one.spared] * (one.spared > 0)
                for one in listed
            ],
        }
    )


def read_charges(text: Any) -> dict[ChargeKey, Charge]:
    """Read the text of `write_charges`; raise FormatError if it is invalid."""
    try:
        return _charges_of(_read_ledger(text))
    except RecursionError:
        raise FormatError("privacy.ledger-too-deep") from None


def _charges_of(data: dict[str, Any]) -> dict[ChargeKey, Charge]:
    listed, described = data.get("charges"), data.get("mechanisms")
    if not isinstance(listed, list) or not isinstance(described, list):
        raise FormatError("privacy.ledger-lists-missing")
    mechanisms = [Mechanism.from_dict(one) for one in described]
    charges: dict[ChargeKey, Charge] = {}
    for place, one in enumerate(listed):
        charge = _read_charge(place, one, mechanisms)
        if charge.key in charges:
            raise FormatError("privacy.charge-twice", place=place, one=one)
        charges[charge.key] = charge
    return charges


def _read_ledger(text: Any) -> dict[str, Any]:
    if not isinstance(text, str):
        raise FormatError("privacy.ledger-not-text", type_name=type(text).__name__)
    try:
        data = parse_json(text)
    except ValueError as error:
        raise FormatError("privacy.ledger-not-json", error=error) from None
    if not isinstance(data, dict) or data.get("ledger") != "quietcrowd":
        raise FormatError("privacy.ledger-key-missing")
    version = data.get("version")
    if version != VERSION or isinstance(version, bool):
        raise FormatError("privacy.ledger-version", version=version, other_version=VERSION)
    return data


def _read_charge(place: int, charge: Any, mechanisms: list[Mechanism]) -> Charge:
    try:
        worker, campaign, which, count, *rest = charge
        (less,) = rest or (0.0,)
        who = check_worker(worker)
        check_text("campaign", campaign)
        check_whole("mechanism", which, 0, len(mechanisms) - 1)
        check_whole("count", count, 1, MOST_REPORTS)
        check_real("loss spared by named tasks", less, 0)
    except (TypeError, ValueError) as error:
        raise FormatError(
            "privacy.charge-invalid", place=place, charge=charge, error=error
        ) from None
    mechanism = mechanisms[which]
    return Charge(
        worker=who, campaign=campaign, mechanism=mechanism, count=count, spared=float(less)
    )


def check_worker(worker: Any) -> str:
    """Return an id as text; raise ParameterError unless it is non-empty text or a whole number."""
    known = plain(worker)
    if isinstance(known, bool) or not isinstance(known, str | int):
        raise ParameterError("privacy.worker-not-an-id", worker=worker)
    if isinstance(known, str):
        check_text("worker", known)
    return str(known)


_Part: TypeAlias = "tuple[Mechanism, int, float]"

_ORDERS = 1 + np.geomspace(1e-3, 1e6, 2000)
"""Candidate orders of Renyi divergences; only the budget and its delta determine the choice."""

_SLACK = 1e-9
"""Exceeds the relative rounding error of the sums below."""

_OF_WEIGHTS = Fraction(1, 1000)
"""The loss by integer weights is below their target epsilon by at most this fraction."""


@frozen(kw_only=True)
class Spending:
    """Upper bounds on a worker's privacy losses; natural logarithms, rounded up.

    `answer_epsilon` and `answer_tail` are about one answer that every campaign asked for, given all
    others; `total_epsilon` and `total_tail` are about all answers together. At delta above 0, an
    epsilon is that of (epsilon, delta)-differential privacy, which does not bound the probability
    of a larger loss. The loss exceeds a tail with probability at most `delta`. At delta 0, each
    tail equals its epsilon.
    """

    worker: str
    answer_epsilon: float
    total_epsilon: float
    delta: float = 0.0
    answer_tail: float = field(default=Factory(lambda self: self.answer_epsilon, takes_self=True))
    total_tail: float = field(default=Factory(lambda self: self.total_epsilon, takes_self=True))


def spend(worker: str, charges: Iterable[Charge], delta: float) -> Spending:
    """Compose the charges of one worker; see `PrivacyLedger.spent`."""
    answer, total, answer_tail, total_tail = _composed(_parts(charges), delta)
    return Spending(
        worker=worker,
        answer_epsilon=answer,
        total_epsilon=total,
        delta=delta,
        answer_tail=answer_tail,
        total_tail=total_tail,
    )


def _parts(charges: Iterable[Charge]) -> tuple[_Part, ...]:
    return tuple((charge.mechanism, charge.count, charge.spared) for charge in charges)


def used_of_budget(charges: Iterable[Charge], budget: float, delta: float) -> float:
    """Return how much of a budget the charges of one worker use; see `PrivacyLedger.used`."""
    return _used(_parts(charges), budget, delta)


@lru_cache(maxsize=4096)
def _composed(parts: tuple[_Part, ...], delta: float) -> tuple[float, float, float, float]:
    """Return the losses about one answer and about all answers, then their tails."""
    if not delta:
        return _summed(parts) * 2
    losses = _losses(parts)
    answer = [(loss.answer, 1) for loss in losses]
    total = [(loss.each, loss.count) for loss in losses]
    pairs = compose_losses(answer, delta), compose_losses(total, delta)
    if len(parts) == 1 and not parts[0][2]:
        ((mechanism, count, _),) = parts
        tail = mechanism.tail(delta, answers=count, tasks=count)
        return *pairs, tail.epsilon, tail.total_epsilon
    return *pairs, composed_tail(answer, delta), composed_tail(total, delta)


@lru_cache(maxsize=4096)
def _used(parts: tuple[_Part, ...], budget: float, delta: float) -> float:
    counted = [counted_loss(*part) for part in parts]
    bounded = [loss for loss in counted if loss is not None]
    summed = decimal_up(sum(bounded, Fraction(0))) if len(bounded) == len(counted) else math.inf
    if not delta:
        return summed
    distributions = [(loss.each, loss.count) for loss in _losses(parts)]
    if math.isinf(summed):
        return filter_used(distributions, budget, delta)
    return min(summed, _by_order(distributions, budget, delta))


def counted_loss(mechanism: Mechanism, count: int, spared: float = 0.0) -> Fraction | None:
    """Return the use of a budget by `count` reports to one campaign; None if nothing bounds it.

    It is never below their loss. If the loss by one report is the entered epsilon up to the
    rounding of its weights, each counts as that decimal; see ``research/docs/theory/budgets.md``.
    `spared` is that of `Charge`.
    """
    stated = mechanism.guarantee(count, count)
    if stated.delta or math.isinf(stated.total_epsilon):
        return None
    one = Fraction(stated.epsilon)
    if stated.epsilon == mechanism.channel.epsilon:
        one = mechanism.channel.exact_epsilon
    if math.isfinite(stated.claimed_epsilon):
        entered = as_entered(stated.claimed_epsilon)
        if entered * (1 - _OF_WEIGHTS) <= one <= entered:
            one = entered
    whole = Fraction(stated.total_epsilon)
    if not spared and whole >= count * Fraction(stated.epsilon):  # losses only add up
        whole = count * one
    return max(one, whole - Fraction(spared))


def _losses(parts: tuple[_Part, ...]) -> list[ReleaseLoss]:
    return [
        _less(mechanism.loss(answers=count, tasks=count), spared)
        for mechanism, count, spared in parts
    ]


def _summed(parts: tuple[_Part, ...]) -> tuple[float, float]:
    """Return the losses about one answer and about all answers at delta 0."""
    stated = [(mechanism.guarantee(count, count), spared) for mechanism, count, spared in parts]
    if any(one.delta for one, _ in stated):
        return math.inf, math.inf
    whole = [_spared_of(one.total_epsilon, spared, one.epsilon) for one, spared in stated]
    return sum_losses([(one.epsilon, 1) for one, _ in stated]), sum_losses([(e, 1) for e in whole])


def _spared_of(whole: float, spared: float, least: float) -> float:
    """Return a loss reduced by `spared`, rounded up, and at least that of one answer."""
    return max(least, math.nextafter(whole - spared, math.inf)) if spared else whole


def _less(loss: ReleaseLoss, spared: float) -> ReleaseLoss:
    """Reduce the loss about all answers by `spared`; they become one release with a pure loss."""
    if not spared:
        return loss
    whole = sum_losses([(loss.each.pure_epsilon, loss.count)])
    left = _spared_of(whole, spared, loss.answer.pure_epsilon)
    return evolve(loss, each=pure_distribution(left), count=1)


def filter_used(
    parts: Sequence[tuple[LossDistribution, int]], budget: float, delta: float
) -> float:
    """Return how much of a budget releases use if each may depend on earlier ones.

    `parts` are loss distributions and how many releases have each. `budget` and `delta` are totals,
    fixed before the first release. If each release is made only while the result stays at most
    `budget`, all are (budget, delta)-private together. It never exceeds the sum of the pure losses.

    References
    ----------
    R. Rogers et al., "Privacy Odometers and Filters", NeurIPS 2016; V. Feldman, T. Zrnic,
    "Individual Privacy Accounting via a Renyi Filter", NeurIPS 2021; J. Whitehouse et al., "Fully
    Adaptive Composition in Differential Privacy", ICML 2023. ``research/docs/theory/budgets.md``.

    Examples
    --------
    >>> distribution = pure_distribution(0.1)
    >>> round(filter_used([(distribution, 100)], budget=5.0, delta=1e-5), 2)
    4.78
    >>> round(filter_used([(distribution, 10)], budget=5.0, delta=1e-5), 2)
    1.0
    """
    pure = sum_losses([(distribution.pure_epsilon, times) for distribution, times in parts])
    if delta == 0:
        return pure
    # A finite pure loss means that `lost` only represents rounding.
    lost = sum(
        (
            times * Fraction(distribution.lost)
            for distribution, times in parts
            if math.isinf(distribution.pure_epsilon)
        )
    )
    if lost > Fraction(delta) / 2:
        return pure
    summed = sum_losses([(distribution.epsilon, times) for distribution, times in parts])
    return min(summed, _by_order(parts, budget, delta))


def _by_order(parts: Sequence[tuple[LossDistribution, int]], budget: float, delta: float) -> float:
    """Return the use by Renyi divergences, at half of delta."""
    order = _order(budget, delta)
    renyi = math.fsum(times * _renyi(distribution, order) for distribution, times in parts)
    return (renyi + _price(order, delta)) * (1 + _SLACK)


def _renyi(distribution: LossDistribution, order: float) -> float:
    """Return a bound, over all pairs of rows, on the Renyi divergence of the finite losses."""
    if distribution.lost:  # a coin of the same epsilon is exact
        distribution = pure_distribution(distribution.epsilon)
    exponents = (order - 1) * distribution.losses
    top = float(exponents.max(initial=-math.inf))
    if math.isinf(top):
        return top if top > 0 else 0.0
    mean = float((distribution.masses * np.exp(exponents - top)).sum())
    return max(0.0, (top + math.log(mean)) / (order - 1))


def _price(order: float, delta: float) -> float:
    """Return the term that converts a Renyi divergence to an epsilon at half of delta."""
    largest = -math.log(order) + (order - 1) * math.log1p(-1 / order)
    return (largest - math.log(delta / 2)) / (order - 1)


@lru_cache(maxsize=256)
def _order(budget: float, delta: float) -> float:
    """Return the order at which most small releases fit; it depends on public numbers only."""
    room = [(budget - _price(float(order), delta)) / order for order in _ORDERS]
    return float(_ORDERS[int(np.argmax(room))])

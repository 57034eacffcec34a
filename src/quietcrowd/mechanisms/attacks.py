"""How each kind of mechanism is attacked: what an audit needs of it.

An attack knows what an adversary knows: the mechanism's public numbers, two rows of one worker that
differ in one cell, and what was sent. Its score is the log-likelihood ratio of the two rows under
the *public* law, the best statistic where the devices follow it. Where they do not, the score is
as good as any other: what it proves holds for whatever was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quietcrowd.domains import FiniteDomain, check_numeric
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.mechanisms.channel import FiniteChannel
from quietcrowd.mechanisms.discrete_laplace import DiscreteLaplace
from quietcrowd.mechanisms.grid import Grid
from quietcrowd.mechanisms.laplace_channel import BIT_GRID, LaplaceChannel
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.sampled_variance_channel import SampledVarianceChannel
from quietcrowd.mechanisms.sketch_channel import SketchChannel
from quietcrowd.mechanisms.task_profile import UNIT
from quietcrowd.mechanisms.worker_laws import UniformFlips, WorkerLaw
from quietcrowd.mechanisms.worker_sketch import moment_sensitivity, second_moments
from quietcrowd.privacy.attack import Attack, AuditPlan, ExactLoss
from quietcrowd.privacy.finite_table import table_delta, table_epsilon, worst_rows
from quietcrowd.privacy.guarantee import add_losses
from quietcrowd.privacy.observed import Observed
from quietcrowd.privacy.rounding import ratio_up
from quietcrowd.privacy.shared_weight import MAX_ROW, SharedWeight

__all__ = ["plan_audit"]

Floats: TypeAlias = npt.NDArray[np.float64]

VARIANCES = 240
"""Variances that a mixture of Gaussian laws is summed over."""

VALUE = "one answer against another"
NULL = "an answer against none"


def plan_audit(mechanism: Mechanism, answers: int) -> AuditPlan:
    """Return how a mechanism is to be audited; see `Mechanism.plan_audit`."""
    if answers > MAX_ROW:
        raise ParameterError(f"an audit takes at most {MAX_ROW:,} answers; got {answers:,}")
    channel = mechanism.channel
    if isinstance(channel, FiniteChannel):
        law = getattr(mechanism, "worker_law", None)
        if isinstance(law, WorkerLaw) and answers > 1:
            return _plan_shared(mechanism, law, answers)
        return _plan_finite(mechanism, channel, answers)
    if isinstance(channel, LaplaceChannel):
        return _plan_laplace(mechanism, channel, answers)
    if isinstance(channel, SampledVarianceChannel):
        return _plan_drawn_variance(mechanism, channel, answers)
    if isinstance(channel, SketchChannel):
        return _plan_sketch(mechanism, channel, answers)
    return _plan_unknown(mechanism, answers)


def _ends(mechanism: Mechanism) -> tuple[Any, Any]:
    """Return what is stored for the lowest and the highest answer."""
    domain = mechanism.domain
    if isinstance(domain, FiniteDomain):
        return 0, domain.size - 1
    return domain.low, domain.high  # type: ignore[attr-defined]


def _places(mechanism: Mechanism, grid: Grid, stored: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Return the places on the grid of stored answers."""
    domain = check_numeric(mechanism.domain, "the mechanism")
    dtype = domain.dtype if isinstance(domain, FiniteDomain) else np.dtype(np.float64)
    return grid.places(domain.numbers(np.array(stored, dtype))).astype(np.int64)


def _rows(one: Any, other: Any, answers: int) -> tuple[list[Any], list[Any]]:
    """Return two rows that differ in the first cell; noise that serves two cells shows in them.

    The second cell is as the first of the one row, the third as the first of the other: where both
    have the same noise, their reports are alike under one row and never under the other.
    """
    rest = [one, other][: answers - 1]
    return [one, *rest], [other, *rest]


def _fresh(
    name: str, rows: tuple[list[Any], list[Any]], score: Callable[[Observed], Floats]
) -> Attack:
    """Return the attack on rows whose cells each have noise of their own."""
    one, other = rows
    return Attack(name=name, tasks=range(len(one)), one=one, other=other, score=score)


def _plan_finite(mechanism: Mechanism, channel: FiniteChannel, answers: int) -> AuditPlan:
    weights, labels = channel.weights, getattr(mechanism.domain, "size", channel.answers)
    epsilon = table_epsilon(weights)
    pairs = [(VALUE, *worst_rows(weights, labels))]
    if mechanism.every_task:
        pairs.append((NULL, 0, labels))
    logs = np.log(np.maximum(weights.astype(np.float64), 0.5))

    def score(one: int, other: int, observed: Observed) -> Floats:
        first = observed.cells[:, 0]
        missing = np.isnan(first)
        gains = logs[one] - logs[other]
        return np.where(missing, np.nan, gains[np.where(missing, 0, first).astype(np.intp)])

    def attack(name: str, one: int, other: int) -> Attack:
        rows = _rows(one, None if other == labels else other, answers)
        return _fresh(name, rows, partial(score, one, other))

    return AuditPlan(
        exact=ExactLoss(
            epsilon=epsilon,
            worker_epsilon=add_losses(epsilon, answers),
            delta_at=partial(table_delta, weights),
        ),
        attacks=[attack(*pair) for pair in pairs],
    )


def _plan_shared(mechanism: Mechanism, worker_law: WorkerLaw, answers: int) -> AuditPlan:
    others = mechanism.size - 1  # type: ignore[attr-defined]
    if isinstance(worker_law, UniformFlips):
        low, high = worker_law.bounds
        law = SharedWeight.even(low=low, high=high, others=others)
    else:
        table = np.array(worker_law.table, np.float64)  # type: ignore[attr-defined]
        law = SharedWeight.listed(table, others=others, null=mechanism.every_task)
    null = mechanism.domain.size  # type: ignore[attr-defined]

    def value_score(observed: Observed) -> Floats:
        cells = observed.cells
        gains = law.value_gains(answers)[(cells[:, 1:] == 0).sum(axis=1)]
        return np.where(cells[:, 0] == 0, gains, np.where(cells[:, 0] == 1, -gains, 0.0))

    def null_score(observed: Observed) -> Floats:
        cells = observed.cells
        agree = (cells[:, 1:] == 0).sum(axis=1)
        kept, became_null, neither = (gains[agree] for gains in law.null_gains(answers))
        first = cells[:, 0]
        scores = np.where(first == 0, kept, np.where(first == null, became_null, neither))
        return np.where(np.isnan(first), np.nan, scores)

    rest = [0] * (answers - 1)
    cases = [(VALUE, 1, value_score)]
    if mechanism.every_task:
        cases.append((NULL, None, null_score))  # type: ignore[arg-type]
    return AuditPlan(
        exact=ExactLoss(
            epsilon=law.cell_epsilon(answers),
            worker_epsilon=law.row_epsilon(answers),
            delta_at=partial(law.delta, answers),
            rounding=1e-9,
        ),
        attacks=[
            Attack(
                name=name, tasks=range(answers), one=[0, *rest], other=[other, *rest], score=score
            )
            for name, other, score in cases
        ],
    )


def _log_laplace(numbers: npt.NDArray[Any], places: Sequence[int], scale: float) -> Floats:
    """Return ln of the law of numbers, up to a constant: Laplace noise around one of `places`."""
    away = np.abs(numbers[:, np.newaxis] - np.asarray(places, np.float64)) / -scale
    top = away.max(axis=1)
    mean: Floats = top + np.log(np.exp(away - top[:, np.newaxis]).mean(axis=1))
    return mean


def _plan_laplace(mechanism: Mechanism, channel: LaplaceChannel, answers: int) -> AuditPlan:
    grid, noise, bit_noise = channel.grid, channel.noise, channel.participation_noise
    low, high = _ends(mechanism)
    bottom, top = _places(mechanism, grid, [low, high]).tolist()
    losses = [Fraction(top - bottom) / Fraction(noise.scale)]
    if bit_noise is not None:
        moved = max(grid.middle - bottom, top - grid.middle)
        bit = Fraction(BIT_GRID.steps) / Fraction(bit_noise.scale)
        losses.append(Fraction(moved) / Fraction(noise.scale) + bit)
    epsilon = ratio_up(max(losses))
    fillings = _fillings(mechanism, channel)

    def value_score(observed: Observed) -> Floats:
        sent = observed.cells[:, 0]
        return _log_laplace(sent, [top], noise.scale) - _log_laplace(sent, [bottom], noise.scale)

    def null_score(observed: Observed) -> Floats:
        sent = observed.cells[:, 0]
        gain = _log_laplace(sent, [top], noise.scale) - _log_laplace(sent, fillings, noise.scale)
        if bit_noise is not None and observed.bits is not None:
            bits = observed.bits[:, 0]
            gain += _log_laplace(bits, [BIT_GRID.steps], bit_noise.scale)
            gain -= _log_laplace(bits, [0], bit_noise.scale)
        return gain

    attacks = [_fresh(VALUE, _rows(high, low, answers), value_score)]
    if mechanism.every_task:
        attacks.append(_fresh(NULL, _rows(high, None, answers), null_score))
    exact = ExactLoss(epsilon=epsilon, worker_epsilon=add_losses(epsilon, answers))
    return AuditPlan(exact=exact, attacks=attacks)


def _fillings(mechanism: Mechanism, channel: LaplaceChannel) -> list[int]:
    """Return the places that stand for a missing answer, equally likely; at most 1,025 of them."""
    grid, domain = channel.grid, mechanism.domain
    if channel.fill is None or channel.fill == "midpoint":
        return [grid.middle]
    if channel.fill != "uniform":
        return [grid.place(float(channel.fill))]
    if isinstance(domain, FiniteDomain):
        return [int(place) for place in _places(mechanism, grid, range(domain.size))]
    return [*range(0, grid.steps + 1, max(1, grid.steps // 1024))]


def _plan_drawn_variance(
    mechanism: Mechanism, channel: SampledVarianceChannel, answers: int
) -> AuditPlan:
    low, high = _ends(mechanism)
    bottom, top = _places(mechanism, channel.grid, [low, high]).tolist()
    amounts = np.geomspace(1e-9, 40.0, VARIANCES)
    variances = channel.law.least + amounts / channel.law.rate
    log_chances = np.log(amounts) - amounts - answers / 2 * np.log(variances)

    def log_law(squares: Floats) -> Floats:
        terms = log_chances - squares[:, np.newaxis] / (2 * variances)
        most = terms.max(axis=1)
        mixed: Floats = most + np.log(np.exp(terms - most[:, np.newaxis]).sum(axis=1))
        return mixed

    def score(observed: Observed) -> Floats:
        sent = observed.cells
        others = ((sent[:, 1:] - bottom) ** 2).sum(axis=1)
        away = [(sent[:, 0] - place) ** 2 + others for place in (top, bottom)]
        return log_law(away[0]) - log_law(away[1])

    rest = [low] * (answers - 1)
    attack = Attack(
        name=VALUE, tasks=range(answers), one=[high, *rest], other=[low, *rest], score=score
    )
    return AuditPlan(exact=None, attacks=[attack])


def _plan_sketch(mechanism: Mechanism, channel: SketchChannel, answers: int) -> AuditPlan:
    profile = channel.profile.matrix(pa.array(range(answers)))
    norms = np.abs(profile).sum(axis=1)
    hides = mechanism.participation_protected
    most = answers if hides else min(answers, max(64, 2 * channel.profile.rank))
    tasks = sorted(range(most), key=lambda task: -norms[task])
    low, high = _ends(mechanism)
    if hides:
        tasks = tasks[:3]
        far = high if channel.grid.steps - channel.centre >= channel.centre else low
        pairs = [(VALUE, *_rows(high, low, answers)), (NULL, *_rows(far, None, answers))]
    else:  # which tasks are answered must not differ
        rest = [low] * (len(tasks) - 1)
        pairs = [(VALUE, [high, *rest], [low, *rest])]
    sketch = _SketchLaw(mechanism, channel, tasks)
    epsilon = _sketch_epsilon(mechanism, channel, profile)
    whole = mechanism.guarantee(answers=answers, tasks=range(answers)).worker_epsilon
    return AuditPlan(
        exact=ExactLoss(epsilon=epsilon, worker_epsilon=min(whole, add_losses(epsilon, answers))),
        attacks=[
            Attack(
                name=name,
                tasks=tasks,
                one=one,
                other=other,
                score=sketch.score(one, other),
                numbers=sketch.sums,
            )
            for name, one, other in pairs
        ],
    )


def _sketch_epsilon(
    mechanism: Mechanism, channel: SketchChannel, profile: npt.NDArray[np.int64]
) -> float:
    """Return the loss about a cell from the 1-norms of the task profiles: exact, in integers."""
    grid = channel.grid
    bottom, top = _places(mechanism, grid, _ends(mechanism)).tolist()
    scale = Fraction(channel.noise.scale)
    norms = [int(norm) for norm in np.abs(profile).sum(axis=1)]
    losses = [Fraction((top - bottom) * max(norms)) / scale]
    if channel.moments_epsilon:
        moment_scale = Fraction(_moment_noise(channel, profile).scale)
        away = max(abs(top - channel.centre), abs(bottom - channel.centre))
        losses += [
            Fraction(away * norm) / scale + Fraction(moment_sensitivity(row)) / moment_scale
            for norm, row in zip(norms, profile[:, np.newaxis], strict=True)
        ]
    return ratio_up(max(losses))


def _moment_noise(channel: SketchChannel, profile: npt.NDArray[np.int64]) -> DiscreteLaplace:
    return DiscreteLaplace.for_loss(moment_sensitivity(profile), channel.moments_epsilon)


class _SketchLaw:
    """The law of what devices send, given rows of some tasks."""

    def __init__(self, mechanism: Mechanism, channel: SketchChannel, tasks: Sequence[int]) -> None:
        # Devices have the tasks in the order of their ids; rows come in the order of `tasks`.
        self.profile = channel.profile.matrix(pa.array(list(tasks)))
        self.mechanism, self.channel = mechanism, channel

    def score(self, one: Sequence[Any], other: Sequence[Any]) -> Callable[[Observed], Floats]:
        """Return the score that tells two rows apart."""
        places = [self._exact(row) for row in (one, other)]
        scales = np.full(len(places[0]), self.channel.noise.scale)
        if self.channel.moments_epsilon:
            scales[self.channel.profile.rank :] = _moment_noise(self.channel, self.profile).scale

        def score(observed: Observed) -> Floats:
            sent = self._sums(observed)
            away = [(np.abs(sent - place) / scales).sum(axis=1) for place in places]
            gain: Floats = away[1] - away[0]
            return gain

        return score

    def sums(self, observed: Observed) -> Floats:
        """Return the noisy sums of each worker, those first that the first task moves most."""
        sent = self._sums(observed)
        moved = np.argsort(-np.abs(self.profile[0]), kind="stable")
        return sent[:, [*moved, *range(len(moved), sent.shape[1])]]

    def _exact(self, row: Sequence[Any]) -> Floats:
        """Return what a device with this row computes before noise."""
        channel = self.channel
        answered = np.array([value is not None for value in row])
        stored = [value for value in row if value is not None]
        moved = _places(self.mechanism, channel.grid, stored) - channel.centre
        sums = moved @ self.profile[answered]
        if channel.moments_epsilon:
            moments = second_moments(self.profile, answered[np.newaxis])[0]
            sums = np.concatenate([sums, moments])
        exact: Floats = sums.astype(np.float64)
        return exact

    def _sums(self, observed: Observed) -> Floats:
        """Return the noisy sums, also where devices send what they solved from them."""
        sent, length = observed.sketches, self.mechanism.sketch_length  # type: ignore[attr-defined]
        if sent is None or sent.shape[1] != length:
            what = "none" if sent is None else f"{sent.shape[1]:,}"
            raise AnswerError(f"each worker must send a sketch of {length:,} numbers; got {what}")
        if self.mechanism.participation_protected:
            return sent
        rank, ridge = self.channel.profile.rank, getattr(self.mechanism, "ridge", 0.0)
        whole = self.profile.T @ self.profile / UNIT**2 + ridge * np.eye(rank)
        sums: Floats = sent @ whole * (UNIT / self.channel.grid.step)
        return sums


def _plan_unknown(mechanism: Mechanism, answers: int) -> AuditPlan:
    """Attack a mechanism of another kind through numbers that it sends; a projection is learnt."""
    low, high = _ends(mechanism)
    rest = [low] * (answers - 1)
    rows = [(VALUE, [high, *rest], [low, *rest])]
    if mechanism.participation_protected:
        rows.append((NULL, [high, *rest], [None, *rest]))

    return AuditPlan(
        exact=None,
        attacks=[
            Attack(name=name, tasks=range(answers), one=one, other=other, score=None)
            for name, one, other in rows
        ],
    )

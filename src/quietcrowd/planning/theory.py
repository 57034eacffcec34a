"""Theoretical error of a campaign, used only as a coordinate that orders campaigns.

Labels use the Chernoff information of the composed channel, numbers the Fisher information of the
composed distribution. Derivation and omissions: ``research/docs/theory/planning.md``.
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from quietcrowd.inference.numbers.normal_laplace import NormalLaplace
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.planning.crowd_assumption import (
    CrowdAssumption,
    CrowdSize,
    LabelCrowd,
    NumberCrowd,
)

Floats = npt.NDArray[np.float64]

EXPONENTS = np.linspace(0.02, 0.98, 49)

QUANTILES = 9

POINTS = np.linspace(-8.0, 8.0, 161)
"""Standard deviations over which a normal expectation is integrated."""


def theory_error(
    assumption: CrowdAssumption, size: CrowdSize, mechanism: Mechanism | None
) -> float | None:
    """Return the theoretical error rate, or mean absolute error, of a campaign with known workers.

    It decreases with answers and epsilon like the error of the method, up to a curve that few
    simulations determine. None if the distribution of the reports has no known form.
    """
    worlds: Sequence[CrowdAssumption] = getattr(assumption, "worlds", (assumption,))
    found = [_of_one_distribution(world, size, mechanism) for world in worlds]
    known = [error for error in found if error is not None]
    return float(np.mean(known)) if len(known) == len(found) else None


def _of_one_distribution(
    distribution: CrowdAssumption, size: CrowdSize, mechanism: Mechanism | None
) -> float | None:
    channel = None if mechanism is None else mechanism.channel
    if isinstance(distribution, LabelCrowd):
        return _label_error(distribution, size, channel)
    return (
        _number_error(distribution, size, channel)
        if isinstance(distribution, NumberCrowd)
        else None
    )


def _label_error(
    distribution: LabelCrowd, size: CrowdSize, channel: Channel | None
) -> float | None:
    labels = distribution.domain.size
    skills = np.array(distribution.accuracies or _usual_skills(distribution))
    if distribution.accuracies:
        skills = np.quantile(skills, (np.arange(QUANTILES) + 0.5) / QUANTILES)
    guess = (
        np.full(labels, 1 / labels)
        if distribution.guesses is None
        else np.array(distribution.guesses)
    )
    truths = (
        np.full(labels, 1 / labels)
        if distribution.truths is None
        else np.array(distribution.truths)
    )
    known = np.clip((skills - 1 / labels) / (1 - 1 / labels), 0.0, 1.0)
    per_worker = []
    for share in known:
        answers = share * np.eye(labels) + (1 - share) * guess
        information = _worker_information(answers, truths / truths.sum(), channel)
        if information is None:
            return None
        per_worker.append(information)
    weights = np.full(len(known), 1.0)
    if not distribution.accuracies:
        weights[:] = 1 - distribution.guessers
    error: float = _error_of_labels(labels, size.per_task * float(np.mean(weights * per_worker)))
    if distribution.pull <= (1 - distribution.pull) * float(np.mean(weights * known)):
        return error
    lured: float = (1 - distribution.misled) * error + distribution.misled * (
        1 - error / (labels - 1)
    )
    return lured


def _usual_skills(distribution: LabelCrowd) -> Floats:
    apart = np.linspace(-1.5, 1.5, QUANTILES)
    skills: Floats = np.clip(distribution.accuracy + distribution.accuracy_sd * apart, 0.0, 1.0)
    return skills


def _worker_information(answers: Floats, truths: Floats, channel: Channel | None) -> float | None:
    labels = len(truths)
    if channel is not None and channel.probabilities is None and channel.sets is None:
        return None
    if channel is not None and channel.probabilities is None:
        one, other = _pairs_of_sets(answers, channel)
        found = _information_of(one[:, :, np.newaxis], other[:, :, np.newaxis])[:, :, 0, 0]
    else:
        reports = answers
        if channel is not None and channel.probabilities is not None:
            reports = answers @ channel.probabilities[:labels]
        found = _information_of(reports, reports)
    weights = np.outer(truths, truths) * (1 - np.eye(labels))
    total = float(weights.sum())
    return float((weights * found).sum()) / total if total else 0.0


def _pairs_of_sets(answers: Floats, channel: Channel) -> tuple[Floats, Floats]:
    """Return distributions of a set for each pair of truths, shapes (labels, labels, 3).

    A set contains only the first of the pair, only the second, or both or neither.
    """
    distribution = channel.sets
    assert distribution is not None
    labels, members = len(answers), distribution.members
    inside, outside = np.exp(distribution.logs)
    held = math.comb(labels - 3, members - 2) if members > 1 and labels > 2 else 0
    free = math.comb(labels - 3, members - 1) if labels > 2 else 0
    third = held * inside + free * outside
    own, wrong = map(float, distribution.parted)
    right = np.diag(answers)[:, np.newaxis]
    rest = 1 - right - answers

    def of_truth(first: Floats, second: Floats) -> Floats:
        one = own * first + wrong * second + third * rest
        other = wrong * first + own * second + third * rest
        return np.stack([one, other, 1 - one - other], axis=2)

    return of_truth(right, answers), of_truth(answers, right).transpose(1, 0, 2)


def chernoff_information(one: npt.ArrayLike, other: npt.ArrayLike) -> float:
    """Return the Chernoff information ``- min over s of ln sum p^s q^(1-s)``, in nats.

    With n reports, the error of the best test between both distributions falls as ``exp(-n C)``. s
    is searched in steps of .02.
    """
    distributions = np.array([one, other], np.float64)
    return float(_information_of(distributions[:1], distributions[1:])[0, 0])


def _information_of(one: Floats, other: Floats) -> Floats:
    """Return the Chernoff information between each row of `one` and of `other`, in nats."""
    logs = np.log(np.maximum(one, 1e-300))
    others = np.swapaxes(np.log(np.maximum(other, 1e-300)), -1, -2)
    sums = [np.exp(share * logs) @ np.exp((1 - share) * others) for share in EXPONENTS]
    found: Floats = np.maximum(-np.log(np.min(sums, axis=0)), 0.0)
    return found


def _error_of_labels(labels: int, information: float) -> float:
    """Return P(a wrong one of k normal scores is largest); the truth's is ``2 sqrt(C)`` ahead."""
    density = np.exp(-(POINTS**2) / 2)
    right = ndtr(POINTS + 2 * math.sqrt(information)) ** (labels - 1) @ density / density.sum()
    return max(1.0 - float(right), 1e-12)


def _number_error(
    distribution: NumberCrowd, size: CrowdSize, channel: Channel | None
) -> float | None:
    if distribution.errors:
        sigmas = np.quantile(distribution.errors, (np.arange(QUANTILES) + 0.5) / QUANTILES)
        knowing = 1.0
    else:
        sigmas = distribution.error * distribution.error_factor ** np.linspace(-1.5, 1.5, QUANTILES)
        knowing = 1 - distribution.guessers
    least = 1e-9 * (distribution.domain.high - distribution.domain.low)
    sigmas = np.maximum(sigmas, least)
    shift = None if channel is None else channel.shift
    if channel is None:
        precisions = sigmas**-2.0
    elif shift is not None and shift.noise.laplace_scale is not None:
        precisions = NormalLaplace(sigmas, shift.scale).fisher_information
    elif shift is not None:
        precisions = 1 / (sigmas**2 + shift.variance)
    elif channel.bounded_distribution is not None:
        precisions = 1 / (sigmas**2 + channel.bounded_distribution.most_variance)
    else:
        return None
    own = 1 / max(size.per_task * knowing * float(np.mean(precisions)), 1e-300)
    known = own + (distribution.shared * distribution.error) ** 2  # more answers do not reduce this
    return math.sqrt(2 / math.pi / (1 / known + distribution.spread**-2.0))

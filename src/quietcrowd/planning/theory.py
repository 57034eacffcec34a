"""The error that theory expects: a coordinate that orders campaigns, and no more than that.

Labels go by the Chernoff information of the composed channel, numbers by the Fisher information of
the composed law. Derivation, and what is left out: ``docs/theory/planning.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from quietcrowd.inference.kernels.normal_laplace import NormalLaplace
from quietcrowd.mechanisms.channel import Channel
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.planning.crowd_assumption import (
    CrowdAssumption,
    CrowdSize,
    LabelAssumption,
    NumberAssumption,
)

__all__ = ["chernoff_information", "theory_error"]

Floats = npt.NDArray[np.float64]

EXPONENTS = np.linspace(0.02, 0.98, 49)
"""Exponents among which Chernoff's is looked for."""

QUANTILES = 9
"""So many workers stand for a crowd."""

POINTS = np.linspace(-8.0, 8.0, 161)
"""Standard deviations over which a normal mean is taken."""


def theory_error(
    assumption: CrowdAssumption, size: CrowdSize, mechanism: Mechanism | None
) -> float | None:
    """Return the error that theory expects of a campaign whose workers are known.

    Parameters
    ----------
    assumption : CrowdAssumption
        Of the crowd; of several laws the mean is taken.
    size : CrowdSize
        Of the campaign.
    mechanism : Mechanism or None
        None: answers come in plain.

    Returns
    -------
    float or None
        A share of wrong labels, or a mean absolute error. It falls with each answer and with
        epsilon as the error of the method does, but for a curve that few simulations tell. None
        where the law of the reports has no form that is known here.
    """
    worlds: Sequence[CrowdAssumption] = getattr(assumption, "worlds", (assumption,))
    found = [_of_one_law(world, size, mechanism) for world in worlds]
    known = [error for error in found if error is not None]
    return float(np.mean(known)) if len(known) == len(found) else None


def _of_one_law(law: CrowdAssumption, size: CrowdSize, mechanism: Mechanism | None) -> float | None:
    channel = None if mechanism is None else mechanism.channel
    if isinstance(law, LabelAssumption):
        return _label_error(law, size, channel)
    return _number_error(law, size, channel) if isinstance(law, NumberAssumption) else None


def _label_error(law: LabelAssumption, size: CrowdSize, channel: Channel | None) -> float | None:
    """Return the error with the Chernoff information that the answers to a task have."""
    labels = law.domain.size
    skills = np.array(law.accuracies or _usual_skills(law))
    if law.accuracies:
        skills = np.quantile(skills, (np.arange(QUANTILES) + 0.5) / QUANTILES)
    guess = np.full(labels, 1 / labels) if law.guesses is None else np.array(law.guesses)
    truths = np.full(labels, 1 / labels) if law.truths is None else np.array(law.truths)
    known = np.clip((skills - 1 / labels) / (1 - 1 / labels), 0.0, 1.0)
    told = []
    for share in known:
        answers = share * np.eye(labels) + (1 - share) * guess
        information = _worker_information(answers, truths / truths.sum(), channel)
        if information is None:
            return None
        told.append(information)
    weights = np.full(len(known), 1.0)
    if not law.accuracies:
        weights[:] = 1 - law.guessers
    error: float = _error_of_labels(labels, size.per_task * float(np.mean(weights * told)))
    if law.pull <= (1 - law.pull) * float(np.mean(weights * known)):
        return error
    lured: float = (1 - law.misled) * error + law.misled * (1 - error / (labels - 1))
    return lured


def _usual_skills(law: LabelAssumption) -> Floats:
    apart = np.linspace(-1.5, 1.5, QUANTILES)
    skills: Floats = np.clip(law.accuracy + law.accuracy_sd * apart, 0.0, 1.0)
    return skills


def _worker_information(answers: Floats, truths: Floats, channel: Channel | None) -> float | None:
    """Return the mean Chernoff information of one report over pairs of different truths."""
    labels = len(truths)
    if channel is not None and channel.probabilities is None and channel.sets is None:
        return None
    reports = answers
    if channel is not None and channel.probabilities is not None:
        reports = answers @ channel.probabilities[:labels]
    total = weight = 0.0
    for one in range(labels):
        for other in range(one):
            laws = reports[[one, other]]
            if channel is not None and channel.probabilities is None:
                laws = answers[[one, other]] @ _pair_of_sets(channel, labels, one, other)
            pair = truths[one] * truths[other]
            total += pair * chernoff_information(laws[0], laws[1])
            weight += pair
    return total / weight if weight else 0.0


def _pair_of_sets(channel: Channel, labels: int, one: int, other: int) -> Floats:
    """Return how probable it is, by answer, that a set holds only one, only the other, or neither.

    Sets that hold both tell nothing of which, as those that hold neither: they are one report.
    """
    law = channel.sets
    assert law is not None
    members = law.members
    inside, outside = np.exp(law.logs)
    held = math.comb(labels - 3, members - 2) if members > 1 and labels > 2 else 0
    free = math.comb(labels - 3, members - 1) if labels > 2 else 0
    third = held * inside + free * outside
    table = np.tile([third, third, 1 - 2 * third], (labels, 1))
    own, wrong = map(float, law.parted)
    table[one] = own, wrong, 1 - own - wrong
    table[other] = wrong, own, 1 - own - wrong
    return table


def chernoff_information(one: npt.ArrayLike, other: npt.ArrayLike) -> float:
    """Return the Chernoff information of two laws: ``- min over s of ln sum p^s q^(1-s)``, in nats.

    The error of the best test between them falls as ``exp(-n C)`` with n reports (Chernoff, Annals
    of Mathematical Statistics 1952). s is looked for in steps of .02.

    Examples
    --------
    >>> round(chernoff_information([0.9, 0.1], [0.1, 0.9]), 4)
    0.5108
    """
    laws = np.maximum(np.array([one, other], np.float64), 1e-300)
    logs = np.log(laws)
    sums = np.exp(EXPONENTS[:, np.newaxis] * logs[0] + (1 - EXPONENTS)[:, np.newaxis] * logs[1])
    return max(-math.log(float(sums.sum(axis=1).min())), 0.0)


def _error_of_labels(labels: int, information: float) -> float:
    """Return how often the largest of k normal scores is not the right one.

    The right one is ``2 sqrt(C)`` standard deviations ahead: two then have the Chernoff information
    C, and an error of about ``exp(-C)``; with C = 0 it is that of a guess.
    """
    density = np.exp(-(POINTS**2) / 2)
    right = ndtr(POINTS + 2 * math.sqrt(information)) ** (labels - 1) @ density / density.sum()
    return max(1.0 - float(right), 1e-12)


def _number_error(law: NumberAssumption, size: CrowdSize, channel: Channel | None) -> float | None:
    """Return the mean distance of a normal law with the Fisher information of a task's answers."""
    if law.errors:
        sigmas = np.quantile(law.errors, (np.arange(QUANTILES) + 0.5) / QUANTILES)
        knowing = 1.0
    else:
        sigmas = law.error * law.error_factor ** np.linspace(-1.5, 1.5, QUANTILES)
        knowing = 1 - law.guessers
    least = 1e-9 * (law.domain.high - law.domain.low)
    sigmas = np.maximum(sigmas, least)
    shift = None if channel is None else channel.shift
    if channel is None:
        told = sigmas**-2.0
    elif shift is not None and shift.noise.laplace_scale is not None:
        told = NormalLaplace(sigmas, shift.scale).fisher_information
    elif shift is not None:
        told = 1 / (sigmas**2 + shift.variance)
    elif channel.bounded_law is not None:
        told = 1 / (sigmas**2 + channel.bounded_law.most_variance)
    else:
        return None
    own = 1 / max(size.per_task * knowing * float(np.mean(told)), 1e-300)
    known = own + (law.shared * law.error) ** 2  # no number of answers makes that less
    return math.sqrt(2 / math.pi / (1 / known + law.spread**-2.0))

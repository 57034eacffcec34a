"""One crowd, one mechanism, the real method: how far it is off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from attrs import frozen

from quietcrowd.datasets.dataset import Dataset
from quietcrowd.domains import FiniteDomain
from quietcrowd.evaluation.metrics import KnownNumbers, score_for
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.noise_aware import NoiseAware
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.planning.crowd_assumption import CrowdAssumption, CrowdSize

__all__ = ["SimulatedError", "simulate", "simulated_size"]

MOST_LABELLED = 1_000
"""So many tasks with labels are simulated at most: more are alike."""

MOST_MEASURED = 200
"""The same of tasks with numbers, whose inference takes longer."""

MANY = 200
"""Of a worker with so many answers no more are needed to know how good it is."""

LEAST_WORKERS = 20
"""A smaller crowd is not cut down: with fewer workers who they are is chance."""


@frozen(kw_only=True)
class SimulatedError:
    """What one simulation found.

    Attributes
    ----------
    error : float
        Share of wrong labels, or mean absolute error in the unit of the domain.
    variance : float
        Of the error of one task, from task to task.
    tasks : int
        So many tasks were simulated.
    constant : float
        The error of the best constant guess.
    """

    error: float
    variance: float
    tasks: int
    constant: float


def simulate(
    crowd: Dataset,
    mechanism: Mechanism | None,
    seed: int | Sequence[int],
    method: FittingMethod[Any, Any] | None = None,
) -> SimulatedError:
    """Randomise a drawn crowd's answers, infer the truths, and compare.

    Parameters
    ----------
    crowd : Dataset
        With all truths, as `CrowdAssumption.draw` gives it.
    mechanism : Mechanism or None
        What the devices do; None: answers come in plain.
    seed : int, or sequence of int
        Of the noise.
    method : optional
        By default `NoiseAware`.

    Notes
    -----
    Two warnings are of no use here and are best ignored by the caller: that the noise is a
    simulation's, and that it hides the truths.

    Examples
    --------
    >>> import warnings
    >>> import quietcrowd as qc
    >>> warnings.simplefilter("ignore", qc.exceptions.QuietcrowdWarning)
    >>> crowd = qc.label_crowd(tasks=200, workers=40, answers_per_worker=50)
    >>> mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    >>> simulate(crowd, mechanism, seed=0).error < simulate(crowd, None, seed=0).constant
    True
    """
    used = NoiseAware() if method is None else method
    answers = crowd.answers.canonical  # the order that reports are in
    source: Any = answers
    if mechanism is not None:
        source = mechanism.randomize(answers, rng=np.random.default_rng(seed))
    estimate = used.fit(source, threads=1)
    score = score_for(answers, crowd.truths, [used])
    if isinstance(score, KnownNumbers):
        apart = np.abs(score.estimated(estimate) - score.known)
        error, variance = float(apart.mean()), float(apart.var())
    else:
        error = score.of(estimate, None)[0]
        variance = error * (1.0 - error)
    return SimulatedError(
        error=error,
        variance=variance,
        tasks=len(score.tasks),
        constant=score.of_constant()[0],
    )


def simulated_size(
    assumption: CrowdAssumption, size: CrowdSize, most_tasks: int | None = None
) -> CrowdSize:
    """Return the size of the crowd that is simulated in place of a large one.

    Tasks have as many answers. Workers who give more than 200 give fewer, and of others there are
    fewer.

    Parameters
    ----------
    assumption : CrowdAssumption
        Of labels or of numbers.
    size : CrowdSize
        What is planned.
    most_tasks : int, optional
        By default 1,000 with labels, 200 with numbers. More are simulated where a worker answers
        more than half of them, or fewer than 20 workers would be left.

    Raises
    ------
    ParameterError
        Where `most_tasks` is below 1.
    """
    labels = isinstance(assumption.domain, FiniteDomain)
    most = (MOST_LABELLED if labels else MOST_MEASURED) if most_tasks is None else most_tasks
    if most < 1:
        raise ParameterError(f"most_tasks must be at least 1; got {most_tasks!r}")
    tasks, answers = size.tasks, size.answers
    if answers > MANY and tasks > most:
        tasks = max(most, -(-MANY * size.tasks // size.answers))
        answers = max(1, round(size.answers * tasks / size.tasks))
    enough = max(most, 2 * answers, -(-LEAST_WORKERS * tasks // size.workers))
    if enough >= tasks:
        return CrowdSize(tasks=tasks, workers=size.workers, answers=answers)
    workers = max(1, round(size.workers * enough / tasks))
    return CrowdSize(tasks=enough, workers=workers, answers=answers)

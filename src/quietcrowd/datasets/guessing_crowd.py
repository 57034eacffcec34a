"""Synthetic crowds of labels with a known distribution."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.datasets.dataset import Dataset
from quietcrowd.datasets.drawn import (
    check_accuracy,
    check_assigned_sizes,
    check_given,
    draw_assignment,
    drawn_answers,
    drawn_crowd,
)
from quietcrowd.domains import Categorical, Label
from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_between

Floats = npt.NDArray[np.float64]


@frozen(kw_only=True, eq=False)
class LabelDistribution:
    """Distribution from which a crowd of labels was sampled.

    `confusions`, at [worker, truth, answer], are those on tasks without a lure. There, `accuracy`
    is the probability of a right answer for truths from `prior`. A task has a lure, a uniformly
    random wrong label, with probability `misled`; an answer to it is the lure with probability
    `pull`.
    """

    prior: Floats
    accuracy: Floats
    confusions: Floats
    misled: float = 0.0
    pull: float = 0.0


@frozen(kw_only=True, eq=False)
class SampledLabels(Dataset):
    """Synthetic crowd of labels, with the distribution `distribution` from which it was sampled."""

    distribution: LabelDistribution


def guessing_crowd(
    *,
    tasks: int = 1_000,
    workers: int = 100,
    answers_per_task: int = 10,
    answers_per_worker: int | None = None,
    labels: Sequence[Label] = ("no", "yes"),
    accuracy: tuple[float, float] = (0.55, 0.95),
    skills: Any = None,
    truths: Sequence[float] | None = None,
    guesses: Sequence[float] | None = None,
    misled: float = 0.0,
    pull: float = 0.6,
    seed: int = 0,
) -> SampledLabels:
    """Sample a crowd of workers who know a truth or guess, with its distribution.

    Each worker has a skill c, uniform between two bounds. With k labels, c above 1/k and guesses
    distributed as g, a worker knows the truth with probability ``s = (c - 1/k) / (1 - 1/k)`` and
    guesses otherwise. Below 1/k an answer is the truth t with probability ``c k g(t)``, otherwise a
    wrong label in proportion to g. All workers give equally many answers, to within one.
    """
    check_assigned_sizes(tasks, workers, answers_per_task if answers_per_worker is None else 1)
    domain = Categorical(labels)
    check_accuracy(domain, accuracy)
    check_between("misled", misled, 0, 1)
    check_between("pull", pull, 0, 1)
    prior = _distribution("truths", truths, domain.size)
    guess = _distribution("guesses", guesses, domain.size)
    rng = np.random.default_rng(seed)
    if skills is None:
        confusions = _confusions(rng.uniform(*accuracy, workers), guess)
    else:
        confusions = _confusions(check_given("skills", skills, workers, 0.0, 1.0), guess)
    true = rng.choice(domain.size, tasks, p=prior)
    counts, who = draw_assignment(rng, tasks, workers, answers_per_task, answers_per_worker)
    answered = _answers(rng, confusions, true, counts, who, misled, pull)
    return drawn_crowd(
        SampledLabels,
        f"drawn labels (seed {seed})",
        drawn_answers(domain, workers, counts, who, answered),
        domain.decode(true),
        distribution=LabelDistribution(
            prior=prior,
            accuracy=np.einsum("k,wkk->w", prior, confusions),
            confusions=confusions,
            misled=float(misled),
            pull=float(pull) if misled else 0.0,
        ),
    )


def _distribution(name: str, shares: Any, labels: int) -> Floats:
    if shares is None:
        return np.full(labels, 1.0 / labels)
    distribution = np.array(shares, np.float64)
    if (
        distribution.shape != (labels,)
        or not (distribution >= 0).all()
        or not math.isclose(distribution.sum(), 1)
    ):
        raise ParameterError("datasets.shares-invalid", name=name, labels=labels, shares=shares)
    return distribution


def _confusions(skills: Floats, guess: Floats) -> Floats:
    labels = len(guess)
    own = np.eye(labels)
    known = ((skills - 1 / labels) / (1 - 1 / labels))[:, np.newaxis, np.newaxis]
    good = known * own + (1 - known) * guess
    right = (skills * labels)[:, np.newaxis, np.newaxis] * guess[:, np.newaxis]
    others = guess * (1 - own)
    total = others.sum(axis=1, keepdims=True)
    wrong = np.where(total > 0, others / np.where(total > 0, total, 1), (1 - own) / (labels - 1))
    confusions: Floats = np.where(known >= 0, good, right * own + (1 - right) * wrong)
    return confusions


def _answers(
    rng: np.random.Generator,
    confusions: Floats,
    truths: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    who: npt.NDArray[np.int64],
    misled: float,
    pull: float,
) -> npt.NDArray[np.int64]:
    labels = confusions.shape[1]
    task = np.repeat(np.arange(len(truths)), counts)
    sums = confusions.cumsum(axis=2)[who, truths[task]]
    drawn = (rng.random(who.shape)[..., np.newaxis] >= sums[..., :-1]).sum(axis=1)
    lures = (truths + rng.integers(1, labels, len(truths))) % labels
    pulled = (rng.random(len(truths)) < misled)[task] & (rng.random(who.shape) < pull)
    answers: npt.NDArray[np.int64] = np.where(pulled, lures[task], drawn)
    return answers

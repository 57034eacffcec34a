"""Synthetic crowds with all truths known."""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from quietcrowd.answers import Answers
from quietcrowd.datasets.dataset import Dataset
from quietcrowd.datasets.drawn import (
    assign_uniformly,
    check_accuracy,
    check_assigned_sizes,
    check_sizes,
    drawn_answers,
    drawn_crowd,
)
from quietcrowd.domains import Categorical, Interval, Label, Ordinal
from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_between, check_choice, check_positive, check_real, plain

Truths: TypeAlias = Literal["normal", "uniform"]

MIDDLES = (0.0, 10.0)

SPREADS = 8.0
"""Standard deviations from the middle at which normal claims are clipped."""


def one_coin_crowd(
    *,
    tasks: int = 1_000,
    workers: int = 100,
    answers_per_task: int = 10,
    labels: Sequence[Label] = ("no", "yes"),
    accuracy: tuple[float, float] = (0.55, 0.95),
    seed: int = 0,
) -> Dataset:
    """Sample a crowd of one-coin workers; wrong answers are uniform."""
    check_assigned_sizes(tasks, workers, answers_per_task)
    domain = Categorical(labels)
    check_accuracy(domain, accuracy)
    rng = np.random.default_rng(seed)
    accuracies = rng.uniform(*accuracy, size=workers)
    truths = rng.integers(0, domain.size, tasks)
    who = assign_uniformly(rng, tasks, workers, answers_per_task)
    right = rng.random(who.shape) < accuracies[who]
    shift = rng.integers(1, domain.size, who.shape)
    answered = np.where(right, truths[:, None], (truths[:, None] + shift) % domain.size)
    return drawn_crowd(
        Dataset,
        f"synthetic crowd (seed {seed})",
        drawn_answers(domain, workers, [answers_per_task] * tasks, who, answered),
        domain.decode(truths),
    )


def opinion_crowd(
    *,
    tasks: int = 300,
    workers: int = 20,
    unreliable: float = 0.5,
    spread: float = 1.0,
    reach: float = 15.0,
    seed: int = 0,
) -> Dataset:
    """Sample a crowd of reliable workers, with normal claims, and unreliable ones.

    All workers make a claim about every task. The truth mu of a task is uniform on 0 to 10.
    Reliable workers sample their claims from ``N(mu, spread^2)``. The last workers are unreliable:
    their claims are uniform on ``mu - reach`` to ``mu + reach``. The domain contains all claims.
    """
    check_sizes(tasks, workers)
    check_between("unreliable", unreliable, 0, 1)
    check_positive("spread", spread)
    check_positive("reach", reach)
    rng = np.random.default_rng(seed)
    middles = rng.uniform(*MIDDLES, tasks)
    normal = np.clip(rng.normal(size=(workers, tasks)), -SPREADS, SPREADS) * spread
    even = rng.uniform(-reach, reach, (workers, tasks))
    reliable = np.arange(workers) < workers - round(unreliable * workers)
    claims = middles + np.where(reliable[:, np.newaxis], normal, even)
    widest = max(reach, SPREADS * spread)
    public = Interval(low=MIDDLES[0] - widest, high=MIDDLES[1] + widest)
    return drawn_crowd(
        Dataset,
        f"opinions, {workers} x {tasks}, {unreliable:.0%} unreliable (seed {seed})",
        _read(claims, np.full(claims.shape, True), public),
        middles,
    )


def sensor_crowd(
    *,
    tasks: int = 100,
    workers: int = 60,
    share: float = 1.0,
    sigmas: tuple[float, float] = (0.3, 3.0),
    domain: Interval | None = None,
    seed: int = 0,
) -> Dataset:
    """Sample a crowd that measures numbers.

    A worker answers each task with probability `share`. The answer is the truth plus normal noise,
    clipped to the domain. The first half of the workers has the first standard deviation of noise.
    """
    bounds = Interval(low=0, high=10) if domain is None else domain
    check_sizes(tasks, workers)
    check_real("share", share, 0)
    _check_pair(sigmas)
    if not 0 < share <= 1:
        raise ParameterError("datasets.share-invalid", share=share)
    rng = np.random.default_rng(seed)
    truths = rng.uniform(bounds.low, bounds.high, tasks)
    sigma = np.where(np.arange(workers) < workers // 2, *sigmas)
    answers = truths + sigma[:, np.newaxis] * rng.normal(size=(workers, tasks))
    answered = rng.random((workers, tasks)) < share
    return drawn_crowd(
        Dataset,
        f"sensors, {workers} x {tasks}, {share:.0%} answered (seed {seed})",
        _read(np.clip(answers, bounds.low, bounds.high), answered, bounds),
        truths,
    )


def _check_pair(sigmas: Any) -> None:
    try:
        pair = [*sigmas]
    except TypeError:
        pair = []
    if len(pair) != 2 or isinstance(sigmas, str | bytes):
        raise ParameterError("datasets.sigmas-invalid", sigmas=sigmas)
    for deviation in pair:
        check_real("each of sigmas", plain(deviation), 0)


def sparse_crowd(
    *,
    tasks: int = 200,
    workers: int = 2_000,
    sparsity: float = 0.9,
    truths: Truths = "normal",
    clip_truths: bool = False,
    levels: Sequence[Label] = tuple(range(10)),
    sigmas: tuple[float, float] = (1.0, 5.0),
    seed: int = 0,
) -> Dataset:
    """Sample a crowd in which each worker answers a task with probability ``1 - sparsity``.

    The answer is the truth plus normal noise, rounded to the nearest level. A random half of the
    workers has the first standard deviation. "normal" truths have mean 0 and variance 1, as in the
    paper, so that half of them are below all levels; "uniform" truths cover the domain. Source: H.
    Sun et al., IEEE Big Data 2018, section VI-A.
    """
    domain = Ordinal(levels)
    check_sizes(tasks, workers)
    check_between("sparsity", sparsity, 0, 1)
    for deviation in sigmas:
        check_real("sigmas", deviation, 0)
    if domain.size < 2:
        raise ParameterError("datasets.too-few-levels", levels=list(levels))
    check_choice("truths", truths, get_args(Truths))
    rng, bounds = np.random.default_rng(seed), (domain.low, domain.high)
    true = rng.normal(0, 1, tasks) if truths == "normal" else rng.uniform(*bounds, tasks)
    if clip_truths:
        true = np.clip(true, *bounds)
    sigma = np.where(rng.permutation(workers) < workers // 2, *sigmas)
    who = [_participants(rng, workers, 1 - sparsity) for _ in range(tasks)]
    values = [
        _nearest(domain, mean + sigma[codes] * rng.standard_normal(len(codes)))
        for mean, codes in zip(true, who, strict=True)
    ]
    return drawn_crowd(
        Dataset,
        f"sparse crowd, sparsity {sparsity:g}, {truths} truths (seed {seed})",
        drawn_answers(
            domain,
            workers,
            [len(codes) for codes in who],
            np.concatenate(who),
            np.concatenate(values),
        ),
        true,
    )


def _participants(rng: np.random.Generator, workers: int, share: float) -> npt.NDArray[np.int32]:
    count = int(rng.binomial(workers, share))
    drawn = rng.choice(workers, count, replace=False, shuffle=False)
    return np.sort(drawn).astype(np.int32)


def _nearest(domain: Ordinal, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.unsignedinteger]:
    levels = np.array(domain.levels, np.float64)
    return np.searchsorted((levels[1:] + levels[:-1]) / 2, numbers).astype(domain.dtype)


def _read(
    numbers: npt.NDArray[np.float64], answered: npt.NDArray[np.bool_], domain: Interval
) -> Answers:
    worker, task = np.nonzero(answered)
    frame = pd.DataFrame({"task": task, "worker": worker, "label": numbers[worker, task]})
    workers, tasks = (range(size) for size in numbers.shape)
    return Answers.from_frame(frame, domain, tasks=tasks, workers=workers)

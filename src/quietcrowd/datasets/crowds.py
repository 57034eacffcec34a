"""Synthetic crowds of every kind."""

from collections.abc import Callable, Mapping
from inspect import signature
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, overload

from quietcrowd.datasets.dataset import Dataset
from quietcrowd.datasets.guessing_crowd import SampledLabels, guessing_crowd
from quietcrowd.datasets.number_crowd import SampledNumbers, number_crowd
from quietcrowd.datasets.synthetic import (
    one_coin_crowd,
    opinion_crowd,
    sensor_crowd,
    sparse_crowd,
)
from quietcrowd.mechanisms.randomness import RandomState, seed_of
from quietcrowd.validation import check_choice, check_names

CrowdKind: TypeAlias = Literal["labels", "guessing", "numbers", "sensors", "sparse", "opinions"]

SAMPLERS: Mapping[CrowdKind, Callable[..., Dataset]] = MappingProxyType(
    {
        "labels": one_coin_crowd,
        "guessing": guessing_crowd,
        "numbers": number_crowd,
        "sensors": sensor_crowd,
        "sparse": sparse_crowd,
        "opinions": opinion_crowd,
    }
)


@overload
def make_crowd(
    kind: Literal["guessing"], *, random_state: RandomState = 0, **parameters: Any
) -> SampledLabels: ...
@overload
def make_crowd(
    kind: Literal["numbers"], *, random_state: RandomState = 0, **parameters: Any
) -> SampledNumbers: ...
@overload
def make_crowd(
    kind: CrowdKind = "labels", *, random_state: RandomState = 0, **parameters: Any
) -> Dataset: ...


def make_crowd(
    kind: CrowdKind = "labels", *, random_state: RandomState = 0, **parameters: Any
) -> Dataset:
    """Sample a synthetic crowd whose truths are known.

    Task and worker ids are integers from 0.

    Parameters
    ----------
    kind : {"labels", "guessing", "numbers", "sensors", "sparse", "opinions"}
        ``labels``: each worker has an accuracy, uniform between two bounds. Wrong answers are
        uniform. ``guessing``: workers know the truth or guess, and may err together. ``numbers``:
        normal truths, and errors of each worker and task. ``sensors``: uniform truths, and good and
        bad workers. ``sparse``: ordinal levels, and workers who answer few tasks. ``opinions``:
        reliable workers with normal claims, and unreliable ones.
    random_state : int or numpy.random.Generator
        The same seed gives the same crowd.
    **parameters
        Those of the kind, and for every kind `tasks` and `workers`:

        ======================== ================ ================================================
        parameter                kinds            meaning
        ======================== ================ ================================================
        answers_per_task         L, G, N          at most `workers`
        answers_per_worker       G, N             replaces `answers_per_task`
        labels                   L, G             at least two labels
        accuracy                 L, G             bounds of the workers' accuracies or skills
        skills                   G                skill of every worker, 0 to 1
        truths, guesses          G                probabilities of the labels; default: uniform
        misled, pull             G                probability that a task has a lure, a wrong label
                                                  on which workers err together, and that an answer
                                                  to this task is the lure
        domain                   N, S             an `Interval`; default: 0 to 10
        middle, spread           N                mean and standard deviation of the truths
        sigmas                   N                bounds of the workers' error standard deviations
        sigmas                   S, P             error standard deviations of good and bad workers
        scales                   N                bounds of the factors of distances from `middle`
        worker_sigmas,           N                values of every worker
        worker_scales
        bias                     N                standard deviation of the error that all answers
                                                  to a task share
        outliers, outlier_factor N                fraction of answers with larger errors, and their
                                                  factor
        share                    S                probability that a worker answers a task
        sparsity                 P                probability that a worker does not answer a task
        levels                   P                at least two increasing numbers; default: 0 to 9
        truths                   P                "normal", as in the paper, or "uniform"
        clip_truths              P                whether truths are clipped to the levels
        unreliable, spread,      O                fraction of unreliable workers, standard deviation
        reach                                     of reliable claims, most error of unreliable ones
        ======================== ================ ================================================

        The kinds are L: labels, G: guessing, N: numbers, S: sensors, P: sparse, O: opinions.

    Returns
    -------
    Dataset
        Answers and truths; ``guessing`` and ``numbers`` have their distribution as
        ``distribution``, too.

    Raises
    ------
    ParameterError
        If the kind is unknown, or a parameter is not one of the kind or out of its range.

    Examples
    --------
    Nine truths in ten are the same, and each task has three answers:

    >>> crowd = make_crowd("guessing", tasks=500, answers_per_task=3, truths=(0.9, 0.1))
    >>> crowd.answers
    Answers(1,500 answers, 500 tasks, 100 workers, domain=Categorical(['no', 'yes']))
    >>> crowd.distribution.confusions.shape
    (100, 2, 2)
    >>> make_crowd("sensors", tasks=5, workers=4).answers
    Answers(20 answers, 5 tasks, 4 workers, domain=Interval(low=0.0, high=10.0))
    """
    check_choice("kind", kind, tuple(SAMPLERS))
    sampler = SAMPLERS[kind]
    known = [name for name in signature(sampler).parameters if name != "seed"]
    check_names(f"make_crowd(kind={kind!r})", parameters, known)
    return sampler(seed=seed_of(random_state), **parameters)

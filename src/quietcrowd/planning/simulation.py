"""Simulated errors of crowds, mechanisms and methods."""

import warnings
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np
from attrs import evolve, frozen

from quietcrowd.answers import Answers
from quietcrowd.datasets.dataset import Dataset
from quietcrowd.domains import FiniteDomain
from quietcrowd.evaluation.metrics import KnownNumbers, score_for
from quietcrowd.exceptions import QuietcrowdWarning
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.loop import available_threads
from quietcrowd.inference.noise_aware import NoiseAware
from quietcrowd.mechanisms.mechanism import Reports
from quietcrowd.mechanisms.randomness import RandomState
from quietcrowd.planning.crowd_assumption import CrowdAssumption, CrowdSize
from quietcrowd.validation import check_whole

MOST_LABELLED = 1_000
"""Most simulated tasks with labels."""

MOST_MEASURED = 200
"""Most simulated tasks with numbers, for which inference takes longer."""

MANY = 200
"""Most simulated answers of a worker; more are not needed to estimate its accuracy."""

LEAST_WORKERS = 20
"""Smaller crowds are not reduced, as errors would depend on the few workers."""

MOST_ANSWERS = 100_000
"""Most simulated answers of a crowd, unless fewer than 50 tasks would remain."""

LEAST_TASKS = 50

FAIR_TASKS = 100
"""With fewer tasks, a constant guess that knows their truths is too good to compare with."""

METHOD = NoiseAware(groups=False)
"""The server's method, without the search for copying workers: assumed crowds have none, so the
search almost never changes an error, and it takes most of the time."""


@frozen(kw_only=True)
class SimulatedError:
    """Error of one simulation, its variance between tasks, and that of the best constant guess."""

    error: float
    variance: float
    tasks: int
    constant: float


class Simulated(Protocol):
    """What devices do to answers: a mechanism, or the choices of workers among several."""

    def simulate(self, answers: Answers, *, random_state: RandomState) -> Reports:
        """Return simulated reports."""


def simulate(
    crowd: Dataset,
    mechanism: Simulated | None,
    seed: int | Sequence[int],
    method: FittingMethod = METHOD,
) -> SimulatedError:
    """Randomize a sampled crowd's answers, infer the truths, and compute the error.

    Callers should ignore two warnings: that the noise is simulated, and that it hides the truths.
    """
    answers = crowd.answers.canonical  # the order of reports
    source: Any = answers
    if mechanism is not None:
        source = mechanism.simulate(answers, random_state=np.random.default_rng(seed))
    estimate = method.fit(source, n_jobs=1)
    score = score_for(answers, crowd.truths, [method])
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
    """Return the size of the crowd that is simulated instead of a large one.

    The number of answers per task is the same. Workers with more than 200 answers give fewer, and
    if that is not enough, there are fewer workers. `most_tasks` is by default 1,000 for labels, 200
    for numbers, and smaller if a crowd would have more than 100,000 answers. It is exceeded if a
    worker answers more than half of the tasks, or fewer than 20 workers would remain.
    """
    most = _most_tasks(assumption) if most_tasks is None else most_tasks
    check_whole("most_tasks", most, 1)
    most = min(most, max(LEAST_TASKS, MOST_ANSWERS * size.tasks // (size.workers * size.answers)))
    many = min(MANY, most)
    tasks, answers = size.tasks, size.answers
    if answers > many and tasks > most:
        tasks = max(most, -(-many * size.tasks // size.answers))
        answers = max(1, round(size.answers * tasks / size.tasks))
    enough = max(most, 2 * answers, -(-LEAST_WORKERS * tasks // size.workers))
    if enough >= tasks:
        return CrowdSize(tasks=tasks, workers=size.workers, answers=answers)
    workers = max(1, round(size.workers * enough / tasks))
    return CrowdSize(tasks=enough, workers=workers, answers=answers)


def _most_tasks(assumption: CrowdAssumption) -> int:
    return MOST_LABELLED if isinstance(assumption.domain, FiniteDomain) else MOST_MEASURED


def fair_tasks(assumption: CrowdAssumption, size: CrowdSize) -> int:
    """Return the number of tasks of a constant guess: at least 100, even if fewer are simulated."""
    return max(FAIR_TASKS, min(size.tasks, _most_tasks(assumption)))


def guess_of(assumption: CrowdAssumption, tasks: int, draw: int, seed: int) -> float:
    """Return the error of the best constant guess of the truths of sampled tasks."""
    crowd = assumption.draw(CrowdSize(tasks=tasks, workers=1, answers=tasks), draw, seed)
    return score_for(crowd.answers, crowd.truths, [METHOD]).of_constant()[0]


def simulate_size(
    assumption: CrowdAssumption,
    size: CrowdSize,
    mechanisms: Sequence[Simulated | None],
    draws: int | range,
    seed: int = 0,
    progress: Callable[[], None] = lambda: None,
    *,
    plain: bool = True,
) -> list[list[SimulatedError]]:
    """Simulate crowds of one size, each with all mechanisms and, if `plain`, non-private answers.

    Crowds of one number and seed are the same. A large size is reduced by `simulated_size`, but
    constant guesses are for at least 100 tasks. `progress` is called after each crowd. The result
    contains one list per mechanism with one entry per draw, the one for non-private answers last.
    """
    smaller, fair = simulated_size(assumption, size), fair_tasks(assumption, size)

    def one(draw: int) -> list[SimulatedError]:
        crowd = assumption.draw(smaller, draw, seed)
        every = [*mechanisms, *[None] * plain]
        errors = [simulate(crowd, mechanism, (seed, draw, 1)) for mechanism in every]
        if smaller.tasks >= fair:
            return errors
        constant = guess_of(assumption, fair, draw, seed)
        return [evolve(error, constant=constant) for error in errors]

    numbers = range(draws) if isinstance(draws, int) else draws
    threads = min(available_threads(), len(numbers))
    waiting, ended = iter(numbers), SimpleQueue[tuple[int, list[SimulatedError] | None]]()

    def work() -> None:
        for draw in waiting:  # all threads share it
            errors = None
            try:
                errors = one(draw)
            finally:
                ended.put((draw, errors))

    found: dict[int, list[SimulatedError]] = {}
    pool = ThreadPoolExecutor(threads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QuietcrowdWarning)
        try:
            # If Ctrl-C hits `submit`, its lock may stay held: it is called as rarely as possible.
            working = [pool.submit(work) for _ in range(threads)]
            while len(found) < len(numbers):
                draw, errors = ended.get()
                if errors is None:
                    break
                found[draw] = errors
                progress()
        finally:
            deque(waiting, maxlen=0)
            pool.shutdown()
    for each in working:
        each.result()  # raises what `one` raised
    return [list(cell) for cell in zip(*(found[draw] for draw in numbers), strict=True)]

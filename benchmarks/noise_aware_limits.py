"""The measured limits of `NoiseAware` in ``research/docs/noise-aware.md``.

``python benchmarks/noise_aware_limits.py labels`` prints rows about labels; so do ``workers``,
``numbers`` and ``times``. In these crowds workers err independently.
"""

import argparse
import time
from functools import partial

import numpy as np
from attrs import evolve

import quietcrowd as qc
from quietcrowd.datasets import make_crowd
from quietcrowd.evaluation.metrics import KnownLabels
from quietcrowd.mechanisms import HybridMechanism, PiecewiseMechanism
from under_noise import rivals
from under_noise.cells import mean_of
from under_noise.families import known_share, label_reports
from under_noise.tables import noise_name, table

AWARE, INDEPENDENT = qc.NoiseAware(), qc.NoiseAware(shared_errors=False)
VOTE, ONE_COIN = qc.MajorityVote(), qc.DawidSkene(one_coin=True)
KNOWN = 50

FEW = {"answers_per_task": 3}
SKEWED_4 = {"labels": ("a", "b", "c", "d"), "truths": (0.88, 0.04, 0.04, 0.04)}
LABELS = {
    "2 labels, 88 % of truths alike": ({"truths": (0.88, 0.12)}, (0.5, 1.0), VOTE),
    "4 labels, 88 % of truths alike": (SKEWED_4, (0.5, 1.0), VOTE),
    "9 of 10 guesses alike": ({"guesses": (0.9, 0.1)}, (1.0,), VOTE),
    "50 tasks, 20 workers": ({"tasks": 50, "workers": 20}, (np.inf, 3.0), VOTE),
    "the same, 6 answers": (
        {"tasks": 50, "workers": 20, "answers_per_task": 6},
        (np.inf, 3.0),
        VOTE,
    ),
    "100 tasks, 100 workers": ({"tasks": 100}, (np.inf,), VOTE),
    "40 tasks, 20 workers, 95 % of truths alike": (
        {"tasks": 40, "workers": 20, "truths": (0.95, 0.05)},
        (np.inf, 3.0),
        ONE_COIN,
    ),
    "all guess, 10 answers": ({"skills": [0.5] * 100, "answers_per_task": 10}, (0.5, 5.0), VOTE),
}
"""Parameters of guessing crowds with 3 answers per task, epsilons, and the method to compare."""

PLAIN, NOISY = ("none",), ("laplace", "piecewise", "hybrid")
THIRTY = {"tasks": 60, "workers": 30, "answers_per_worker": 20}
SIXTY = {"tasks": 300, "workers": 60, "answers_per_worker": 50}
THREE = {"tasks": 60, "workers": 3, "answers_per_task": 3}
ONCE = {"tasks": 100, "workers": 1_000}
NUMBERS = {
    "60 tasks, 30 workers with 20 answers": (THIRTY, NOISY, (3.0, 6.0)),
    "the same": (THIRTY, PLAIN, (np.inf,)),
    "300 tasks, 60 workers with 50 answers": (SIXTY, NOISY[1:], (6.0,)),
    "3 workers with 60 answers": (THREE, PLAIN, (np.inf,)),
    "100 tasks, 1,000 workers with 1 answer": (ONCE, PLAIN, (np.inf,)),
    "the same, all errors of one size": (
        ONCE | {"worker_sigmas": np.ones(1_000)},
        PLAIN,
        (np.inf,),
    ),
}
"""Parameters of crowds with log-normal sizes of errors, kinds of noise, and epsilons."""

MECHANISMS = {
    "laplace": partial(qc.LaplaceMechanism, fill=None),
    "piecewise": PiecewiseMechanism,
    "hybrid": HybridMechanism,
}


def fit(method, reports, gold=None):
    """Return an estimate by one thread, without warnings."""
    return rivals.fit(method, rivals.Scene(reports=reports, score=None, gold=gold))


def excess(estimate, truths):
    """Return mean confidence minus the fraction of right labels, on the tasks of `truths`."""
    here = estimate.truths.set_index("task").loc[truths["task"].to_numpy(), "confidence"]
    return here.mean() - 1 + qc.error_rate(estimate, truths)


def label_row(name, options, epsilon, rival, draws):
    """Return errors, and how much confidences are too high.

    By default; with known truths; with ``shared_errors=False``; and with ``prior=``, too.
    """
    found = []
    for seed in range(draws):
        crowd = make_crowd(kind="guessing", **FEW | options, random_state=seed)
        rng = np.random.default_rng(seed)
        reports, truths = label_reports(crowd, epsilon, rng), crowd.truths
        told, rest = known_share(rng, truths, min(KNOWN / len(truths), 0.5))
        most = np.unique(truths["label"].to_numpy(zero_copy_only=False), return_counts=True)[1]
        shares = dict(zip(crowd.answers.domain.labels, crowd.distribution.prior, strict=True))
        aware, known = fit(AWARE, reports), fit(AWARE, reports, gold=told)
        independent = fit(INDEPENDENT, reports)
        stated = fit(evolve(INDEPENDENT, prior=shares), reports)
        errors = [
            qc.error_rate(estimate, truths)
            for estimate in (aware, fit(rival, reports), fit(AWARE, crowd.answers))
        ]
        constant = 1 - most.max() / len(truths)
        sure = [excess(estimate, truths) for estimate in (aware, independent, stated)]
        found.append([*errors, constant, sure[0], excess(known, rest), *sure[1:]])
    return (name, noise_name(epsilon), *map(mean_of, np.transpose(found)))


def worker_row(kind, draws):
    """Return coverage for a worker who is not honest, and for the others: 66 reports each."""
    inside = []
    for seed in range(draws):
        crowd = make_crowd(kind="guessing", tasks=400, workers=61, random_state=seed)
        rng = np.random.default_rng(seed)
        answers = crowd.answers
        last = answers.worker_codes == 60
        values = answers.values.copy()
        values[last] = 0 if kind == "always one label" else rng.integers(0, 2, last.sum())
        answers = answers.with_values(answers.domain, values)
        right = answers.values == KnownLabels(answers, crowd.truths).known[answers.task_codes]
        accuracy = np.bincount(answers.worker_codes, right) / answers.answers_per_worker
        mechanism = qc.RandomizedResponse(domain=answers.domain, epsilon=1.0)
        reports = mechanism.simulate(answers, random_state=rng, participation_is_public=True)
        workers = fit(INDEPENDENT, reports).workers.set_index("worker").loc[range(61)]
        held = workers["accuracy_low"].le(accuracy) & workers["accuracy_high"].ge(accuracy)
        inside.append([held.iloc[60], held.iloc[:60].mean()])
    return (kind, *map(mean_of, np.transpose(inside)))


def coverage(estimate, known):
    """Return the fraction of 90 % intervals that contain the truth."""
    ends = estimate.posterior.pivot(index="task", columns="level", values="quantile")
    at = known.loc[ends.index]
    return (ends[0.05].le(at) & ends[0.95].ge(at)).mean()


def number_row(name, options, kind, epsilon, draws):
    """Return the coverage of truths, by default too, and of sizes of errors; and the errors."""
    found = []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        sizes = options.get("worker_sigmas", 2.0 ** rng.normal(size=options["workers"]))
        given = options | {"worker_sigmas": sizes}
        crowd = make_crowd(kind="numbers", **given, random_state=seed)
        reports = crowd.answers
        if kind in MECHANISMS:
            mechanism = MECHANISMS[kind](domain=reports.domain, epsilon=epsilon)
            reports = mechanism.simulate(reports, random_state=rng, participation_is_public=True)
        aware, independent = fit(AWARE, reports), fit(INDEPENDENT, reports)
        known = crowd.truths.to_pandas().set_index("task")["label"]
        covered = [coverage(estimate, known) for estimate in (aware, independent)]
        workers = independent.workers.set_index("worker").loc[range(len(sizes))].dropna()
        size = sizes[workers.index]
        sized = workers["error_sd_low"].le(size) & workers["error_sd_high"].ge(size)
        error = [
            qc.mean_absolute_error(estimate, crowd.truths)
            for estimate in (aware, fit(qc.Mean(), reports), fit(AWARE, crowd.answers))
        ]
        constant = np.abs(known - known.median()).mean()
        found.append([*covered, sized.mean(), *error, constant])
    means = [mean_of(column[~np.isnan(column)]) for column in np.transpose(found)]
    return (name, kind, noise_name(epsilon), *means)


def seconds(method, reports, rounds):
    """Return the least processor time of a fit."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        fit(method, reports)
        times.append(time.process_time() - start)
    return min(times)


TIMES = (
    (100_000, 10_000, 10, (2, 4, 10)),
    (100_000, 100_000, 10, (4,)),
    (20_000, 100_000, 10, (10,)),
    (600, 60, 3, (2, 10, 16, 17, 50, 100, 200, 355)),
)
"""Tasks, workers, answers per task, and numbers of labels."""


def time_row(tasks, workers, per_task, size, rounds):
    """Return the seconds of a fit, as a multiple of those of others, too."""
    crowd = make_crowd(
        kind="guessing",
        tasks=tasks,
        workers=workers,
        answers_per_task=per_task,
        labels=range(size),
    )
    reports = label_reports(crowd, 1.0 if tasks > 600 else np.inf, np.random.default_rng(0))
    aware, weighted, confusion = (
        seconds(method, reports, rounds)
        for method in (qc.NoiseAware(), qc.WeightedVote(), qc.DawidSkene())
    )
    ratios = (f"{aware / other:.2g}" for other in (weighted, confusion))
    return (f"{tasks:,}", f"{workers:,}", size, f"{aware:.3g} s", *ratios)


def main():
    """Print the rows of one part."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("labels", "workers", "numbers", "times"))
    parser.add_argument("--draws", type=int, default=60, help="simulations; of times, repetitions")
    given = parser.parse_args()
    rows = {
        "labels": lambda n: (
            label_row(name, options, e, rival, n)
            for name, (options, epsilons, rival) in LABELS.items()
            for e in epsilons
        ),
        "workers": lambda n: (worker_row(kind, n) for kind in ("guesses", "always one label")),
        "numbers": lambda n: (
            number_row(name, options, kind, e, n)
            for name, (options, kinds, epsilons) in NUMBERS.items()
            for kind in kinds
            for e in epsilons
        ),
        "times": lambda n: (time_row(*crowd, size, n) for *crowd, sizes in TIMES for size in sizes),
    }[given.part](given.draws)
    for row in rows:
        print(table(row, ()).splitlines()[0], flush=True)


if __name__ == "__main__":
    main()

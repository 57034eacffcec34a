"""How many reports it takes to reach an error, where it is asked as `suggest_tasks` says."""

import numpy as np
import pandas as pd
from attrs import frozen
from scipy.optimize import isotonic_regression

import quietcrowd as qc

TASKS = 150
"""Most tasks of a set, drawn once."""

START = 2
"""Reports of each task to begin with, in both ways."""

SMOOTHING = 4.0
"""Answers at a truth that a worker is taken to have given as the crowd did."""

CROWD = 150
"""Workers of a fitted crowd, at least; as many alike of each real one."""

MOST_AT_ONCE = 2
"""Reports of a task in a batch of one for every second task."""


@frozen(kw_only=True, eq=False)
class Pool:
    """Who could answer which task, and what.

    Attributes
    ----------
    domain : Domain
    truths : ndarray of float, shape (tasks,)
        Codes of labels, or numbers.
    answers : list of ndarray of int or float, one per task
        An answer of each worker who can be asked.
    workers : list of ndarray of int, one per task
    """

    domain: object
    truths: np.ndarray
    answers: list
    workers: list

    def error(self, found):
        """Return the share of wrong labels, or the mean absolute error, of truths."""
        if hasattr(self.domain, "labels"):
            return float((found != self.truths).mean())
        return float(np.abs(found - self.truths).mean())

    @property
    def constant(self):
        """The error of the best constant guess."""
        if hasattr(self.domain, "labels"):
            return min(self.error(np.full(len(self.truths), one)) for one in set(self.truths))
        return self.error(np.full(len(self.truths), np.median(self.truths)))


def load(dataset, seed=0):
    """Return tasks of known truth, by chance at most `TASKS`, with the real answers of each."""
    table = dataset.answers
    known = dataset.truths.to_pandas().set_index("task")["label"]
    names = pd.Index(table.tasks.to_pylist())
    found = names.isin(known.index) & (table.answers_per_task > START)
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(np.flatnonzero(found))[:TASKS]
    truths = known.loc[names[chosen]].to_numpy()
    labels = getattr(table.domain, "labels", None)
    if labels is not None:
        codes = {str(label): code for code, label in enumerate(labels)}
        truths = np.array([codes[str(label)] for label in truths], float)
    rows = [slice(table.offsets[task], table.offsets[task + 1]) for task in chosen]
    values = table.values if labels is not None else table.domain.numbers(table.values)
    return Pool(
        domain=table.domain,
        truths=truths.astype(float),
        answers=[values[one] for one in rows],
        workers=[table.worker_codes[one] for one in rows],
    )


def fitted(pool, rng):
    """Return a pool whose every task `CROWD` workers and more can answer, drawn by a fit.

    Of labels by the worker's table of confusions; of numbers by the worker's bias and spread. What
    a worker's own answers do not tell is taken from the crowd's.
    """
    workers = np.unique(np.concatenate(pool.workers))
    own = np.concatenate(pool.workers)
    given = np.concatenate(pool.answers)
    true = np.repeat(pool.truths, [len(one) for one in pool.answers])
    many = np.tile(workers, -(-CROWD // len(workers)))
    if hasattr(pool.domain, "labels"):
        size = len(pool.domain.labels)
        crowd = np.full((size, size), 0.5 / size)
        np.add.at(crowd, (true.astype(int), given), 1.0)
        crowd /= crowd.sum(axis=1, keepdims=True)
        tables = {}
        for worker in workers:
            table, mine = SMOOTHING * crowd, own == worker
            np.add.at(table, (true[mine].astype(int), given[mine]), 1.0)
            tables[worker] = table / table.sum(axis=1, keepdims=True)
        edges = np.array([np.cumsum(tables[worker], axis=1) for worker in many])
        answers = []
        for truth in pool.truths.astype(int):
            words = rng.random(len(many))[:, np.newaxis]
            drawn = (words > edges[:, truth]).sum(axis=1).clip(max=size - 1)
            answers.append(drawn.astype(pool.domain.dtype))
    else:
        errors = given - true
        spread = np.median(np.abs(errors - np.median(errors))) * 1.4826
        sizes = {}
        for worker in workers:
            mine = errors[own == worker]
            squares = (mine**2).clip(max=(6 * spread) ** 2).sum() + SMOOTHING * spread**2
            sizes[worker] = np.sqrt(squares / (len(mine) + SMOOTHING))
        scale = np.array([sizes[worker] for worker in many])
        low, high = pool.domain.low, pool.domain.high
        answers = [
            (truth + scale * rng.standard_normal(len(many))).clip(low, high)
            for truth in pool.truths
        ]
    names = np.arange(len(many))
    return Pool(
        domain=pool.domain,
        truths=pool.truths,
        answers=answers,
        workers=[names] * len(answers),
    )


class Crowd:
    """Reports of a pool, drawn once, of which each task gives the next ones when it is asked."""

    def __init__(self, pool, epsilon, rng):
        self.pool = pool
        labels = hasattr(pool.domain, "labels")
        kind = qc.RandomizedResponse if labels else qc.LaplaceMechanism
        more = {} if labels else {"fill": None}
        self.mechanism = kind(domain=pool.domain, epsilon=epsilon, **more)
        sizes = np.array([len(one) for one in pool.answers])
        order = [rng.permutation(size) for size in sizes]
        task = np.repeat(np.arange(len(sizes)), sizes)
        values = np.concatenate([one[o] for one, o in zip(pool.answers, order, strict=True)])
        workers = np.concatenate([one[o] for one, o in zip(pool.workers, order, strict=True)])
        columns = pool.domain.decode(values) if labels else values
        columns = np.asarray(columns)
        frame = pd.DataFrame({"task": task, "worker": workers, "label": columns})
        self.place = np.concatenate([np.arange(size) for size in sizes])
        answers = qc.Answers.from_frame(frame, domain=pool.domain)
        reports = self.mechanism.simulate(answers, random_state=rng).table
        # back into the order of the frame
        keys = pd.MultiIndex.from_arrays(
            [
                np.array(reports.tasks.to_pylist())[reports.task_codes],
                np.array(reports.workers.to_pylist())[reports.worker_codes],
            ]
        )
        decoded = pd.Series(reports.domain.decode(reports.values).to_pandas().to_numpy(), keys)
        frame["label"] = decoded.loc[pd.MultiIndex.from_frame(frame[["task", "worker"]])].to_numpy()
        self.frame, self.sizes = frame, sizes
        self.plain = frame.assign(label=columns)

    def estimate(self, counts, start=None):
        """Return the estimate of the first reports of each task."""
        asked = self.frame[self.place < counts[self.frame["task"].to_numpy()]]
        table = qc.Answers.from_frame(
            asked, domain=self.mechanism.report_domain, tasks=np.arange(len(counts))
        )
        reports = qc.Reports(table=table, mechanism=self.mechanism, simulated=True)
        return qc.NoiseAware().fit(reports, init=start)

    def error(self, estimate):
        """Return the share of wrong labels, or the mean absolute error."""
        return self.pool.error(estimate.estimates.truths)

    def plain_error(self, per_task):
        """Return the error of an even allotment of answers without noise."""
        counts = shared(per_task * len(self.sizes), self.sizes)
        asked = self.plain[self.place < counts[self.plain["task"].to_numpy()]]
        tasks = np.arange(len(counts))
        table = qc.Answers.from_frame(asked, domain=self.pool.domain, tasks=tasks)
        return self.error(qc.NoiseAware().fit(table))


def shared(total, room):
    """Return an even allotment of so many reports, as far as there is room."""
    counts = np.minimum(total // len(room), room)
    while (left := total - counts.sum()) > 0 and (counts < room).any():
        counts[np.flatnonzero(counts < room)[:left]] += 1
    return counts


def curves(crowd, per_task):
    """Return errors after each batch: of even allotments, and as suggested.

    Returns
    -------
    DataFrame
        Columns ``reports``, per task; ``even``, NaN in the first half; ``suggested``.
    """
    tasks = len(crowd.sizes)
    counts = np.minimum(START, crowd.sizes)
    rows = []
    while True:
        total, estimate = int(counts.sum()), crowd.estimate(counts)
        late = total >= per_task * tasks / 2
        even = crowd.error(crowd.estimate(shared(total, crowd.sizes))) if late else np.nan
        rows.append((total / tasks, even, crowd.error(estimate)))
        left = min(per_task * tasks, int(crowd.sizes.sum())) - total
        if left <= 0:
            return pd.DataFrame(rows, columns=["reports", "even", "suggested"])
        counts = counts + asked_for(crowd, estimate, counts, min(tasks // 2, left))


def asked_for(crowd, estimate, counts, answers):
    """Return how many more reports of each task are asked for, where so many can be had."""
    more = np.zeros_like(counts)
    wanted = estimate.suggest_tasks(answers * 4)
    for task, number in zip(wanted["task"], wanted["answers"], strict=True):
        can = min(number, MOST_AT_ONCE, crowd.sizes[task] - counts[task], answers - more.sum())
        more[task] = max(can, 0)
    left = answers - int(more.sum())
    room = crowd.sizes - counts - more
    return more + shared(min(left, int(room.sum())), room)


def ratios(frames):
    """Return which part of an even allotment's reports reaches its error, and the mean curves.

    Errors are means over the draws, made to fall; of the allotments of the second half each has a
    ratio, NaN where the error is not reached, and their median is returned.
    """
    grid = frames[0]["reports"].to_numpy()
    mean = {
        name: np.mean([np.interp(grid, one["reports"], one[name]) for one in frames], axis=0)
        for name in ("even", "suggested")
    }
    late = ~np.isnan(mean["even"])
    even = isotonic_regression(mean["even"][late], increasing=False).x
    suggested = isotonic_regression(mean["suggested"], increasing=False).x
    steps = np.arange(len(suggested)) * 1e-9  # the first place of a flat piece
    needed = np.interp(-even, -(suggested - steps), grid, right=np.nan)
    return float(np.median(needed / grid[late])), pd.DataFrame({"reports": grid, **mean})

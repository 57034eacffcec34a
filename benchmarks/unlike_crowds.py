"""Crowds that are drawn otherwise than a plan assumes: some tasks are hard, and workers uneven.

A plan by a pilot is measured on them. Their distributions were fixed before anything was measured.
"""

import numpy as np
import pyarrow as pa
from scipy.special import expit

import quietcrowd as qc
from quietcrowd.datasets.dataset import Dataset
from quietcrowd.datasets.drawn import drawn_answers

TASKS = (100, 400)
"""Bounds of the number of tasks: a pilot has a tenth of them."""

WORKERS = (10, 60)
PER_TASK = (3, 15)
"""Bounds of the number of workers, and of answers to a task."""


def unlike_crowd(number, *, labels):
    """Return a crowd with all truths; the same number is the same crowd."""
    rng = np.random.default_rng((number, 31, int(labels)))
    tasks, workers = (int(rng.integers(*bounds)) for bounds in (TASKS, WORKERS))
    per_task = int(rng.integers(PER_TASK[0], min(PER_TASK[1], workers) + 1))
    who = uneven_assignment(rng, tasks, workers, per_task)
    answers = label_answers if labels else number_answers
    domain, values, truths = answers(rng, who, tasks, workers)
    return Dataset(
        name=f"unlike crowd {number}",
        answers=drawn_answers(domain, workers, np.full(tasks, per_task), who, values.reshape(-1)),
        truths=pa.table({"task": np.arange(tasks), "label": truths}),
    )


def uneven_assignment(rng, tasks, workers, per_task):
    """Return who answers each task, shape (tasks, per_task): some workers give many answers."""
    eager = rng.uniform(0, 1.5) * rng.normal(size=workers)
    places = eager + rng.gumbel(size=(tasks, workers))  # the largest are a draw by weights
    return np.sort(np.argsort(-places, axis=1)[:, :per_task], axis=1)


def label_answers(rng, who, tasks, workers):
    """Return the domain, answers and truths of a crowd of labels.

    A worker knows a task with a probability that falls with its difficulty (Rasch, 1960). Who does
    not know guesses, by a distribution of the crowd or, in part, the wrong label that the task
    suggests. On some tasks that label is believed to be the truth.
    """
    size = int(rng.choice([2, 3, 5]))
    ability = rng.uniform(-0.5, 2.5) + rng.uniform(0, 1) * rng.normal(size=workers)
    ability[rng.random(workers) < rng.uniform(0, 0.3)] = -np.inf  # guessers
    difficulty = rng.uniform(0, 1.5) * rng.normal(size=(tasks, 1))
    truths = rng.choice(size, tasks, p=rng.dirichlet(np.full(size, 3.0)))
    lures = ((truths + rng.integers(1, size, tasks)) % size)[:, np.newaxis]
    misleads = rng.random((tasks, 1)) < 0.3 * rng.random() ** 2
    knows = rng.random(who.shape) < expit(ability[who] - difficulty)
    guesses = rng.choice(size, who.shape, p=rng.dirichlet(np.full(size, 3.0)))
    suggested = rng.random(who.shape) < rng.uniform(0, 0.5)
    believed = np.where(misleads, lures, truths[:, np.newaxis])
    values = np.where(knows, believed, np.where(suggested, lures, guesses))
    domain = qc.Categorical(range(size))
    return domain, values, domain.decode(truths)


def number_answers(rng, who, tasks, workers):
    """Return the domain, answers and truths of a crowd of numbers.

    Truths are skewed, some tasks are harder, workers have leanings of their own, and all answers to
    a task share an error.
    """
    error = np.exp(rng.uniform(np.log(0.2), np.log(2.5)))
    sigma = error * rng.uniform(1, 2.5) ** rng.normal(size=workers)
    leaning = rng.uniform(0, 0.5) * sigma * rng.normal(size=workers)
    hard = np.exp(rng.uniform(0, 0.7) * rng.normal(size=(tasks, 1)))
    parts = rng.beta(*rng.uniform(0.8, 5, 2), tasks)
    truths = np.clip(rng.uniform(0, 3) + rng.uniform(2, 7) * parts, 0, 10)
    shared = 2 * rng.random() ** 2 * error * rng.normal(size=(tasks, 1))
    wide = np.where(rng.random(who.shape) < rng.uniform(0, 0.1), 5.0, 1.0)
    own = sigma[who] * wide * rng.normal(size=who.shape)
    values = truths[:, np.newaxis] + hard * (shared + own) + leaning[who]
    guesses = rng.random((workers,)) < rng.uniform(0, 0.3)
    values = np.where(guesses[who], rng.choice(truths, who.shape), values)
    return qc.Interval(low=0, high=10), np.clip(values, 0, 10), truths

"""The methods of the comparison by name, and what they make of a scene."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import quietcrowd as qc
from quietcrowd.datasets import make_crowd
from quietcrowd.exceptions import AnswerError, QuietcrowdWarning
from quietcrowd.inference import CATD, CRH, GTM, METHODS, MOON, KDEm, WeightedMean
from quietcrowd.inference.model import HasPosterior
from under_noise.cells import CONSTANT, ORACLE
from under_noise.records import LOSS

SUBJECT = "noise-aware"
"""The method that is judged."""

TOLD = f"{SUBJECT}, told the prior"

CONFIDENCE, INSIDE, WIDTH = "confidence", "inside", "width"
"""What a record holds beside the loss."""

NORMAL_90 = 1.6449
"""Standard deviations to either side that hold nine tenths of a normal distribution."""


def _judged(answers):
    """Return the judged method by its name, where there is one for such answers."""
    if SUBJECT not in METHODS:
        return {}
    try:
        METHODS[SUBJECT]().fit(answers)
    except AnswerError:
        return {}
    return {SUBJECT: METHODS[SUBJECT]()}


LABEL_METHODS = _judged(
    make_crowd(kind="guessing", tasks=9, workers=9, answers_per_task=3).answers
) | {
    "majority": qc.MajorityVote(),
    "weighted": qc.WeightedVote(),
    "dawid-skene": qc.DawidSkene(),
    "one-coin": qc.DawidSkene(one_coin=True),
    "glad": qc.GLAD(),
    "mace": qc.MACE(),
}

NUMBER_METHODS = _judged(
    make_crowd(kind="numbers", tasks=9, workers=9, answers_per_task=3).answers
) | {
    "mean": qc.Mean(),
    "median": qc.Median(),
    "weighted-mean": WeightedMean(),
    "crh": CRH(),
    "catd": CATD(),
    "gtm": GTM(),
    "kdem": KDEm(),
    "moon": MOON(truth_prior=None),
    "moon-normal": MOON(truth_prior="normal"),
}


def number_subject(subject):
    """Return the method that is judged on numbers, where the one on labels is none of them."""
    return subject if subject in NUMBER_METHODS else "moon-normal"


@dataclass(frozen=True)
class Scene:
    """What rivals are shown, and what it is judged by.

    Attributes
    ----------
    reports : Reports or Answers
        With the tasks in the order of the plain answers.
    score : Score
        Of the plain answers.
    gold : dataframe or None
        Truths that the methods are told.
    about : Any
        What an oracle knows besides.
    """

    reports: Any
    score: Any
    gold: Any = None
    about: Any = None

    @property
    def table(self):
        """The reports as answers."""
        return getattr(self.reports, "table", self.reports)


def fit(method, scene):
    """Return an estimate; warnings of noise and simulation say nothing new here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QuietcrowdWarning)
        return method.fit(scene.reports, gold=scene.gold, n_jobs=1)


def label_record(method):
    """Return a function that gives what a method makes of a scene of labels."""

    def record(scene):
        found = fit(method, scene)
        codes, confidence = found.estimates.truths, found.estimates.confidence
        return judged_labels(scene, codes, confidence, found.answers.answers_per_task > 0)

    return record


def judged_labels(scene, codes, confidence, answered=None):
    """Return the record of labels: whether each known one is missed, and how sure it was."""
    at, known = scene.score.tasks, scene.score.known
    wrong = codes[at] != known
    if answered is not None:
        wrong |= ~answered[at]
    return {
        LOSS: wrong.astype(np.uint8),
        CONFIDENCE: np.nan_to_num(np.asarray(confidence, np.float64)[at]).astype(np.float32),
    }


def constant_label(scene):
    """Return the record of who always says the most frequent known label."""
    counts = np.bincount(scene.score.known)
    tasks = len(scene.score.of_tasks)
    guess = np.full(tasks, counts.argmax())
    return judged_labels(scene, guess, np.full(tasks, counts.max() / counts.sum()))


def label_rivals(posterior_of):
    """Return all rivals on labels by name; the oracle has the posterior that is given."""

    def oracle(scene):
        posterior = posterior_of(scene)
        return judged_labels(scene, posterior.argmax(axis=1), posterior.max(axis=1))

    rivals = {name: label_record(method) for name, method in LABEL_METHODS.items()}
    return rivals | {ORACLE: oracle, CONSTANT: constant_label}


def number_record(method):
    """Return a function that gives what a method makes of a scene of numbers."""

    def record(scene):
        found = fit(method, scene)
        return judged_numbers(scene, scene.score.estimated(found), *interval_of(found, scene))

    return record


def interval_of(found, scene):
    """Return the ends of the central 90 % intervals of the known tasks, NaN where there is none."""
    at = scene.score.tasks
    if isinstance(found.model, HasPosterior):
        levels, quantiles = found.model.posterior(found.partition, found.state)
        assert (levels[0], levels[-1]) == (0.05, 0.95)
        return quantiles[at, 0], quantiles[at, -1]
    reach = NORMAL_90 * found.estimates.standard_error[at]
    return found.estimates.truths[at] - reach, found.estimates.truths[at] + reach


def judged_numbers(scene, numbers, low, high):
    """Return the record of numbers: distances, and whether the interval covers the truth."""
    known = scene.score.known
    inside = np.where(np.isnan(low + high), np.nan, (low <= known) & (known <= high))
    return {
        LOSS: np.abs(numbers - known),
        INSIDE: inside.astype(np.float32),
        WIDTH: (high - low).astype(np.float32),
    }


def constant_number(scene):
    """Return the record of who always says the median of the known numbers."""
    known = scene.score.known
    nothing = np.full(len(known), np.nan)
    return judged_numbers(scene, np.full(len(known), np.median(known)), nothing, nothing)


def number_rivals(interval_with_distribution):
    """Return all rivals on numbers by name; the oracle has the medians and intervals given."""

    def oracle(scene):
        at = scene.score.tasks
        return judged_numbers(scene, *(column[at] for column in interval_with_distribution(scene)))

    rivals = {name: number_record(method) for name, method in NUMBER_METHODS.items()}
    return rivals | {ORACLE: oracle, CONSTANT: constant_number}


def losses_of(found):
    """Return losses by rival, shape (draws, tasks)."""
    return {name: np.asarray(record[LOSS], np.float64) for name, record in found.items()}

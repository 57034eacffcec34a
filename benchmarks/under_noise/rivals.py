"""The methods of the comparison by name, and what they make of a scene."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import quietcrowd as qc
from quietcrowd.exceptions import QuietcrowdWarning
from quietcrowd.inference import METHODS
from under_noise.records import LOSS

SUBJECT = "noise-aware"
"""The method that is judged."""

CONFIDENCE = "confidence"

_OURS = {SUBJECT: METHODS[SUBJECT]()} if SUBJECT in METHODS else {}

LABEL_METHODS = _OURS | {
    "majority": qc.MajorityVote(),
    "weighted": qc.WeightedVote(),
    "dawid-skene": qc.DawidSkene(),
    "one-coin": qc.DawidSkene(one_coin=True),
    "glad": qc.GLAD(),
}

NUMBER_METHODS = _OURS | {
    "mean": qc.Mean(),
    "median": qc.Median(),
    "weighted-mean": qc.WeightedMean(),
    "crh": qc.CRH(),
    "catd": qc.CATD(),
    "gtm": qc.GTM(),
    "kdem": qc.KDEm(),
    "moon": qc.MOON(),
    "moon-normal": qc.MOON(truth_prior="normal"),
}


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
        return method.fit(scene.reports, gold=scene.gold, threads=1)


def label_record(method):
    """Return a function that gives what a method makes of a scene of labels."""

    def record(scene):
        found = fit(method, scene)
        codes, confidence = found.estimates.truths, found.estimates.confidence
        return judged(scene, codes, confidence, found.answers.answers_per_task > 0)

    return record


def judged(scene, codes, confidence, answered=None):
    """Return the record of labels: whether each known one is missed, and how sure it was."""
    at, known = scene.score.tasks, scene.score.known
    wrong = codes[at] != known
    if answered is not None:
        wrong |= ~answered[at]
    return {
        LOSS: wrong.astype(np.uint8),
        CONFIDENCE: np.nan_to_num(np.asarray(confidence, np.float64)[at]).astype(np.float32),
    }


def posterior_record(posterior_of):
    """Return a function that gives what a posterior makes of a scene of labels."""

    def record(scene):
        posterior = posterior_of(scene)
        return judged(scene, posterior.argmax(axis=1), posterior.max(axis=1))

    return record


def label_rivals(posterior_of=None, methods=None):
    """Return all rivals on labels by name, and the oracle whose posterior is given."""
    rivals = {n: label_record(m) for n, m in (methods or LABEL_METHODS).items()}
    if posterior_of is not None:
        rivals["oracle"] = posterior_record(posterior_of)
    return rivals

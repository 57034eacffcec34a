"""A drawn stand-in for Peer Grading, a data set of Li et al., KDD 2018, that is not public."""

from __future__ import annotations

from attrs import evolve

from quietcrowd.datasets import make_crowd
from quietcrowd.datasets.dataset import Dataset

PEER_GRADING = "peers (drawn)"
"""Its name in every table and picture: no answer of the real set is in it."""

TASKS, WORKERS, ANSWERS_EACH = 26, 72, 5
ACCURACY = (0.4, 0.78)
"""Bounds of the workers' accuracies. Majority vote on the plain answers then errs in 0.27 of the
tasks, as it does in the paper: that agreement is made, and confirms nothing."""


def drawn_peer_grading(seed: int) -> Dataset:
    """Return a crowd of the size of Table 1: 26 questions, 72 users, 360 answers, 26 truths.

    Both grades are equally likely truths; who grades whom is drawn, five groups each.

    Parameters
    ----------
    seed : int
        Of the draw.

    Examples
    --------
    >>> drawn_peer_grading(0).answers
    Answers(360 answers, 26 tasks, 72 workers, domain=Categorical([0, 1]))
    """
    crowd = make_crowd(
        kind="guessing",
        tasks=TASKS,
        workers=WORKERS,
        answers_per_worker=ANSWERS_EACH,
        labels=(0, 1),
        accuracy=ACCURACY,
        random_state=seed,
    )
    return evolve(crowd, name=PEER_GRADING)

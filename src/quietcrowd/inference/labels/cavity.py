"""Arguments of the kernels that compare each report with the posterior from all other reports.

Derivation: ``docs/theory/workers-quality.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["REPORT_ONE", "CavityVotes", "ReportLaws"]

REPORT_ONE = 2.0**30
"""What a report, and a log-probability of 1, is stored as in histograms."""


class CavityVotes(NamedTuple):
    """What a report adds to the log-odds of the labels, under each of the assumed crowds.

    The vote of worker i is ``trust_i`` times its own, cut at `most`, and ``1 - trust_i`` times that
    of a worker of the assumed crowd.

    Attributes
    ----------
    coins : ndarray of int64, shape (workers,) or (0,)
        In units of `nats`, log-odds of the label that a worker gives against any other; empty if
        there are tables.
    tables : ndarray of int32
        In units of `nats`, log-likelihoods at place ``(worker labels + report) labels + truth``;
        empty if there are coins.
    nats : float
        See above.
    most : float
        No vote of a worker's own is larger.
    trust : ndarray of float64, shape (workers,)
        From 0 to 1.
    crowd : ndarray of float64, shape (crowds,) or (crowds, labels, labels)
        Log-odds of a report against any other label; or log-likelihoods at [crowd, truth, report].
    log_priors : ndarray of float64, shape (labels,)
        Log-frequency of each label.
    """

    coins: npt.NDArray[np.int64]
    tables: npt.NDArray[np.int32]
    nats: float
    most: float
    trust: npt.NDArray[np.float64]
    crowd: npt.NDArray[np.float64]
    log_priors: npt.NDArray[np.float64]


class ReportLaws(NamedTuple):
    """How likely a report is under each of several channels.

    Attributes
    ----------
    right, wrong : ndarray of float64, shape (channels, labels, labels) or (channels, 2)
        P(report | truth) at [channel, truth, report] if the answer is right, and if it is wrong;
        or the same for all labels: that a report equals the truth, and that it is one other label.
    silent : ndarray of float64, shape (channels, labels)
        P(report) if the worker gave no answer.
    answering : ndarray of float64, shape (workers,)
        How often a worker's report comes from an answer of its own: 1 unless silence is hidden.
    nodes : ndarray of float64, shape (places,)
        Where the log-ratio of the report's probabilities if right and if wrong is counted.
    """

    right: npt.NDArray[np.float64]
    wrong: npt.NDArray[np.float64]
    silent: npt.NDArray[np.float64]
    answering: npt.NDArray[np.float64]
    nodes: npt.NDArray[np.float64]

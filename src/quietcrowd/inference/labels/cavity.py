"""Arguments of the kernels that compare each report with the posterior from all other reports.

Derivation: ``docs/theory/workers-quality.md``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

REPORT_ONE = 2.0**30
"""Fixed-point representation of a report, and of a log probability of 1, in histograms."""


class CavityVotes(NamedTuple):
    """Contributions of a report to the labels' log-odds, under each assumed crowd.

    The vote of worker i is ``trust_i`` times the worker's own, clipped at `most`, plus ``1 -
    trust_i`` times that of a worker of the assumed crowd. Either `coins` or `tables` is empty.

    Attributes
    ----------
    coins : ndarray of int64, shape (workers,) or (0,)
        Log-odds of the reported label against any other, in units of `nats`.
    tables : ndarray of int32
        Log-likelihoods at index ``(worker labels + report) labels + truth``, in units of `nats`.
    trust : ndarray of float64, shape (workers,)
        In [0, 1].
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
    """Probabilities of a report under each of several channels.

    Attributes
    ----------
    right, wrong : ndarray of float64, shape (channels, labels, labels) or (channels, 2)
        P(report | truth) at [channel, truth, report], if the answer is right or wrong. For
        symmetric channels, the probabilities that a report equals the truth, and that it is one
        given other label.
    silent : ndarray of float64, shape (channels, labels)
        P(report) if the worker gave no answer.
    answering : ndarray of float64, shape (workers,)
        Fraction of a worker's reports that come from answers: 1 unless silence is hidden.
    nodes : ndarray of float64, shape (places,)
        Grid of the log-ratio of the report's probabilities, right to wrong, for its histogram.
    """

    right: npt.NDArray[np.float64]
    wrong: npt.NDArray[np.float64]
    silent: npt.NDArray[np.float64]
    answering: npt.NDArray[np.float64]
    nodes: npt.NDArray[np.float64]

"""Arguments of the kernels that compare each report with the posterior from all other reports.

Derivation: ``docs/theory/workers-quality.md``.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

REPORT_ONE = 2.0**30
"""Fixed-point representation of a report, and of a log probability of 1, in histograms."""


class CavityVotes(NamedTuple):
    """Contributions of a report to the labels' log-odds, under each assumed crowd.

    The vote of worker i is ``trust_i``, in [0, 1], times the worker's own, clipped at `most`, plus
    ``1 - trust_i`` times that of a worker of the assumed `crowd`, shape (crowds,) or (crowds,
    truths, reports). Either `coins`, shape (workers,), the log-odds of the reported label against
    any other, or `tables`, log-likelihoods at ``(worker labels + report) labels + truth``, is
    empty; both are in units of `nats`.
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

    `right` and `wrong`, at [channel, truth, report], are those if the answer is right or wrong; for
    symmetric channels, shape (channels, 2), that a report equals the truth, and that it is one
    given other label. `silent`, at [channel, report], is that without an answer. `answering` is the
    fraction of each worker's reports that come from answers. `nodes` is the grid of the log-ratio
    of the report's probabilities, right to wrong, for its histogram.
    """

    right: npt.NDArray[np.float64]
    wrong: npt.NDArray[np.float64]
    silent: npt.NDArray[np.float64]
    answering: npt.NDArray[np.float64]
    nodes: npt.NDArray[np.float64]

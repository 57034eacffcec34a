"""CATD: weights that know how few answers they rest on."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import field, frozen
from scipy import special

from quietcrowd.exceptions import ParameterError
from quietcrowd.inference.kernels import fixed_point
from quietcrowd.inference.loss_weighted import LossWeighted
from quietcrowd.inference.partition import Summary
from quietcrowd.validation import at_least, check_real, plain

__all__ = ["CATD"]

LEAST_LOSS = 1e-9
"""No worker's losses count as less than this in total."""


def _check_alpha(_: object, __: object, alpha: Any) -> None:
    check_real("alpha", alpha, 0)
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha must be above 0 and below 1; got {alpha!r}")


@frozen(kw_only=True, slots=False)
class CATD(LossWeighted):
    """Truths that cost least, and weights from the upper limit of each worker's variance, in turn.

    ::

        truth_j = sum of w_u a_uj over the workers u who answered, over the sum of w_u
        w_u     = chi2(alpha / 2, n_u) / ( D_u + smoothing D / n )

    with ``D_u`` the sum of the squared errors of worker u, who gave n_u answers, ``D / n`` the mean
    of all, and ``chi2(q, n)`` the q-quantile of the chi-squared law with n degrees of freedom: the
    lower quantile, so that a worker of few answers, whose variance may be large, counts little.
    With ``loss="zero-one"`` errors are labels other than the truth.

    As printed, without `smoothing`, a worker of one answer can capture a task: once the truth has
    come near, its error vanishes and its weight grows without bound.

    Parameters
    ----------
    loss : {"zero-one", "squared", "absolute"}
        See `LossWeighted`; the quantiles are those of squared errors.
    alpha : float
        The upper limit holds with probability ``1 - alpha / 2``; between 0 and 1.
    smoothing : float
        Answers of the crowd's mean loss that are added to every worker's record, at least 0; 0 is
        the printed method.

    References
    ----------
    Q. Li et al., "A confidence-aware approach for truth discovery on long-tail data", VLDB 2014,
    equation 6. ``docs/theory/truth-discovery.md``.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.sparse_crowd(tasks=100, workers=60, sparsity=0.5, truths="uniform", seed=1)
    >>> weighted, plain = CATD().fit(crowd.answers), qc.Mean().fit(crowd.answers)
    >>> qc.mean_absolute_error(weighted, crowd.truths) < qc.mean_absolute_error(plain, crowd.truths)
    True
    """

    name: ClassVar[str] = "catd"
    alpha: float = field(default=0.05, converter=plain, validator=_check_alpha)
    smoothing: float = field(default=0.1, converter=plain, validator=at_least(0))

    def weigh(self, summary: Summary, losses: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return quantiles over losses; see `LossWeighted.weigh`."""
        pooled = fixed_point.exact_sum(losses, summary.workers) / summary.answers
        answers = np.maximum(summary.answers_per_worker, 1)
        counts, which = np.unique(answers, return_inverse=True)
        quantiles = 2.0 * special.gammaincinv(counts / 2.0, self.alpha / 2.0)[which]
        weights: npt.NDArray[np.float64] = quantiles / np.maximum(
            losses + self.smoothing * pooled, LEAST_LOSS
        )
        return weights

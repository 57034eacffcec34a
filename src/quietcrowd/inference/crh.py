"""CRH: weights from each worker's share of all losses."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.inference.loss_weighted import LossWeighted
from quietcrowd.inference.partition import Summary
from quietcrowd.inference.weights import log_share_weights
from quietcrowd.validation import one_of

__all__ = ["CRH"]

Divisor: TypeAlias = Literal["std", "variance"] | None
Normaliser: TypeAlias = Literal["sum", "max"]

POWERS: dict[Divisor, int] = {None: 0, "std": 1, "variance": 2}


@frozen(kw_only=True, slots=False)
class CRH(LossWeighted):
    """Truths that cost least, and weights from the workers' shares of all losses, in turn.

    ::

        truth_j = argmin_x  sum of w_u loss(a_uj, x) over the workers u who answered
        D_u     = sum of loss(a_uj, truth_j) over the tasks j that u answered
        w_u     = -ln( D_u / sum of all D )            or, with "max", -ln( D_u / largest D )

    With `divisor` a number's loss is divided by the standard deviation of the task's answers, or
    by its square. Tasks in wide and in narrow units count alike with squares over the variance and
    with distances over the standard deviation; squares over the standard deviation are the printed
    form. Labels have no divisor. With `per_answer` the D of a worker is divided by the number of
    its answers. The weights are those that minimise
    ``sum of w_u D_u`` where ``sum of exp(-w_u) = 1``. If all weights are 0, all workers count the
    same; otherwise no weight is less than a millionth of the greatest.

    Parameters
    ----------
    loss : {"zero-one", "squared", "absolute"}
        See `LossWeighted`.
    divisor : {"std", "variance", None}
        What numbers' losses are divided by.
    normaliser : {"sum", "max"}
        What a loss is a share of.
    per_answer : bool
        Whether to divide a worker's loss by the number of its answers.

    References
    ----------
    Q. Li et al., "Resolving conflicts in heterogeneous data by truth discovery and source
    reliability estimation", SIGMOD 2014, equations 1 to 5. ``docs/theory/truth-discovery.md``.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.sparse_crowd(tasks=100, workers=60, sparsity=0.5, truths="uniform", seed=1)
    >>> weighted, plain = CRH().fit(crowd.answers), qc.Mean().fit(crowd.answers)
    >>> qc.mean_absolute_error(weighted, crowd.truths) < qc.mean_absolute_error(plain, crowd.truths)
    True
    """

    name: ClassVar[str] = "crh"
    divisor: Divisor = field(default="std", validator=one_of(*POWERS))
    normaliser: Normaliser = field(default="sum", validator=one_of(*get_args(Normaliser)))
    per_answer: bool = field(default=True, validator=one_of(True, False))

    def __attrs_post_init__(self) -> None:
        if (self.loss, self.divisor) == ("absolute", "variance"):
            raise ParameterError(
                "loss='absolute' takes divisor='std' or None: a distance over a variance has no "
                "bound where the answers to a task hardly differ"
            )

    def _divisor_power(self) -> int:
        return POWERS[self.divisor]

    def weigh(self, summary: Summary, losses: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the logarithms of the shares; see `LossWeighted.weigh`."""
        answers = summary.answers_per_worker
        shared = losses / np.maximum(answers, 1) if self.per_answer else losses
        return log_share_weights(shared, of_largest=self.normaliser == "max")

"""Truth discovery by losses: what CRH and CATD share, for labels and for numbers."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import field, frozen
from scipy import special
from typing_extensions import override

from quietcrowd._core import infer_least_losses
from quietcrowd.domains import Categorical, Domain, as_numbers
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.frames import column_of
from quietcrowd.inference import integer_sums
from quietcrowd.inference.labels.model import AgreementTally, CategoricalMethod, sweep_votes
from quietcrowd.inference.method import IterativeInference
from quietcrowd.inference.numbers.model import (
    NumericMethod,
    SquaredErrors,
    WeightState,
    error_unit,
    log_share_weights,
    scaled_weights,
    unit_for,
)
from quietcrowd.inference.partition import Extension, Partition, Summary
from quietcrowd.inference.passes import NumericEstimates, Tally
from quietcrowd.validation import at_least, check_proportion, checked_by, one_of, plain

__all__ = [
    "CATD",
    "CRH",
    "Loss",
    "LossWeighted",
    "Losses",
]

MOST_CLASSES = 10
"""Where no more whole numbers than these are answered, they may be classes."""

Loss: TypeAlias = Literal["zero-one", "squared", "absolute"]


@frozen(kw_only=True, eq=False)
class Losses(Tally):
    """What the estimates cost each worker.

    Attributes
    ----------
    losses : ndarray of int64, shape (workers,)
        Sums, in units of `_loss_unit`.
    errors : SquaredErrors
        Sums of squared distances.
    """

    losses: npt.NDArray[np.int64]
    errors: SquaredErrors


def _loss_unit(summary: Summary) -> float:
    """Return what 1.0 is stored as: a loss is at most twice the answers of a task."""
    busiest = summary.most_answers
    return unit_for(busiest * 2 * (summary.longest_task + 1))


def _of_kind(name: str) -> Any:
    """Return a method that is the one of labels or the one of numbers, as the answers are."""

    def method(self: LossWeighted, *arguments: Any) -> Any:
        return getattr(self._kind, name)(self, *arguments)

    return method


@frozen(kw_only=True, slots=False)
class LossWeighted(
    CategoricalMethod[WeightState, Any],
    NumericMethod[WeightState, Any],
    IterativeInference[WeightState, Any],
):
    """A method that takes the truths that cost least, and weighs workers by what they cost.

    Parameters
    ----------
    loss : {"zero-one", "squared", "absolute"}
        What an answer costs: 1 where it is another label than the truth, for `Categorical` and
        `Ordinal` domains; the squared or the absolute distance, for numbers. The truth is then the
        weighted vote, mean or median.
    tolerance : float
        As of every method; smaller here, since the objective is flat where the truths converge.
    """

    loss: Loss = field(default="squared", validator=one_of(*get_args(Loss)))
    tolerance: float = field(default=1e-13, converter=plain, validator=at_least(0))

    @abstractmethod
    def weigh(self, summary: Summary, losses: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return what each worker's answers count, at least 0, given what they cost in total."""

    @override
    def infers_labels(self, domain: Domain) -> bool:
        return self._of_labels

    @property
    def _of_labels(self) -> bool:
        return self.loss == "zero-one"

    @property
    def _kind(self) -> Any:
        """The class whose part of the work is the right one for the answers."""
        return CategoricalMethod if self._of_labels else NumericMethod

    @override
    def extend_tally(
        self, tally: AgreementTally | Losses, extension: Extension
    ) -> AgreementTally | Losses:
        if isinstance(tally, AgreementTally):
            return tally.extended(extension)
        power = (1 if self.loss == "absolute" else 2) - self._divisor_power()
        return Losses(
            losses=extension.sums(tally.losses, _loss_unit, power),
            errors=tally.errors.extended(extension),
        )

    def _divisor_power(self) -> int:
        """Return to which power of a task's standard deviation losses are divided by."""
        return 0

    @override
    def domain_of(self, frame: nw.DataFrame[Any]) -> Any:
        if not self._of_labels and "label" in frame.columns and len(frame):
            column = column_of(frame, "label")
            if column.null_count < len(column) and np.isnan(as_numbers(column)).all():
                raise self._labels_error("labels that are no numbers")
            self._ask_of_classes(column)
        domain: Domain = self._kind.domain_of(self, frame)
        return domain

    def _ask_of_classes(self, column: pa.ChunkedArray) -> None:
        """Raise AnswerError where the answers may be classes that are numbered."""
        if not pa.types.is_integer(column.type):
            return
        found = sorted(column.unique().drop_null().to_pylist())
        if len(found) > MOST_CLASSES:
            return
        name = type(self).__name__
        raise AnswerError(
            f"the labels are {', '.join(map(str, found))}: classes, or numbers? {name} takes both. "
            f"For classes take {name}(loss='zero-one') (on the command line: --method "
            f"{self.name}:loss=zero-one); for numbers pass floats, or Answers.from_frame(frame, "
            "Ordinal([...])) (on the command line: --levels or --between)."
        )

    def _labels_error(self, what: str) -> AnswerError:
        return AnswerError(
            f"{type(self).__name__} needs numbers, an Ordinal or Interval domain, for "
            f"loss={self.loss!r}; got {what}. For labels take loss='zero-one' (on the "
            f"command line: --method {self.name}:loss=zero-one)."
        )

    @override
    def known(self, tasks: pa.Array, domain: Domain, truths: Any) -> npt.NDArray[Any]:
        if not self._of_labels and isinstance(domain, Categorical):
            raise self._labels_error(domain.example())
        known: npt.NDArray[Any] = self._kind.known(self, tasks, domain, truths)
        return known

    refuse = _of_kind("refuse")
    room = _of_kind("room")
    summarize = _of_kind("summarize")
    scale = _of_kind("scale")
    finish = _of_kind("finish")
    qualities = _of_kind("qualities")

    @override
    def sweep(
        self, partition: Partition, summary: Summary, state: WeightState | None, estimates: Any
    ) -> AgreementTally | Losses:
        """Take the truths that cost least, and tally the costs."""
        weights = self.weights(summary, state)
        if not self._of_labels:
            return self._sweep_numbers(partition, summary, weights, estimates)
        integer_sums.check_room(summary.longest_task, 1.0)
        return sweep_votes(
            partition,
            summary,
            weights=integer_sums.to_fixed(weights),
            nats=0.0,
            seed=self.seed,
            estimates=estimates,
        )

    def _sweep_numbers(
        self,
        partition: Partition,
        summary: Summary,
        weights: npt.NDArray[np.float64],
        estimates: NumericEstimates | None,
    ) -> Losses:
        squared, losses = np.zeros(summary.workers, np.int64), np.zeros(summary.workers, np.int64)
        infer_least_losses(
            partition.numbers,
            weights,
            self.loss == "absolute",
            self._divisor_power(),
            unit_for(summary.longest_task),
            error_unit(summary),
            _loss_unit(summary),
            squared,
            losses,
            (estimates or NumericEstimates.empty(0)).arrays,
        )
        return Losses(losses=losses, errors=SquaredErrors(squared=squared))

    @override
    def update(
        self,
        summary: Summary,
        tally: AgreementTally | Losses,
        state: WeightState | None,
    ) -> tuple[WeightState, float]:
        """Weigh the workers by their losses.

        The objective is minus the weighted loss per answer. It tells when the loop has
        converged; weights are scaled anew each time, so it may fall.
        """
        if isinstance(tally, AgreementTally):
            losses = summary.answers_per_worker - integer_sums.from_shares(tally.agreed)
        else:
            losses = tally.losses / _loss_unit(summary)
        weights = scaled_weights(self.weigh(summary, losses), summary)
        cost: npt.NDArray[np.float64] = -weights * losses
        objective = integer_sums.exact_sum(cost, summary.workers) / summary.answers
        return WeightState(weights=weights), objective


Divisor: TypeAlias = Literal["std", "variance"] | None
Normaliser: TypeAlias = Literal["sum", "max"]

POWERS: dict[Divisor, int] = {None: 0, "std": 1, "variance": 2}


@frozen(kw_only=True, slots=False)
class CRH(LossWeighted):
    """Alternate least-cost truths and weights from the workers' shares of all losses.

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

    @override
    def _divisor_power(self) -> int:
        return POWERS[self.divisor]

    @override
    def weigh(self, summary: Summary, losses: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the logarithms of the shares."""
        answers = summary.answers_per_worker
        shared = losses / np.maximum(answers, 1) if self.per_answer else losses
        return log_share_weights(shared, of_largest=self.normaliser == "max")


LEAST_LOSS = 1e-9
"""No worker's losses count as less than this in total."""


@frozen(kw_only=True, slots=False)
class CATD(LossWeighted):
    """Alternate least-cost truths and weights from the upper limit of each worker's variance.

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
    alpha: float = field(default=0.05, converter=plain, validator=checked_by(check_proportion))
    smoothing: float = field(default=0.1, converter=plain, validator=at_least(0))

    @override
    def weigh(self, summary: Summary, losses: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return quantiles over losses."""
        pooled = integer_sums.exact_sum(losses, summary.workers) / summary.answers
        answers = np.maximum(summary.answers_per_worker, 1)
        counts, which = np.unique(answers, return_inverse=True)
        quantiles = 2.0 * special.gammaincinv(counts / 2.0, self.alpha / 2.0)[which]
        weights: npt.NDArray[np.float64] = quantiles / np.maximum(
            losses + self.smoothing * pooled, LEAST_LOSS
        )
        return weights

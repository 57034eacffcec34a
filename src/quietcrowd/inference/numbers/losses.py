"""Truth discovery by losses: CRH and CATD, for labels and for numbers."""

from abc import abstractmethod
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, Literal, Self, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import field, frozen
from scipy import special
from typing_extensions import override

from quietcrowd._core import infer_least_losses
from quietcrowd.domains import Categorical, Domain, as_numbers, check_numeric
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.gold import label_per_task
from quietcrowd.inference import integer_sums
from quietcrowd.inference.fitting import FittingMethod
from quietcrowd.inference.labels.model import (
    AgreementTally,
    CategoricalModel,
    are_whole_floats,
    check_labels,
    check_reports_are_answers,
    labels_of,
)
from quietcrowd.inference.model import Extension, LearningModel, Model, Tally
from quietcrowd.inference.numbers.model import (
    NumericModel,
    SquaredErrors,
    WeightState,
    bind_numbers,
    known_numbers,
    log_share_weights,
    scaled_weights,
    unit_for,
)
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.inference.task_estimates import LabelEstimates, NumericEstimates
from quietcrowd.report_domains import Reals
from quietcrowd.validation import at_least, check_proportion, checked_by, one_of, plain

MOST_CLASSES = 10
"""Number of different whole numbers up to which answers may be classes."""

Loss: TypeAlias = Literal["zero-one", "squared", "absolute"]


@frozen(kw_only=True, eq=False)
class Losses(Tally):
    """Losses of each worker's answers, and sums of squared distances.

    `losses`, in the model's ``loss_unit``, scale with the range to the power ``loss_power``.
    """

    losses: npt.NDArray[np.int64]
    errors: SquaredErrors

    @override
    def extended(self, extension: Extension) -> Self:
        power = extension.new.loss_power
        return type(self)(
            losses=extension.sums(self.losses, attrgetter("loss_unit"), power),
            errors=self.errors.extended(extension),
        )


def _update(
    model: Model[Any, Any, Any], losses: npt.NDArray[np.float64]
) -> tuple[WeightState, float]:
    """Weight the workers by their losses; the objective is minus the weighted loss per answer.

    Since weights are scaled each time, it may fall.
    """
    summary = model.summary
    weights = scaled_weights(model.method.worker_weights(summary, losses), summary)
    cost: npt.NDArray[np.float64] = -weights * losses
    objective = integer_sums.exact_sum(cost, summary.workers) / summary.answers
    return WeightState(weights=weights), objective


@frozen(kw_only=True, eq=False, slots=False)
class LabelLossModel(
    CategoricalModel["LossMethod", WeightState, AgreementTally],
    LearningModel["LossMethod", WeightState, AgreementTally],
):
    """A `LossMethod` bound to labels."""

    @override
    def sweep(
        self, partition: Partition, state: WeightState | None, estimates: LabelEstimates | None
    ) -> AgreementTally:
        """Vote with the weights."""
        integer_sums.check_overflow(self.summary.longest_task, 1.0)
        weights = np.ones(self.summary.workers) if state is None else state.weights
        return self.tally_votes(partition, integer_sums.to_fixed(weights), estimates)

    @override
    def update(self, tally: AgreementTally, state: WeightState | None) -> tuple[WeightState, float]:
        wrong = self.summary.answers_per_worker - integer_sums.from_shares(tally.agreed)
        return _update(self, wrong)


@frozen(kw_only=True, eq=False, slots=False)
class NumberLossModel(
    NumericModel["LossMethod", WeightState, Losses],
    LearningModel["LossMethod", WeightState, Losses],
):
    """A `LossMethod` bound to numbers."""

    @cached_property
    def loss_unit(self) -> float:
        """Representation of 1.0: a loss is at most twice the number of answers of a task."""
        return unit_for(self.summary.most_answers * 2 * (self.summary.longest_task + 1))

    @property
    def loss_power(self) -> int:
        """Power of the range by which losses scale."""
        return (1 if self.method.loss == "absolute" else 2) - self.method.divisor_power

    @override
    def sweep(
        self, partition: Partition, state: WeightState | None, estimates: NumericEstimates | None
    ) -> Losses:
        """Take the truths of least cost, and sum up losses."""
        squared, losses = np.zeros((2, self.summary.workers), np.int64)
        infer_least_losses(
            partition.numbers,
            self.weights(state),
            self.method.loss == "absolute",
            self.method.divisor_power,
            self.task_unit,
            self.error_unit,
            self.loss_unit,
            squared,
            losses,
            (estimates or NumericEstimates.empty(0)).arrays,
        )
        return Losses(losses=losses, errors=SquaredErrors(squared=squared))

    @override
    def update(self, tally: Losses, state: WeightState | None) -> tuple[WeightState, float]:
        return _update(self, tally.losses / self.loss_unit)


@frozen(kw_only=True, slots=False)
class LossMethod(FittingMethod):
    """A method that takes the truths of least cost, and weights workers by their losses.

    The `loss` of an answer is "zero-one", 1 if it is another label than the truth, or the "squared"
    or "absolute" distance. The truth is then the weighted vote, mean or median. `tol` is small,
    since the objective is flat at convergence.
    """

    corrects_quality: ClassVar[bool] = True
    loss: Loss = field(default="squared", validator=one_of(*get_args(Loss)))
    tol: float = field(default=1e-13, converter=plain, validator=at_least(0))

    @abstractmethod
    def worker_weights(
        self, summary: Summary, losses: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Return the weight of each worker's answers, at least 0, from its sum of losses."""

    @property
    def divisor_power(self) -> int:
        """Power of a task's standard deviation by which losses of numbers are divided."""
        return 0

    @property
    def _of_labels(self) -> bool:
        return self.loss == "zero-one"

    @override
    def infers_labels(self, domain: Domain) -> bool:
        return self._of_labels

    @override
    def check_mechanism(self, mechanism: Any) -> None:
        if self._of_labels:
            check_reports_are_answers(mechanism, type(self).__name__)

    @override
    def domain_of(self, labels: pa.Array) -> Domain:
        if self._of_labels:
            return labels_of(labels)
        if len(labels) and np.isnan(as_numbers(pa.chunked_array([labels]))).all():
            raise self._labels_error("labels that are not numbers")
        self._check_no_classes(labels)
        return Reals()

    def _check_no_classes(self, labels: pa.Array) -> None:
        """Raise AnswerError if the answers may be numbered classes."""
        if not (pa.types.is_integer(labels.type) or are_whole_floats(labels)):
            return
        found = sorted(map(int, labels.to_pylist()))
        if len(found) > MOST_CLASSES:
            return
        name = type(self).__name__
        raise AnswerError(
            "inference.classes-or-numbers",
            found=", ".join(map(str, found)),
            name=name,
            mechanism=self.name,
        )

    def _check_no_labels(self, domain: Domain) -> None:
        if isinstance(domain, Categorical):
            raise self._labels_error(domain.example())

    def _labels_error(self, what: str) -> AnswerError:
        return AnswerError(
            "inference.numbers-needed",
            type_name=type(self).__name__,
            loss=self.loss,
            subject=what,
            name=self.name,
        )

    @override
    def known(self, tasks: pa.Array, domain: Domain, truths: Any) -> npt.NDArray[Any]:
        name = type(self).__name__
        if self._of_labels:
            return label_per_task(tasks, truths, check_labels(domain, name))
        self._check_no_labels(domain)
        return known_numbers(tasks, truths, domain, name)

    @override
    def bind(self, summary: Summary, known: npt.NDArray[Any] | None = None) -> Model[Any, Any, Any]:
        """Return a `LabelLossModel` or a `NumberLossModel`."""
        if self._of_labels:
            check_labels(summary.domain, type(self).__name__)
            return LabelLossModel(method=self, summary=summary)
        self._check_no_labels(summary.domain)
        check_numeric(summary.domain, type(self).__name__)
        return bind_numbers(NumberLossModel(method=self, summary=summary), known)


Divisor: TypeAlias = Literal["std", "variance"] | None
Normaliser: TypeAlias = Literal["sum", "max"]

POWERS: dict[Divisor, int] = {None: 0, "std": 1, "variance": 2}


@frozen(kw_only=True, slots=False)
class CRH(LossMethod):
    """Alternate truths of least cost, and weights by the workers' fractions of all losses.

    ::

        truth_j = argmin_x  sum of w_u loss(a_uj, x) over the workers u with an answer
        D_u     = sum of loss(a_uj, truth_j) over the tasks j that u answered
        w_u     = -ln( D_u / sum of all D )            or, with "max", -ln( D_u / largest D )

    `divisor` divides a number's loss by the standard deviation of the task's answers, or by its
    square. The unit of a task has no effect with squares over the variance, and with distances over
    the standard deviation; squares over the standard deviation are the printed form. `per_answer`
    divides the D of a worker by the number of its answers. The weights minimize
    ``sum of w_u D_u`` subject to ``sum of exp(-w_u) = 1``. They are equal if all are 0; otherwise
    each is at least a millionth of the greatest.

    Parameters
    ----------
    loss : {"zero-one", "squared", "absolute"}
        See `LossMethod`.
    divisor : {"std", "variance", None}
        Divisor of losses of numbers.
    normaliser : {"sum", "max"}
        Whether losses are relative to their sum or to the largest.
    per_answer : bool
        Whether to divide a worker's loss by the number of its answers.

    References
    ----------
    Q. Li et al., "Resolving conflicts in heterogeneous data by truth discovery and source
    reliability estimation", SIGMOD 2014, equations 1 to 5.
    ``research/docs/theory/truth-discovery.md``.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.make_crowd(
    ...     kind="sparse", tasks=100, workers=60, sparsity=0.5, truths="uniform", random_state=1
    ... )
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
            raise ParameterError("inference.absolute-loss-divisor")

    @property
    @override
    def divisor_power(self) -> int:
        return POWERS[self.divisor]

    @override
    def worker_weights(
        self, summary: Summary, losses: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Return minus the logarithms of the fractions."""
        answers = summary.answers_per_worker
        shared = losses / np.maximum(answers, 1) if self.per_answer else losses
        return log_share_weights(shared, of_largest=self.normaliser == "max")


LEAST_LOSS = 1e-9
"""Least sum of a worker's losses."""


@frozen(kw_only=True, slots=False)
class CATD(LossMethod):
    """Alternate truths of least cost, and weights by the upper limit of each worker's variance.

    ::

        truth_j = sum of w_u a_uj over the workers u with an answer, over the sum of w_u
        w_u     = chi2(alpha / 2, n_u) / ( D_u + smoothing D / n )

    with ``D_u`` the sum of the squared errors of worker u, who gave n_u answers, ``D / n`` the mean
    of all, and ``chi2(q, n)`` the q-quantile of the chi-squared distribution with n degrees of
    freedom. The lower quantile gives little weight to a worker with few answers. With
    ``loss="zero-one"`` errors are labels other than the truth.

    As printed, without `smoothing`, a worker with one answer can capture a task: its error vanishes
    near the truth, and its weight grows without bound.

    Parameters
    ----------
    loss : {"zero-one", "squared", "absolute"}
        See `LossMethod`; the quantiles are those of squared errors.
    alpha : float
        The limit has probability ``1 - alpha / 2``; between 0 and 1.
    smoothing : float
        Answers with the crowd's mean loss that are added to every worker's record, at least 0; 0 is
        the printed method.

    References
    ----------
    Q. Li et al., "A confidence-aware approach for truth discovery on long-tail data", VLDB 2014,
    equation 6. ``research/docs/theory/truth-discovery.md``.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.make_crowd(
    ...     kind="sparse", tasks=100, workers=60, sparsity=0.5, truths="uniform", random_state=1
    ... )
    >>> weighted, plain = CATD().fit(crowd.answers), qc.Mean().fit(crowd.answers)
    >>> qc.mean_absolute_error(weighted, crowd.truths) < qc.mean_absolute_error(plain, crowd.truths)
    True
    """

    name: ClassVar[str] = "catd"
    alpha: float = field(default=0.05, converter=plain, validator=checked_by(check_proportion))
    smoothing: float = field(default=0.1, converter=plain, validator=at_least(0))

    @override
    def worker_weights(
        self, summary: Summary, losses: npt.NDArray[np.float64]
    ) -> npt.NDArray[np.float64]:
        """Return quantiles divided by losses."""
        pooled = integer_sums.exact_sum(losses, summary.workers) / summary.answers
        answers = np.maximum(summary.answers_per_worker, 1)
        counts, which = np.unique(answers, return_inverse=True)
        quantiles = 2.0 * special.gammaincinv(counts / 2.0, self.alpha / 2.0)[which]
        weights: npt.NDArray[np.float64] = quantiles / np.maximum(
            losses + self.smoothing * pooled, LEAST_LOSS
        )
        return weights

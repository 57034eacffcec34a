"""The channel that preserves most information about the answer, for known label frequencies."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from attrs import evolve, field, frozen
from typing_extensions import override

from quietcrowd.domains import Categorical, Domain, NumericDomain, check_numeric
from quietcrowd.exceptions import ParameterError
from quietcrowd.label_frequencies import (
    as_label_frequencies,
    check_label_frequencies,
    label_frequencies,
)
from quietcrowd.mechanisms.channels.noise import Floats
from quietcrowd.mechanisms.channels.table import TableChannel
from quietcrowd.mechanisms.label_mechanism import LabelMechanism, check_epsilon, check_probability
from quietcrowd.mechanisms.report_meanings import Likelihoods, ReportMeanings, in_order
from quietcrowd.mechanisms.staircase_programme import MOST_ANSWERS, best_staircase
from quietcrowd.validation import number, one_of

Information: TypeAlias = Literal["mutual", "fisher"]


def _as_weights(weights: Any) -> Any:
    if weights is None:
        return None
    try:
        return tuple(map(tuple, np.asarray(weights).tolist()))
    except (TypeError, ValueError):
        return weights


def _check_missing(_: Any, __: Any, missing: Any) -> None:
    if missing is not None:
        raise ParameterError("mechanisms.best-channel-has-no-null", missing=missing)


@frozen(kw_only=True, slots=False)
class OptimalMechanism(LabelMechanism):
    """Channel that preserves most information at a loss, for known label frequencies.

    A report is the number of a column of a table, from 1 on, and no label. Each column supports
    some labels: their answers give it ``exp(epsilon)`` times as often as others do. A linear
    program determines the table when the mechanism is made. From then on the integers `weights`
    define it, and no device, file or campaign solves it again.

    For two labels it is randomized response, as it is for equally frequent labels at a large loss.
    With more labels and a smaller loss each column supports several, as in subset selection.
    `NoiseAware` reads such reports; other methods for labels reject them.

    Parameters
    ----------
    domain : Categorical or Ordinal
        2 to 12 labels.
    epsilon : float
        Largest privacy loss of one answer, natural logarithm, 0 to 16. At 0 a report reveals
        nothing.
    prior : mapping of label to float, optional
        Publicly known frequency of each answer, above 0; labels without a number share the rest. It
        must not come from the answers to be protected. By default all are equally frequent.
    information : {"mutual", "fisher"}
        Criterion: Shannon's information about the label; or, with an `Ordinal` domain, Fisher's
        about the mean level, for which a neighboring level is nearly as good as the right one.
    apart : float
        Least distance of the reports of any two labels, as a fraction, 0 to 1, of that under
        randomized response. At 0.5 no two labels need more than twice the reports to be
        distinguished. At 0, two rare labels may have the same reports.
    weights : array of int, shape (labels, reports), optional
        The table, out of 2^32; by default it is solved for, which takes up to some seconds.

    Raises
    ------
    ParameterError
        If an argument is invalid, or the loss by the table exceeds `epsilon`.

    Guarantee
    ---------
    Pure and exact: ln of the largest ratio in ``channel.weights``, rounded up; never above
    `epsilon`. The loss about n answers is n times as much. Participation is not protected. The
    guarantee does not depend on whether the prior is right; only the preserved information does.

    References
    ----------
    P. Kairouz, S. Oh and P. Viswanath, "Extremal Mechanisms for Local Differential Privacy", JMLR
    17 (2016), Theorems 2 and 4. ``research/docs/theory/optimal-channel.md``.

    Examples
    --------
    >>> from quietcrowd import Categorical
    >>> domain = Categorical(["none", "one", "several"])
    >>> mechanism = OptimalMechanism(domain=domain, epsilon=1.0, prior={"none": 0.8})
    >>> mechanism.channel.probabilities.round(3)
    array([[0.654, 0.106, 0.106, 0.134],
           [0.24 , 0.288, 0.106, 0.366],
           [0.24 , 0.106, 0.288, 0.366]])
    >>> mechanism.guarantee().epsilon <= 1.0
    True
    """

    name: ClassVar[str] = "optimal"
    source: ClassVar[str] = (
        "Kairouz, Oh and Viswanath, JMLR 17 (2016), Theorem 4; docs/theory/optimal-channel.md"
    )
    missing: None = field(default=None, validator=_check_missing)
    epsilon: float = field(converter=number, validator=check_epsilon)
    prior: Any = field(
        default=None, converter=as_label_frequencies, validator=check_label_frequencies
    )
    information: Information = field(default="mutual", validator=one_of(*get_args(Information)))
    apart: float = field(default=0.5, converter=number, validator=check_probability)
    weights: Any = field(default=None, converter=_as_weights, repr=False)

    def __attrs_post_init__(self) -> None:
        if self.domain.size > MOST_ANSWERS:
            raise ParameterError(
                "mechanisms.too-many-labels-for-best",
                most_answers=MOST_ANSWERS,
                size=self.domain.size,
            )
        if self.information == "fisher" and not isinstance(self.domain, NumericDomain):
            raise ParameterError("mechanisms.fisher-needs-levels", domain=self.domain.example())
        if not (self.frequencies > 0).all():
            rarest = self.domain.labels[int(self.frequencies.argmin())]
            raise ParameterError("mechanisms.prior-zero", rarest=str(rarest))
        if self.weights is None:
            object.__setattr__(self, "weights", self._solved())
        shape = self.channel.weights.shape
        if shape[0] != self.domain.size:
            raise ParameterError("mechanisms.weights-shape", size=self.domain.size, shape=shape[0])
        if self.channel.epsilon > self.epsilon:
            raise ParameterError(
                "mechanisms.weights-exceed-epsilon",
                epsilon=self.epsilon,
                loss=self.channel.epsilon,
            )

    @property
    @override
    def report_domain(self) -> Domain:
        """Domain of the reports: numbers of columns, from 1 on."""
        return Categorical(range(1, self.channel.reports + 1))

    @cached_property
    @override
    def report_meanings(self) -> ReportMeanings:
        """Meanings of the columns, which have no name: see `Likelihoods`."""
        return Likelihoods.of(self.channel.weights, self.domain.labels)

    @cached_property
    def channel(self) -> TableChannel:
        """Distribution of a report given its answer, the same for every worker."""
        return TableChannel(weights=self.weights, numbered=True)

    @property
    @override
    def claimed_epsilon(self) -> float:
        """Requested upper bound on the loss."""
        return self.epsilon

    @property
    def frequencies(self) -> Floats:
        """Assumed frequency of each answer, shape (labels,)."""
        return label_frequencies(self.domain, self.prior)

    @property
    def information_kept(self) -> float:
        """Fraction, 0 to 1, of the information about the answer that a report preserves.

        It is a fraction of the entropy of an answer or of its Fisher information, see
        `information`, computed from `weights`.
        """
        every = self._worth(np.eye(self.domain.size))
        return float(self._worth(self.channel.probabilities).sum() / every.sum())

    def _worth(self, columns: Floats) -> Floats:
        """Return the worth of each column of a table, shape (columns,).

        This is its part of the information in nats, or of the variance of the levels that the
        report explains, in squared levels.
        """
        shares = self.frequencies[:, np.newaxis]
        joint = shares * columns
        total = joint.sum(axis=0)
        if self.information == "fisher":
            levels = check_numeric(self.domain, self.name).numbers(np.arange(self.domain.size))
            explained: Floats = ((levels - self.frequencies @ levels) @ joint) ** 2 / total
            return explained
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = joint * np.log(columns / total)
        information: Floats = np.where(columns > 0, terms, 0.0).sum(axis=0)
        return information

    def _solved(self) -> tuple[tuple[int, ...], ...]:
        """Solve for the weights with sorted labels, so that the order of labels does not matter.

        The solver's choice among several optima depends on the order of its unknowns.
        """
        labels = self.domain.labels
        names = sorted(labels, key=in_order)
        if names != [*labels]:
            rows = evolve(self, domain=Categorical(names)).weights
            return tuple(rows[names.index(label)] for label in labels)
        solved = best_staircase(self._worth, self.domain.size, self.epsilon, apart=self.apart)
        return tuple(map(tuple, solved.tolist()))

    @override
    def _parameters(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon,
            "prior": None if self.prior is None else dict(self.prior),
            "information": self.information,
            "apart": self.apart,
            "weights": [list(row) for row in self.weights],
        }

    @classmethod
    @override
    def _from_parameters(cls, domain: Domain, parameters: Any) -> OptimalMechanism:
        if parameters["weights"] is None:
            raise ParameterError("mechanisms.weights-missing")
        names = ("epsilon", "prior", "information", "apart", "weights")
        return cls(domain=domain, **{name: parameters[name] for name in names})

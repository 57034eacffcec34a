"""The channel that keeps most information about the answer, for known frequencies of labels."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
from attrs import evolve, field, frozen
from typing_extensions import override

from quietcrowd.domains import Categorical, Domain, NumericDomain, check_numeric
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channel import FiniteChannel, Floats
from quietcrowd.mechanisms.label_frequencies import (
    as_label_frequencies,
    check_label_frequencies,
    label_frequencies,
)
from quietcrowd.mechanisms.label_mechanism import LabelMechanism, check_epsilon, check_probability
from quietcrowd.mechanisms.report_meanings import Likelihoods, ReportMeanings, in_order
from quietcrowd.mechanisms.staircase_programme import MOST_ANSWERS, best_staircase
from quietcrowd.validation import number, one_of

__all__ = ["OptimalChannel"]

Information: TypeAlias = Literal["mutual", "fisher"]


def _as_weights(weights: Any) -> Any:
    """Return a table of integers as tuples; anything else as it is."""
    if weights is None:
        return None
    try:
        return tuple(map(tuple, np.asarray(weights).tolist()))
    except (TypeError, ValueError):
        return weights


def _check_null(_: Any, __: Any, null: Any) -> None:
    if null is not None:
        raise ParameterError(
            "the best channel is one for answers, and null must be None; where it must not show "
            "who answered take RandomizedResponse (on the command line: one-layer:null=category); "
            f"got {null!r}"
        )


@frozen(kw_only=True, slots=False)
class OptimalChannel(LabelMechanism):
    """Report with the most information about the answer at a loss, for known frequencies.

    A report is the number of a column of a table, from 1 on, and no label. Each column speaks for
    some of the labels: their answers give it ``exp(epsilon)`` times as often as the others do.
    Which columns there are, and how frequent they are, is found by a linear programme when the
    mechanism is made; from then on `weights`, integers, are what it is, and nothing is solved
    again on a device, from a file or in a campaign.

    For two labels it is randomised response, and for equally frequent ones at a large loss. With
    more labels and a loss that is not large each column speaks for several, as in subset selection,
    and rare labels share some of theirs. `NoiseAware` reads such reports; other methods for labels
    refuse them.

    Parameters
    ----------
    domain : Categorical or Ordinal
        2 to 12 labels.
    epsilon : float
        Largest privacy loss of one answer, natural logarithm, 0 to 16. At 0 a report tells nothing.
    prior : mapping of label to float, optional
        How frequent each answer is, as far as that is publicly known; labels without a number share
        the rest. It must not come from the answers that are to be protected. Each frequency is
        above 0. By default all labels are equally frequent.
    information : {"mutual", "fisher"}
        What is kept: Shannon's information about the label; or, with an `Ordinal` domain, Fisher's
        about the mean level, for which a neighbouring level is nearly as good as the right one.
    apart : float
        How far the reports of any two labels are apart at least, as a share of how far they are
        under randomised response, 0 to 1: at 0.5 no two labels need more than twice the reports to
        be told from each other. At 0 what keeps most may give two rare labels the same reports.
    weights : array of int, shape (labels, reports), optional
        The table itself, out of 2^32; by default it is solved for, which takes up to some seconds.

    Raises
    ------
    ParameterError
        Where a parameter is out of its range, `prior` names no label, or the table loses more than
        `epsilon`.

    Guarantee
    ---------
    Pure and exact: ln of the largest ratio in ``channel.weights``, rounded up; never above
    `epsilon`. n answers lose n times as much. Participation is not protected. It does not depend on
    whether the prior is right: that is a matter of how much is kept.

    References
    ----------
    P. Kairouz, S. Oh and P. Viswanath, "Extremal Mechanisms for Local Differential Privacy", JMLR
    17 (2016), Theorems 2 and 4. ``docs/theory/optimal-channel.md``.

    Examples
    --------
    >>> from quietcrowd import Categorical
    >>> domain = Categorical(["none", "one", "several"])
    >>> mechanism = OptimalChannel(domain=domain, epsilon=1.0, prior={"none": 0.8})
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
    null: None = field(default=None, validator=_check_null)
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
                f"domain must have at most {MOST_ANSWERS} labels for the best channel; got "
                f"{self.domain.size}. RandomizedResponse takes more (on the command line: "
                "one-layer)."
            )
        if self.information == "fisher" and not isinstance(self.domain, NumericDomain):
            raise ParameterError(
                'information="fisher" is about levels, an Ordinal domain; got '
                f"{self.domain.example()}"
            )
        if not (self.frequencies > 0).all():
            rarest = self.domain.labels[int(self.frequencies.argmin())]
            raise ParameterError(
                f"prior of {str(rarest)!r} must be above 0: a label that nobody answers is left "
                "out of the domain"
            )
        if self.weights is None:
            object.__setattr__(self, "weights", self._solved())
        shape = self.channel.weights.shape
        if shape[0] != self.domain.size:
            raise ParameterError(
                f"weights must have a row for each of the {self.domain.size} labels; got {shape[0]}"
            )
        if self.channel.epsilon > self.epsilon:
            raise ParameterError(
                f"weights must lose at most epsilon={self.epsilon!r}; they lose "
                f"{self.channel.epsilon!r}"
            )

    @property
    @override
    def report_domain(self) -> Domain:
        """What a report can be: the number of a column, from 1 on."""
        return Categorical(range(1, self.channel.reports + 1))

    @cached_property
    @override
    def report_meanings(self) -> ReportMeanings:
        """A column has no name: it means its likelihoods, see `Likelihoods`."""
        return Likelihoods.of(self.channel.weights, self.domain.labels)

    @cached_property
    def channel(self) -> FiniteChannel:
        """The law of one report given one answer; the same for every worker."""
        return FiniteChannel(weights=self.weights)

    @property
    @override
    def claimed_epsilon(self) -> float:
        """The loss that the table was to have at most."""
        return self.epsilon

    @property
    def frequencies(self) -> Floats:
        """How frequent each answer is assumed to be, shape (labels,)."""
        return label_frequencies(self.domain, self.prior)

    @property
    def information_kept(self) -> float:
        """What a report keeps of the information about the answer, as a share: 0 to 1.

        Of the entropy of an answer, or of its Fisher information, as `information` says; computed
        from the integers in `weights`.
        """
        every = self._worth(np.eye(self.domain.size))
        return float(self._worth(self.channel.probabilities).sum() / every.sum())

    def _worth(self, columns: Floats) -> Floats:
        """Return what each column of a table is worth, shape (columns,).

        Its part of the information in nats; or of the variance of the levels, in squared levels,
        which the report explains.
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
        """Return the weights that are worth most: of several tables the same for any label order.

        The solver's choice depends on the order of its unknowns.
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
    def _from_parameters(cls, domain: Domain, parameters: Any) -> OptimalChannel:
        if parameters["weights"] is None:
            raise ParameterError("weights must be a table of integers; got None")
        names = ("epsilon", "prior", "information", "apart", "weights")
        return cls(domain=domain, **{name: parameters[name] for name in names})

"""What an experiment measures of an estimate: one main score, and what is read beside it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

from attrs import frozen

from quietcrowd.answers import Answers
from quietcrowd.evaluation.metrics import KnownNumbers, KnownTruths
from quietcrowd.inference.estimate import TruthEstimate
from quietcrowd.inference.fitting import FittingMethod

__all__ = ["AbsoluteErrorScore", "ErrorRateScore", "Score", "score_for"]


class Score(ABC):
    """How good an estimate is.

    Attributes
    ----------
    names : tuple of str
        The main score, less being better, and further ones.
    """

    names: ClassVar[tuple[str, ...]]

    @abstractmethod
    def of(self, estimate: TruthEstimate) -> tuple[float, ...]:
        """Return the scores of an estimate."""

    @abstractmethod
    def of_constant(self) -> tuple[float, ...]:
        """Return the scores of the best constant guess."""


@frozen(kw_only=True, eq=False)
class ErrorRateScore(Score):
    """The share of wrong labels."""

    names: ClassVar[tuple[str, ...]] = ("error_rate",)
    known: KnownTruths

    def of(self, estimate: TruthEstimate) -> tuple[float, ...]:
        """Return the error rate; see `Score.of`."""
        return (self.known.error_rate(estimate),)

    def of_constant(self) -> tuple[float, ...]:
        """Return the error rate of the best constant guess; see `Score.of_constant`."""
        return (self.known.constant_error_rate(),)


@frozen(kw_only=True, eq=False)
class AbsoluteErrorScore(Score):
    """The mean absolute error, the error after centring, and the correlation."""

    names: ClassVar[tuple[str, ...]] = ("mae", "centred_error", "correlation")
    known: KnownNumbers

    def of(self, estimate: TruthEstimate) -> tuple[float, ...]:
        """Return the errors and the correlation; see `Score.of`."""
        return (
            self.known.mean_absolute_error(estimate),
            self.known.centred_error(estimate),
            self.known.correlation(estimate),
        )

    def of_constant(self) -> tuple[float, ...]:
        """Return the errors of the best constant guess; see `Score.of_constant`."""
        return (
            self.known.constant_absolute_error(),
            self.known.constant_centred_error(),
            float("nan"),
        )


def score_for(answers: Answers, truths: Any, methods: Iterable[FittingMethod[Any, Any]]) -> Score:
    """Return the score that suits all of the methods."""
    if any(not method.infers_labels for method in methods):
        return AbsoluteErrorScore(known=KnownNumbers(answers, truths))
    return ErrorRateScore(known=KnownTruths(answers, truths))

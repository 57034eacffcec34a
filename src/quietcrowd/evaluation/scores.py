"""What an experiment measures of an estimate: one main score, and what is read beside it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
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
    def of(self, estimate: TruthEstimate, plain: TruthEstimate | None) -> tuple[float, ...]:
        """Return the scores of an estimate.

        Parameters
        ----------
        estimate : TruthEstimate
            What is scored.
        plain : TruthEstimate or None
            What the same method finds in the plain answers, if it can read them.
        """

    @abstractmethod
    def of_constant(self) -> tuple[float, ...]:
        """Return the scores of the best constant guess."""


@frozen(kw_only=True, eq=False)
class ErrorRateScore(Score):
    """The share of wrong labels."""

    names: ClassVar[tuple[str, ...]] = ("error_rate",)
    known: KnownTruths

    def of(
        self,
        estimate: TruthEstimate,
        plain: TruthEstimate | None,  # noqa: ARG002
    ) -> tuple[float, ...]:
        """Return the error rate; see `Score.of`."""
        return (self.known.error_rate(estimate),)

    def of_constant(self) -> tuple[float, ...]:
        """Return the error rate of the best constant guess; see `Score.of_constant`."""
        return (self.known.constant_error_rate(),)


@frozen(kw_only=True, eq=False)
class AbsoluteErrorScore(Score):
    """Errors of numbers, their correlation, and how far the weights are from the plain ones.

    The distance of weights is half the sum of the distances of the workers' shares of all weight,
    0 to 1, from those that the same method finds in the plain answers.
    """

    names: ClassVar[tuple[str, ...]] = (
        "mae",
        "rmse",
        "centred_error",
        "correlation",
        "weight_distance",
    )
    known: KnownNumbers

    def of(self, estimate: TruthEstimate, plain: TruthEstimate | None) -> tuple[float, ...]:
        """Return errors, correlation and distance of weights; see `Score.of`."""
        distance = float("nan")
        if plain is not None:
            moved = np.nan_to_num(estimate.quality) - np.nan_to_num(plain.quality)
            distance = float(np.abs(moved).sum() / 2.0)
        return (
            self.known.mean_absolute_error(estimate),
            self.known.root_mean_square_error(estimate),
            self.known.centred_error(estimate),
            self.known.correlation(estimate),
            distance,
        )

    def of_constant(self) -> tuple[float, ...]:
        """Return the errors of the best constant guess; see `Score.of_constant`."""
        return (
            self.known.constant_absolute_error(),
            self.known.constant_centred_error(),
            self.known.constant_centred_error(),
            float("nan"),
            float("nan"),
        )


def score_for(answers: Answers, truths: Any, methods: Iterable[FittingMethod[Any, Any]]) -> Score:
    """Return the score that suits all of the methods."""
    if any(not method.infers_labels for method in methods):
        return AbsoluteErrorScore(known=KnownNumbers(answers, truths))
    return ErrorRateScore(known=KnownTruths(answers, truths))

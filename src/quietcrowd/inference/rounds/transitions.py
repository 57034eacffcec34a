"""Candidates of how truths change from a round to the next one."""

from typing import Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen

Floats = npt.NDArray[np.float64]

LEVEL_STEPS = (0.003, 0.007, 0.015, 0.03, 0.06, 0.12, 0.25)
"""Standard deviations of the change of a number, in widths of the range."""

JUMPS = 1e-4
"""Fraction of the numbers that restart."""

SWITCH_RATES = (0.002, 0.01, 0.03, 0.06, 0.12, 0.25, 0.5, 0.999)
"""Fractions of the labels that restart."""


@frozen(kw_only=True, eq=False)
class Transitions:
    """Candidates of the change between two rounds.

    A fraction of the truths, `anew` by candidate, restarts from the distribution `rest`. The
    others move by `steps`, at [candidate, from, to]; without steps, they stay. `prior` are the
    probabilities of the candidates, in proportion to their size: that of a step or of the fraction
    is uniform.
    """

    anew: Floats
    prior: Floats
    rest: Floats
    steps: Floats | None = None

    @classmethod
    def of_labels(cls, rest: Floats) -> Self:
        """Return Markov chains with the stationary distribution `rest`."""
        anew = np.array(SWITCH_RATES)
        return cls(anew=anew, prior=anew / anew.sum(), rest=rest)

    @classmethod
    def of_numbers(cls, rest: Floats) -> Self:
        """Return normal steps on equal bins, and last a restart of all truths."""
        bins = np.linspace(0.0, 1.0, len(rest))
        apart = (bins[:, np.newaxis] - bins) / np.array(LEVEL_STEPS)[:, np.newaxis, np.newaxis]
        steps = np.exp(-0.5 * apart**2)
        steps = np.concatenate([steps, np.eye(len(rest))[np.newaxis]])
        sizes = np.array([*LEVEL_STEPS, LEVEL_STEPS[-1]])
        return cls(
            prior=sizes / sizes.sum(),
            anew=np.array([*[JUMPS] * len(LEVEL_STEPS), 1.0]),
            rest=rest,
            steps=steps / steps.sum(axis=2, keepdims=True),
        )

    def repeated(self, rounds: int) -> Self:
        """Return the change over several rounds."""
        stay = (1.0 - self.anew) ** rounds
        steps = self.steps
        if steps is not None and rounds > 1:
            steps = np.linalg.matrix_power(steps, rounds)
        return evolve(self, anew=1.0 - stay, steps=steps)

    def mean(self, weights: Floats) -> Self:
        """Return the one candidate that is the mean of all; `weights` sum to 1."""
        stay = weights * (1.0 - self.anew)
        steps = self.steps
        if steps is not None:
            steps = np.tensordot(stay / max(stay.sum(), 1e-300), steps, 1)[np.newaxis]
        return evolve(self, anew=1.0 - stay.sum(keepdims=True), steps=steps)

    def forward(self, now: Floats) -> Floats:
        """Return distributions one round later, shape (candidates, tasks, states)."""
        moved = now if self.steps is None else now @ self.steps
        anew = self.anew[:, np.newaxis, np.newaxis]
        return (1.0 - anew) * moved + anew * self.rest

    def backward(self, later: Floats) -> Floats:
        """Return expectations of functions of the truth of the next round, given the truth now."""
        moved = later if self.steps is None else later @ np.swapaxes(self.steps, 1, 2)
        anew = self.anew[:, np.newaxis, np.newaxis]
        return (1.0 - anew) * moved + anew * (later @ self.rest)[:, :, np.newaxis]

"""From the apparent truth to the truth: ``research/docs/theory/shared-errors.md``."""

import math
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from scipy import special

from quietcrowd.inference.model import Tally
from quietcrowd.inference.shared_errors import LEARN, SharedErrors

Floats = npt.NDArray[np.float64]

SLOPES = np.geomspace(1 / 64, 2.0, 15)
"""Grid of the factor of log-odds."""

CHANCES = np.array([0.002, 0.01, 0.02, 0.04, 0.06, 0.09, 0.12, 0.16, 0.2, 0.26, 0.32, 0.4])
"""Grid of the probability of a shared error."""

_EDGES = np.concatenate([[0.0], (CHANCES[1:] + CHANCES[:-1]) / 2.0, [0.45]])

MEAN_PER_MISTAKE = 0.5
"""Prior mean of the probability of a shared error, per wrong answer of a worker."""

MEANS = (0.01, 0.2)
"""Limits of that mean."""

WORTH = 12.0
"""Number of known truths that the prior is worth."""

USUAL_ANSWERS, LOG_SPREAD, FEW_ANSWERS = 8.0, 0.9, 4.0
"""The prior of the slope is lognormal. Its median is 1 for up to `USUAL_ANSWERS` answers per task,
and falls with the square root of a larger number. Its logarithm has a smaller standard deviation
with few answers, because the noise is known and so not overrated."""

MOST_TILTED = 16
"""Largest number of labels with a tilt of log-odds."""

TILT_COST = 3.0
"""Log evidence that a tilt must exceed."""

MOST_STEP = 2.0
"""Largest change of a tilt in one update."""

BINS = 256
"""Number of bins of log-odds, of width 1/8 from -16."""

_ODDS = (np.arange(BINS) + 0.5) / 8.0 - 16.0

_ACCURACIES = ("accuracy", "accuracy_low", "accuracy_high")

_WIDTH = 1.645
"""Half the length of a 90 % interval of a normal distribution, in standard deviations."""

DERIVATIVE_ONE = 2.0**24
"""Representation of a derivative of 1: 64 bits hold 5 10^11 known truths."""


@frozen(kw_only=True, eq=False)
class KnownTally(Tally):
    """Statistics of known truths in a sweep; arrays are empty if nothing is learned.

    `straight`, shape (slopes, bins), counts the log-odds that reports give known truths; `tilted`
    does with the tilt. `pull` and `curvature`, in units of 1 / `DERIVATIVE_ONE`, are derivatives of
    the log-probability of the `compared` known truths by the tilt.
    """

    straight: npt.NDArray[np.int64]
    tilted: npt.NDArray[np.int64]
    pull: npt.NDArray[np.int64]
    curvature: npt.NDArray[np.int64]
    compared: int = 0

    @classmethod
    def empty(cls, slopes: int, tilts: int) -> Self:
        """Return an empty tally; each label has a tilt."""
        tilted = slopes if tilts else 0
        return cls(
            straight=np.zeros((slopes, BINS), np.int64),
            tilted=np.zeros((tilted, BINS), np.int64),
            pull=np.zeros(tilts, np.int64),
            curvature=np.zeros((tilts, tilts), np.int64),
        )

    @property
    def sums(self) -> tuple[npt.NDArray[np.int64], ...]:
        """Arrays to which kernels add."""
        return self.straight, self.tilted, self.pull, self.curvature

    def log_likelihood(self, labels: int) -> Floats:
        """Return that of the known truths without a tilt, at [slope, chance]; 0 if not learned."""
        return _log_likelihood(self.straight, labels) if len(self.straight) else np.zeros((1, 1))


@frozen(kw_only=True, eq=False)
class TruthMap:
    """Distribution of the map: the truth is the apparent one, or with some chance another label.

    Log-odds are first multiplied by one of `slopes`, and a `tilt` is added, with the probability
    that `shares`, at [without or with the tilt, slope, chance], sum to. `chances` is the grid of
    their last axis. A map without shares changes nothing.
    """

    slopes: Floats
    chances: Floats
    shares: Floats
    tilt: Floats
    known_truths: int = 0

    @classmethod
    def first(cls, choice: Any, tilts: int) -> Self:
        """Return the map before the first update, by the parameter `shared_errors`."""
        if choice == LEARN:
            shares = np.zeros((1 + (tilts > 0), len(SLOPES), len(CHANCES)))
            shares[0] = 1.0 / shares[0].size
            return cls(slopes=SLOPES, chances=CHANCES, shares=shares, tilt=np.zeros(tilts))
        shares = np.ones((int(choice > 0), 1, 1))
        return cls(slopes=np.ones(1), chances=np.array([choice]), shares=shares, tilt=np.zeros(0))

    def arguments(self, labels: int) -> tuple[Any, ...]:
        """Return the argument `truth_map` of kernels."""
        others = max(labels - 1, 1)
        shares = self.shares if labels > 1 else self.shares[:0]
        weights = shares @ (1.0 - self.chances - self.chances / others)
        floor = float((shares * self.chances).sum()) / others
        return self.slopes, weights, floor, self.tilt, self.slope, self.chance

    @property
    def slope(self) -> float:
        """Geometric mean of the slope; 1 if the map changes nothing."""
        shares = self.shares.sum(axis=(0, 2))
        return float(np.exp(shares @ np.log(self.slopes))) if len(self.shares) else 1.0

    @property
    def chance(self) -> float:
        """Mean probability of a shared error."""
        return float(self.shares.sum(axis=(0, 1)) @ self.chances)

    @property
    def variance(self) -> float:
        """Variance of that probability."""
        shares = self.shares.sum(axis=(0, 1))
        return float(shares @ (self.chances - self.chance) ** 2) if len(self.shares) else 0.0

    def only_slope(self) -> "TruthMap":
        """Return the map of log-odds for the apparent truth, which further reports predict."""
        return evolve(
            self,
            slopes=np.array([self.slope]),
            chances=np.zeros(1),
            shares=np.ones((1, 1, 1)),
            tilt=np.zeros(0),
        )

    def right(self, labels: int) -> tuple[float, float]:
        """Return P(a label is the truth) if it is the apparent truth, and if it is not."""
        return 1.0 - self.chance, self.chance / max(labels - 1, 1)

    def accuracies(self, apparent: dict[str, Floats], labels: int) -> dict[str, Floats]:
        """Return ``accuracy`` with its interval, from those about the apparent truth.

        The interval includes the uncertainty of the chance of a shared error.
        """
        if not len(self.shares):
            return apparent
        same, other = self.right(labels)
        middle, low, high = (
            same * apparent[name] + other * (1.0 - apparent[name]) for name in _ACCURACIES
        )
        against = apparent["accuracy"] - (1.0 - apparent["accuracy"]) / max(labels - 1, 1)
        spread = _WIDTH**2 * self.variance * against**2
        return {
            "accuracy": middle,
            "accuracy_low": np.maximum(middle - np.sqrt((middle - low) ** 2 + spread), 0.0),
            "accuracy_high": np.minimum(middle + np.sqrt((high - middle) ** 2 + spread), 1.0),
        }

    def note(self) -> str:
        """Return remarks about shared errors for readers of the estimates."""
        shared = self.summary()
        if shared is None:
            return (
                "Workers are assumed to err independently. If they share errors, confidences are "
                "too high."
            )
        if len(self.chances) == 1:
            return (
                f"By shared_errors={shared.size:g}, {shared.size:.0%} of the truths are wrong for "
                "a reason that most workers share. Confidences include that."
            )
        if not shared.known_truths:
            return (
                f"In other crowds about {shared.size:.0%} of the truths are wrong for a reason "
                "that most workers share, and confidences include that. These reports cannot show "
                "it; known truths (gold) can."
            )
        return (
            f"By {shared.known_truths:,} known truths, about {shared.size:.0%} of the truths "
            f"({shared.low:.0%} to {shared.high:.0%}) are wrong for a reason that most workers "
            "share. Confidences include that."
        )

    def summary(self) -> SharedErrors | None:
        """Return the probability of a shared error with its interval."""
        if not len(self.shares):
            return None
        below = np.cumsum(self.shares.sum(axis=(0, 1)))
        if len(self.chances) == 1:
            low = high = self.chance
        else:
            low, high = np.interp([0.05, 0.95], np.concatenate([[0.0], below]), _EDGES).tolist()
        return SharedErrors(size=self.chance, low=low, high=high, known_truths=self.known_truths)


def _log_likelihood(counts: npt.NDArray[np.int64], labels: int) -> Floats:
    """Return the log-likelihood of known truths, at [slope, chance], from their log-odds."""
    right = special.expit(_ODDS)
    likely = np.outer(1.0 - CHANCES, right)
    likely += np.outer(CHANCES / max(labels - 1, 1), 1.0 - right)
    found: Floats = counts @ np.log(likely).T
    return found


def log_prior(answers: float, accuracy: float) -> Floats:
    """Return the log prior at [slope, chance].

    `answers` is the number of noiseless answers that the reports on a task are worth, and
    `accuracy` how often workers agree with the apparent truth.
    """
    median = -0.5 * math.log(max(answers / USUAL_ANSWERS, 1.0))
    spread = max(LOG_SPREAD**2 * answers / (answers + FEW_ANSWERS), 1e-6)
    logs = -((np.log(SLOPES) - median) ** 2) / (2.0 * spread)
    mean = min(max(MEAN_PER_MISTAKE * (1.0 - accuracy), MEANS[0]), MEANS[1])
    below = special.betainc(mean * WORTH, (1.0 - mean) * WORTH, _EDGES)
    prior: Floats = logs[:, np.newaxis] + np.log(np.maximum(np.diff(below), 1e-12))
    return prior


def learn_map(before: TruthMap, known: KnownTally, logs: Floats, prior: Floats) -> TruthMap:
    """Return the next map; `logs` are log-likelihoods of the known truths without a tilt.

    One Newton step leads to the tilt of the highest posterior density, and its evidence decides how
    much it counts.
    """
    straight = prior + logs
    shares = np.zeros_like(before.shares)
    shares[0] = _shares(straight)
    if not known.compared or not len(known.pull):
        return evolve(before, shares=shares, known_truths=known.compared)
    tilted = prior + _log_likelihood(known.tilted, len(known.pull))
    precision = known.curvature / DERIVATIVE_ONE + np.eye(len(before.tilt))
    gain = special.logsumexp(tilted) - special.logsumexp(straight) - before.tilt @ before.tilt / 2.0
    gain -= np.linalg.slogdet(precision)[1] / 2.0 + TILT_COST
    counts = float(special.expit(gain))
    step = np.linalg.solve(precision, known.pull / DERIVATIVE_ONE - before.tilt)
    step *= min(1.0, MOST_STEP / max(float(np.abs(step).max()), MOST_STEP))
    shares[0] *= 1.0 - counts
    shares[1] = counts * _shares(tilted)
    return evolve(before, shares=shares, tilt=before.tilt + step, known_truths=known.compared)


def _shares(logs: Floats) -> Floats:
    shares: Floats = np.exp(logs - special.logsumexp(logs))
    return shares

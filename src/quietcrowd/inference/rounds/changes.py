"""Sudden changes: many truths restart, or all numbers move alike, between two rounds."""

import math
from typing import Self

import numpy as np
import numpy.typing as npt
from attrs import evolve, frozen
from scipy import fft

from quietcrowd.inference.rounds.transitions import Transitions

Floats = npt.NDArray[np.float64]

SUDDEN = 0.01
"""Prior probability of a sudden change in a round."""

EXTENTS = (0.25, 0.5, 0.75, 1.0)
"""Fractions of the truths that restart in a sudden change, equally probable."""

LEAST = 1e-300
"""Least probability of a task's reports."""

_ROUNDED = 1e-12
"""Least probability of a task's reports after a move: transforms round smaller ones."""

_LEAST_CHANCE = 1e-4
"""Moves that are less probable are left out."""


@frozen(kw_only=True, eq=False)
class Change:
    """What the reports of a round tell of a sudden change.

    A truth restarts from `rest` with the probability `restarts`, and all numbers move by each of
    `moves`, in bins, with the probability `moved`, at [move, candidate, task]. The probabilities
    for a task are those that the reports on other tasks give. `evidence` is the log probability of
    all reports under each candidate, and `extent` the expected fraction of the truths that changed.
    """

    restarts: Floats
    rest: Floats
    moves: tuple[int, ...]
    moved: Floats
    evidence: Floats
    extent: float

    @classmethod
    def of(
        cls,
        predicted: Floats,
        weights: Floats,
        messages: Floats,
        transitions: Transitions,
        rounds: int,
    ) -> Self:
        """Return what messages, shape (tasks, states), tell of a change within some rounds.

        If a fraction e of the truths restarts, the reports on a task have the probability
        (1 - e) f + e a, f by the prediction and a by `rest`. Moves are compared by the mean
        prediction, so a round with one tells nothing about candidates.
        """
        likely = likelihoods(messages)
        followed = np.maximum((predicted * likely).sum(axis=2), LEAST)
        anew = np.maximum((transitions.rest * likely).sum(axis=1), LEAST)
        extents = np.array([0.0, *EXTENTS])
        logs = np.log(followed + extents[:, np.newaxis, np.newaxis] * (anew - followed))
        numbers = transitions.steps is not None
        sudden = max(1.0 - (1.0 - SUDDEN) ** rounds, LEAST)
        chance = sudden / (2.0 if numbers else 1.0)
        priors = np.array([1.0 - sudden, *[chance / len(EXTENTS)] * len(EXTENTS)])
        total = np.log(priors)[:, np.newaxis] + logs.sum(axis=2)
        moves: list[int] = []
        if numbers:
            least = float(total.max()) + math.log(_LEAST_CHANCE)
            moves, by_move = _likely_moves(mean_of(weights, predicted), likely, chance, least)
            by_move = np.repeat(by_move[:, np.newaxis], len(weights), axis=1)
            prior = math.log(chance / _all_moves(likely.shape[1]))
            total = np.concatenate([total, prior + by_move.sum(axis=2)])
            logs = np.concatenate([logs, by_move])
        others = normalised(total[:, :, np.newaxis] - logs)
        best = total.max(axis=0)
        joint = total + np.log(np.maximum(weights, LEAST))
        chances = normalised(joint.ravel()).reshape(joint.shape).sum(axis=1)
        return cls(
            restarts=np.tensordot(extents, others[: len(extents)], 1),
            rest=transitions.rest,
            moves=tuple(moves),
            moved=others[len(extents) :],
            evidence=best + np.log(np.exp(total - best).sum(axis=0)),
            extent=float(chances[: len(extents)] @ extents + chances[len(extents) :].sum()),
        )

    def mean(self, weights: Floats) -> Self:
        """Return the change that is the mean of those of all candidates."""
        moved = np.tensordot(self.moved, weights, (1, 0))[:, np.newaxis]
        return evolve(self, restarts=mean_of(weights, self.restarts)[np.newaxis], moved=moved)

    def of_first(self, tasks: int) -> Self:
        """Return the change of the first tasks."""
        return evolve(self, restarts=self.restarts[:, :tasks], moved=self.moved[:, :, :tasks])

    def forward(self, now: Floats) -> Floats:
        """Return distributions after the change, shape (candidates, tasks, states)."""
        found = self._stays * now + self.restarts[:, :, np.newaxis] * self.rest
        for move, chances in zip(self.moves, self.moved, strict=True):
            found += chances[:, :, np.newaxis] * _moved_by(now, move)
        return found

    def backward(self, later: Floats) -> Floats:
        """Return expectations of functions of a truth after the change, given it before."""
        anew: Floats = (later * self.rest).sum(axis=2)
        found = self._stays * later + (self.restarts * anew)[:, :, np.newaxis]
        for move, chances in zip(self.moves, self.moved, strict=True):
            found += chances[:, :, np.newaxis] * later[:, :, _places(later.shape[2], move)]
        return found

    @property
    def _stays(self) -> Floats:
        stays: Floats = (1.0 - self.restarts - self.moved.sum(axis=0))[:, :, np.newaxis]
        return stays


def mean_of(weights: Floats, parts: Floats) -> Floats:
    """Return the mean over the first axis."""
    total = np.zeros(parts.shape[1:])
    for weight, part in zip(weights, parts, strict=True):
        total += weight * part
    return total


def likelihoods(messages: Floats) -> Floats:
    """Return likelihoods, the greatest of each task being 1."""
    likely: Floats = np.exp(messages - messages.max(axis=1, keepdims=True))
    return likely


def normalised(logs: Floats) -> Floats:
    """Return probabilities along the first axis."""
    shares = np.exp(logs - logs.max(axis=0))
    found: Floats = shares / shares.sum(axis=0)
    return found


def _places(states: int, move: int) -> npt.NDArray[np.int64]:
    """Return where numbers are after a move; they stop at the ends."""
    return np.clip(np.arange(states) + move, 0, states - 1)


def _moved_by(now: Floats, move: int) -> Floats:
    """Return distributions after a move."""
    if move < 0:
        return _moved_by(now[:, :, ::-1], -move)[:, :, ::-1]
    moved = np.zeros_like(now)
    moved[:, :, move:] = now[:, :, : now.shape[2] - move]
    moved[:, :, -1] += now[:, :, now.shape[2] - move :].sum(axis=2)
    return moved


def _all_moves(states: int) -> int:
    return 2 * states - 2


def _likely_moves(
    now: Floats, likely: Floats, chance: float, least: float
) -> tuple[list[int], Floats]:
    """Return the moves with a log probability above the least.

    Also return the log probabilities of the reports on each task after each of them. `chance` is
    the prior of all moves.
    """
    states = now.shape[1]
    size = fft.next_fast_len(3 * states - 2, real=True)
    beyond = np.pad(likely, ((0, 0), (states - 1, states - 1)), "edge")
    found = fft.irfft(fft.rfft(beyond, size) * fft.rfft(now, size).conj(), size)
    logs = np.log(np.maximum(found[:, : 2 * states - 1], _ROUNDED)).T
    total = logs.sum(axis=1) + math.log(chance / _all_moves(states))
    total[states - 1] = -math.inf  # no move
    kept = np.flatnonzero(total > least)
    return (kept - states + 1).tolist(), logs[kept]

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

COMMON = 0.9
"""Probability that a restarted truth has the common value, if most restart with one."""

WIDTH = 1 / 32
"""Standard deviation of a common number, in widths of the range."""

LEAST = 1e-300
"""Least probability of a task's reports."""

_ROUNDED = 1e-12
"""Least probability of a task's reports after a move: transforms round smaller ones."""

_LEAST_CHANCE, _LEAST_COMMON = 1e-4, 1e-9
"""Moves, and restarts with a common value, that are less probable are left out."""


@frozen(kw_only=True, eq=False)
class Change:
    """How probable a sudden change is, given the reports of a round.

    A truth restarts from each of the distributions `origins` with the probability `restarts`, at
    [origin, candidate, task], and all numbers move by each of `moves`, in bins, with the
    probability `moved`. The first origin is the crowd's prior; from others most truths get one
    value. The probabilities for a task are those that the reports on other tasks give. `evidence`
    is the log probability of all reports under each candidate, and `extent` the expected fraction
    of the truths that changed.
    """

    restarts: Floats
    origins: Floats
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
        """Infer a change within some rounds from messages, shape (tasks, states).

        Moves are compared by the mean prediction, so a round with one favors no candidate.
        """
        likely = likelihoods(messages)
        numbers = transitions.steps is not None
        sudden = max(1.0 - (1.0 - SUDDEN) ** rounds, LEAST)
        chance = sudden / (3.0 if numbers else 2.0)
        followed = np.maximum((predicted * likely).sum(axis=2), LEAST)
        by_origin = origins_of(transitions)
        origin, extents, restart_logs, restart_priors = _likely_restarts(
            followed, weights, likely @ by_origin.T, _log_priors(transitions, chance)
        )
        logs = np.concatenate([np.log(followed)[np.newaxis], restart_logs])
        priors = np.append(math.log1p(-sudden), restart_priors)
        moves: list[int] = []
        if numbers:
            least = (priors + logs.sum(axis=2).max(axis=1)).max() + math.log(_LEAST_CHANCE)
            moves, by_move = _likely_moves(mean_of(weights, predicted), likely, chance, least)
            logs = np.concatenate([logs, np.repeat(by_move[:, np.newaxis], len(weights), axis=1)])
            priors = np.append(priors, [_prior_of_move(chance, likely.shape[1])] * len(moves))
        total = priors[:, np.newaxis] + logs.sum(axis=2)
        others = normalised(total[:, :, np.newaxis] - logs)
        best = total.max(axis=0)
        joint = total + np.log(np.maximum(weights, LEAST))
        chances = normalised(joint.ravel()).reshape(joint.shape).sum(axis=1)
        end, alone = 1 + len(extents), len(EXTENTS)
        restarts = extents[:, np.newaxis, np.newaxis] * others[1:end]
        return cls(
            restarts=np.concatenate(
                [restarts[:alone].sum(axis=0, keepdims=True), restarts[alone:]]
            ),
            origins=by_origin[[0, *origin[alone:]]],
            moves=tuple(moves),
            moved=others[end:],
            evidence=best + np.log(np.exp(total - best).sum(axis=0)),
            extent=float(chances[1:end] @ extents + chances[end:].sum()),
        )

    def mean(self, weights: Floats) -> Self:
        """Return the change that is the mean of those of all candidates."""
        moved = np.tensordot(self.moved, weights, (1, 0))[:, np.newaxis]
        restarts = np.tensordot(self.restarts, weights, (1, 0))[:, np.newaxis]
        return evolve(self, restarts=restarts, moved=moved)

    def of_first(self, tasks: int) -> Self:
        """Return the change of the first tasks."""
        return evolve(self, restarts=self.restarts[:, :, :tasks], moved=self.moved[:, :, :tasks])

    def forward(self, now: Floats) -> Floats:
        """Return distributions after the change, shape (candidates, tasks, states)."""
        found = self._stays * now + np.tensordot(self.restarts, self.origins, (0, 0))
        for move, chances in zip(self.moves, self.moved, strict=True):
            found += chances[:, :, np.newaxis] * _moved_by(now, move)
        return found

    def backward(self, later: Floats) -> Floats:
        """Return expectations of functions of a truth after the change, given it before."""
        anew: Floats = (self.restarts * np.moveaxis(later @ self.origins.T, 2, 0)).sum(axis=0)
        found = self._stays * later + anew[:, :, np.newaxis]
        for move, chances in zip(self.moves, self.moved, strict=True):
            found += chances[:, :, np.newaxis] * later[:, :, _places(later.shape[2], move)]
        return found

    @property
    def _stays(self) -> Floats:
        stays: Floats = (1.0 - self.restarts.sum(axis=0) - self.moved.sum(axis=0))[:, :, np.newaxis]
        return stays


def origins_of(transitions: Transitions) -> Floats:
    """Return the crowd's prior, and a distribution for each value that most truths may get."""
    states = np.arange(len(transitions.rest))
    if transitions.steps is None:
        alike = np.eye(len(states))
    else:
        apart = (states[:, np.newaxis] - states) / (WIDTH * len(states))
        alike = normalised(-(apart**2) / 2.0).T
    return np.concatenate(
        [transitions.rest[np.newaxis], COMMON * alike + (1.0 - COMMON) * transitions.rest]
    )


def _log_priors(transitions: Transitions, chance: float) -> Floats:
    """Return log priors of a restart from each origin, at each extent; `chance` is of each kind."""
    states = len(transitions.rest)
    of_value = transitions.rest if transitions.steps is None else np.full(states, 1.0 / states)
    shares = np.append(1.0, np.maximum(of_value, LEAST)) * chance / len(EXTENTS)
    found: Floats = np.log(shares)
    return found


def _likely_restarts(
    followed: Floats, weights: Floats, restarted: Floats, priors: Floats
) -> tuple[npt.NDArray[np.intp], Floats, Floats, Floats]:
    """Return origins and extents of restarts, log probabilities of the reports, and log priors.

    If a fraction e of the truths restarts, the reports on a task have the probability
    (1 - e) f + e a, f by the prediction and a by the origin, shape (tasks, origins). Restarts from
    the crowd's prior come first, and are all there; others are compared by the mean of f.
    """
    extents = np.array(EXTENTS)
    anew = np.maximum(restarted.T, LEAST)
    mean = np.maximum(mean_of(weights, followed), LEAST)
    sums = np.log(_mixed(mean, anew[0], np.append(0.0, extents))).sum(axis=1)
    least = max(sums[0], sums[1:].max() + priors[0]) + math.log(_LEAST_COMMON)
    kept = [(0, extent) for extent in EXTENTS] + [
        (origin, extent)
        for origin in range(1, len(anew))
        for extent, mixed in zip(EXTENTS, _mixed(mean, anew[origin], extents), strict=True)
        if np.log(mixed).sum() + priors[origin] > least
    ]
    origin = np.array([one for one, _ in kept])
    by_cause = np.array([extent for _, extent in kept])
    logs = np.log(_mixed(followed, anew[origin][:, np.newaxis], by_cause))
    return origin, by_cause, logs, priors[origin]


def _mixed(followed: Floats, anew: Floats, extents: Floats) -> Floats:
    """Return probabilities of reports by the fraction of truths that restart, its first axis."""
    found: Floats = followed + extents.reshape(-1, *[1] * followed.ndim) * (anew - followed)
    return found


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


def _prior_of_move(chance: float, states: int) -> float:
    return math.log(chance / (2 * states - 2))


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
    total = logs.sum(axis=1) + _prior_of_move(chance, states)
    total[states - 1] = -math.inf  # no move
    kept = np.flatnonzero(total > least)
    return (kept - states + 1).tolist(), logs[kept]

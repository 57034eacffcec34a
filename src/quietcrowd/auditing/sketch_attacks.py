"""How matrix factorisation is attacked: by the law of the noisy sums that devices compute.

A cell moves each of them by a little, and a report tells nearly all only where noise leaves every
one of them on the right side: of `rank` equal parts once in 2^rank times. A task whose profile is
nearly all in a few coordinates loses no more, and shows it sooner: such a task is attacked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quietcrowd.auditing.attack import Attack, AuditPlan, Collisions, ExactLoss, Observed
from quietcrowd.auditing.attack_rows import ALL, NULL, PART, VALUE, Floats, alone, ends, places
from quietcrowd.auditing.noise_attacks import laplace_peak
from quietcrowd.exceptions import AnswerError
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.sketch import (
    UNIT,
    SketchChannel,
    TaskProfile,
    moment_sensitivity,
    second_moments,
)
from quietcrowd.privacy.rounding import ratio_up

__all__ = ["plan_sketch"]

IDS = 12_500
MOST_NUMBERS = 2_000_000
"""Among so many ids for each coordinate a task is chosen, whose profiles are no more numbers."""

MOST_STARTS = 65

ROUNDED = 2.0**16
"""Where a device sends what it solved in floats, far fewer sums than so many share one."""


def plan_sketch(mechanism: Mechanism, channel: SketchChannel, answers: int) -> AuditPlan:
    """Return how noisy sums over all answers are to be audited."""
    low, high = ends(mechanism)
    hides = mechanism.participation_protected
    least = max(64, 2 * channel.profile.rank)
    tasks = _tasks(channel.profile, answers if hides else min(answers, least))
    sketch = _SketchLaw(mechanism, channel, tasks)

    def attack(name: str, one: list[Any], other: list[Any], **more: Any) -> Attack:
        return Attack(
            name=name,
            tasks=tasks,
            one=one,
            other=other,
            score=sketch.score(one, other),
            numbers=sketch.sums,
            moved=len(sketch.order),
            plain=(sketch.plain(one), sketch.plain(other)),
            **more,
        )

    rest = [low] * (len(tasks) - 1)
    attacks = [attack(VALUE, [high, *rest], [low, *rest])]
    attacks.append(alone(attacks[0]))
    if hides:  # else which tasks are answered must not differ
        far = high if channel.grid.steps - channel.centre >= channel.centre else low
        attacks.append(attack(NULL, [far, *rest], [None, *rest], share=PART))
    signs = _opposed(sketch.profile)
    if answers > 1:
        one, other = ([high if up else low for up in way] for way in (signs > 0, signs < 0))
        attacks.append(attack(ALL, one, other, share=PART, whole=True))
    return AuditPlan(
        exact=_exact(mechanism, channel, sketch.profile, signs, answers),
        attacks=attacks,
        collisions=Collisions(answer=high, tasks=least, chance=_equal_sketches(channel, hides)),
        tasks=tasks if hides else None,
    )


def _equal_sketches(channel: SketchChannel, hides: bool) -> Callable[[int], float]:
    peak = laplace_peak(channel.noise.scale)
    chance = peak if hides else min(1.0, ROUNDED * peak)
    return lambda _: chance


def _tasks(profile: TaskProfile, count: int) -> list[int]:
    """Return ids of tasks; the first has the profile that is most in a few coordinates."""
    first = _pointed_task(profile)
    return [first, *[task for task in range(count) if task != first][: count - 1]]


@lru_cache(maxsize=32)
def _pointed_task(profile: TaskProfile) -> int:
    ids = 1
    if profile.kind == "gaussian":
        ids = max(1, min(IDS * profile.rank, MOST_NUMBERS // profile.rank))
    numbers = profile.matrix(pa.array(range(ids))).astype(np.float64)
    sizes = np.abs(numbers).sum(axis=1)
    return int(((numbers**2).sum(axis=1) / np.maximum(sizes, 1.0) ** 2).argmax())


def _opposed(profile: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return signs of the tasks whose signed profiles have a sum of large 1-norm.

    The best that is found by turns, signs of tasks and signs of coordinates, from each coordinate
    and from equal signs: a lower bound on the largest, which is hard to find.
    """
    starts = [np.ones(profile.shape[1], np.int64), *np.eye(profile.shape[1], dtype=np.int64)]
    found = [_turned(profile, ways) for ways in starts[:MOST_STARTS]]
    return max(found, key=lambda signs: int(np.abs(signs @ profile).sum()))


def _turned(profile: npt.NDArray[np.int64], ways: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return signs of tasks that no turn of tasks or of coordinates makes better."""
    signs = np.where(profile @ ways >= 0, 1, -1)
    while True:
        better = np.where(profile @ np.sign(signs @ profile) >= 0, 1, -1)
        if np.abs(better @ profile).sum() <= np.abs(signs @ profile).sum():
            return signs
        signs = better


def _exact(
    mechanism: Mechanism,
    channel: SketchChannel,
    profile: npt.NDArray[np.int64],
    signs: npt.NDArray[np.int64],
    answers: int,
) -> ExactLoss:
    """Return the loss about a cell, and about the rows that are opposed, in integers."""
    epsilon = _cell_epsilon(mechanism, channel, profile)
    if answers == 1:
        return ExactLoss(epsilon=epsilon, worker_epsilon=epsilon)
    bottom, top = places(mechanism, channel.grid, ends(mechanism)).tolist()
    norm = int(np.abs(signs @ profile).sum())
    row = ratio_up(Fraction((top - bottom) * norm) / Fraction(channel.noise.scale))
    return ExactLoss(epsilon=epsilon, worker_epsilon=max(epsilon, row), every_row=False)


def _cell_epsilon(
    mechanism: Mechanism, channel: SketchChannel, profile: npt.NDArray[np.int64]
) -> float:
    """Return the loss about a cell from the 1-norms of the task profiles: exact, in integers."""
    grid = channel.grid
    bottom, top = places(mechanism, grid, ends(mechanism)).tolist()
    scale = Fraction(channel.noise.scale)
    norms = [int(norm) for norm in np.abs(profile).sum(axis=1)]
    losses = [Fraction((top - bottom) * max(norms)) / scale]
    moment_noise = channel.moment_noise(profile)
    if moment_noise is not None:
        moment_scale = Fraction(moment_noise.scale)
        away = max(abs(top - channel.centre), abs(bottom - channel.centre))
        losses += [
            Fraction(away * norm) / scale + Fraction(moment_sensitivity(row)) / moment_scale
            for norm, row in zip(norms, profile[:, np.newaxis], strict=True)
        ]
    return ratio_up(max(losses))


class _SketchLaw:
    """The law of what devices send, given rows of some tasks."""

    def __init__(self, mechanism: Mechanism, channel: SketchChannel, tasks: Sequence[int]) -> None:
        # Devices have the tasks in the order of their ids; rows come in the order of `tasks`.
        self.profile = channel.profile.matrix(pa.array(list(tasks)))
        self.mechanism, self.channel = mechanism, channel
        moved = np.argsort(-np.abs(self.profile[0]), kind="stable")
        length = mechanism.sketch_length  # type: ignore[attr-defined]
        self.order = [*moved, *range(len(moved), length)]

    def score(self, one: Sequence[Any], other: Sequence[Any]) -> Callable[[Observed], Floats]:
        """Return the score that tells two rows apart."""
        exact = [self._exact(row) for row in (one, other)]
        scales = np.full(len(exact[0]), self.channel.noise.scale)
        moment_noise = self.channel.moment_noise(self.profile)
        if moment_noise is not None:
            scales[self.channel.profile.rank :] = moment_noise.scale

        def score(observed: Observed) -> Floats:
            sent = self._sums(observed)
            away = [(np.abs(sent - place) / scales).sum(axis=1) for place in exact]
            gain: Floats = away[1] - away[0]
            return gain

        return score

    def sums(self, observed: Observed) -> Floats:
        """Return the noisy sums of each worker, those first that the first task moves most."""
        return self._sums(observed)[:, self.order]

    def plain(self, row: Sequence[Any]) -> Floats:
        """Return what these sums would be without noise."""
        return self._exact(row)[self.order]

    def _exact(self, row: Sequence[Any]) -> Floats:
        """Return what a device with this row computes before noise."""
        channel = self.channel
        answered = np.array([value is not None for value in row])
        stored = [value for value in row if value is not None]
        moved = places(self.mechanism, channel.grid, stored) - channel.centre
        sums = moved @ self.profile[answered]
        if channel.moments_epsilon:
            moments = second_moments(self.profile, answered[np.newaxis])[0]
            sums = np.concatenate([sums, moments])
        exact: Floats = sums.astype(np.float64)
        return exact

    def _sums(self, observed: Observed) -> Floats:
        """Return the noisy sums, also where devices send what they solved from them."""
        sent, length = observed.sketches, self.mechanism.sketch_length  # type: ignore[attr-defined]
        if sent is None or sent.shape[1] != length:
            what = "none" if sent is None else f"{sent.shape[1]:,}"
            raise AnswerError(f"each worker must send a sketch of {length:,} numbers; got {what}")
        if self.mechanism.participation_protected:
            return sent
        rank, ridge = self.channel.profile.rank, getattr(self.mechanism, "ridge", 0.0)
        whole = self.profile.T @ self.profile / UNIT**2 + ridge * np.eye(rank)
        sums: Floats = sent @ whole * (UNIT / self.channel.grid.step)
        return sums

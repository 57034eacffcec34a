"""Attacks on matrix factorization, by the distribution of the noisy sums that devices compute.

A report reveals nearly the whole loss only if the noise leaves every sum on the right side: with
`rank` equal parts once in 2^rank times. So the attacked task has a profile concentrated on a few
coordinates: its loss is not larger, but is detected with fewer reports.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from quietcrowd.auditing.attack import (
    ALL,
    NULL,
    PART,
    VALUE,
    Attack,
    AuditPlan,
    Collisions,
    ExactLoss,
    Floats,
    Observed,
    alone,
    ends,
    places,
)
from quietcrowd.auditing.channels.numbers import laplace_peak
from quietcrowd.exceptions import AnswerError
from quietcrowd.mechanisms.channels.sketch import (
    UNIT,
    SketchChannel,
    TaskProfile,
    moment_sensitivity,
    second_moments,
)
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.privacy.rounding import ratio_up

IDS = 12_500
MOST_NUMBERS = 2_000_000
"""Profile numbers, at most, among which a task is chosen; `IDS` ids for each coordinate."""

MOST_STARTS = 65

ROUNDED = 2.0**16
"""Upper bound on how many sums a device can solve to the same floats."""


def plan_sketch(channel: SketchChannel, mechanism: Mechanism, answers: int) -> AuditPlan:
    """Return the audit plan of a mechanism with noisy sums over all answers."""
    low, high = ends(mechanism)
    hides = mechanism.participation_protected
    least = max(64, 2 * channel.profile.rank)
    count, first = answers if hides else min(answers, least), _pointed_task(channel.profile)
    tasks = [first, *[task for task in range(count) if task != first][: count - 1]]
    sketch = _SketchDistribution(mechanism, channel, tasks)

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
    if hides:  # otherwise the guarantee covers no difference in participation
        far = high if channel.grid.steps - channel.centre >= channel.centre else low
        attacks.append(attack(NULL, [far, *rest], [None, *rest], share=PART))
    signs = _opposed(sketch.profile)
    peak = laplace_peak(channel.noise.scale)
    alike = peak if hides else min(1.0, ROUNDED * peak)
    if answers > 1:
        one, other = ([high if up else low for up in way] for way in (signs > 0, signs < 0))
        attacks.append(attack(ALL, one, other, share=PART, whole=True))
    return AuditPlan(
        exact=_exact(mechanism, channel, sketch.profile, signs, answers),
        attacks=attacks,
        collisions=Collisions(answer=high, tasks=least, chance=lambda _: alike),
        tasks=tasks if hides else None,
    )


@lru_cache(maxsize=32)
def _pointed_task(profile: TaskProfile) -> int:
    """Return the id of the task with the most concentrated profile."""
    ids = 1
    if profile.kind == "gaussian":
        ids = max(1, min(IDS * profile.rank, MOST_NUMBERS // profile.rank))
    numbers = profile.matrix(pa.array(range(ids))).astype(np.float64)
    sizes = np.abs(numbers).sum(axis=1)
    return int(((numbers**2).sum(axis=1) / np.maximum(sizes, 1.0) ** 2).argmax())


def _opposed(profile: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return signs of the tasks for which the sum of signed profiles has a large 1-norm.

    Signs of tasks and of coordinates are optimized in turns, from several starts. This is a lower
    bound on the largest norm, which is hard to find.
    """
    starts = [np.ones(profile.shape[1], np.int64), *np.eye(profile.shape[1], dtype=np.int64)]
    found = [_turned(profile, ways) for ways in starts[:MOST_STARTS]]
    return max(found, key=lambda signs: int(np.abs(signs @ profile).sum()))


def _turned(profile: npt.NDArray[np.int64], ways: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
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
    """Return the exact loss about one cell, and between the two rows of opposite `signs`."""
    bottom, top = places(mechanism, channel.grid, ends(mechanism)).tolist()
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
    epsilon = ratio_up(max(losses))
    if answers == 1:
        return ExactLoss(epsilon=epsilon, total_epsilon=epsilon)
    of_row = ratio_up(Fraction((top - bottom) * int(np.abs(signs @ profile).sum())) / scale)
    return ExactLoss(epsilon=epsilon, total_epsilon=max(epsilon, of_row), every_row=False)


class _SketchDistribution:
    """Distribution of the messages of devices, given rows of some tasks."""

    def __init__(self, mechanism: Mechanism, channel: SketchChannel, tasks: Sequence[int]) -> None:
        # Profiles in the order of `tasks`, as in the rows; devices sort tasks by id.
        self.profile = channel.profile.matrix(pa.array(list(tasks)))
        self.mechanism, self.channel = mechanism, channel
        moved = np.argsort(-np.abs(self.profile[0]), kind="stable")
        length = mechanism.sketch_length  # type: ignore[attr-defined]
        self.order = [*moved, *range(len(moved), length)]

    def score(self, one: Sequence[Any], other: Sequence[Any]) -> Callable[[Observed], Floats]:
        """Return the log-likelihood ratio of two rows as a score."""
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
        """Return the noisy sums of each worker, first those that the first task moves most."""
        return self._sums(observed)[:, self.order]

    def plain(self, row: Sequence[Any]) -> Floats:
        """Return these sums without noise."""
        return self._exact(row)[self.order]

    def _exact(self, row: Sequence[Any]) -> Floats:
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
        """Return the noisy sums; invert the solution if devices send one."""
        sent, length = observed.sketches, self.mechanism.sketch_length  # type: ignore[attr-defined]
        if sent is None or sent.shape[1] != length:
            what = "none" if sent is None else f"{sent.shape[1]:,}"
            raise AnswerError("privacy.sketch-of-wrong-length", length=length, subject=what)
        if self.mechanism.participation_protected:
            return sent
        rank, ridge = self.channel.profile.rank, getattr(self.mechanism, "ridge", 0.0)
        whole = self.profile.T @ self.profile / UNIT**2 + ridge * np.eye(rank)
        sums: Floats = sent @ whole * (UNIT / self.channel.grid.step)
        return sums

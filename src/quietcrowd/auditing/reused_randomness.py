"""Whether randomness is used again: equal messages, where the law makes them rare.

A guarantee takes the randomness of each report, and of each device, to be its own. Devices that
share a seed, or draw the same words in each run, may each send reports of the right law; but
whoever knows one worker's answers then knows the noise of all. Here all devices have the same row
of answers: those with the same randomness send the same message, and independent ones do so with a
chance that the public law bounds.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from attrs import frozen

from quietcrowd.auditing.attack import Collisions, Observed, crowd_of

if TYPE_CHECKING:
    import numpy as np

    from quietcrowd.mechanisms.mechanism import Mechanism

__all__ = ["MESSAGES", "EqualMessages", "compare_devices", "tasks_of_devices"]

ALONE = 100
"""Devices of each of two runs in which they are called one by one."""

TOGETHER = 1000
"""Workers of each of two calls for all at once."""

MESSAGES = 2 * (ALONE + TOGETHER)

RARE = 2.0**-40
"""Rows are no longer than they must be for equal ones to be as rare as that."""

MOST_TASKS = 1000

NEARLY = 1.01
"""Rows are no longer where all further tasks together gain less than this factor."""


@frozen(kw_only=True)
class EqualMessages:
    """How often devices with equal answers sent the same, and how rarely independent ones do.

    Attributes
    ----------
    messages : int
        How many there are in all.
    equal_pairs : int
        Pairs of equal ones among all pairs.
    surprise : float
        If all randomness is fresh, so many pairs are equal with a probability of at most this.
    risk : float
        What is no more likely than that convicts.
    """

    messages: int
    equal_pairs: int
    surprise: float
    risk: float

    @property
    def reused(self) -> bool:
        """Whether messages are equal more often than fresh randomness would make them."""
        return self.surprise <= self.risk


def tasks_of_devices(collisions: Collisions) -> int:
    """Return how many tasks the devices report: enough to make equal rows rare, if more do."""
    tasks, rarest = collisions.tasks, collisions.chance(MOST_TASKS)
    while tasks < MOST_TASKS and collisions.chance(tasks) > max(RARE, NEARLY * rarest):
        tasks = min(2 * tasks, MOST_TASKS)
    return tasks


def compare_devices(
    mechanism: Mechanism, collisions: Collisions, risk: float, rng: np.random.Generator | None
) -> EqualMessages:
    """Let devices with equal answers report, and count equal messages.

    A false alarm has a probability of `risk` at most.

    Notes
    -----
    Two runs of devices each of which is a call of its own, and two calls for workers all at once.
    In four ways messages are put into pairs that have none in common: neighbours in a call
    for all, the same place in two such calls, neighbours among devices of their own, the same
    device in two runs. The number of equal pairs is then binomial at most. By Markov's inequality
    the number of equal ones among *all* pairs has a bound as well, which finds devices that have
    one of a few seeds. The least of the five counts, times five.
    """
    tasks = tasks_of_devices(collisions)
    chance = min(1.0, collisions.chance(tasks))
    row, ids = [collisions.answer] * tasks, range(tasks)

    def messages(first: int, workers: int) -> list[bytes]:
        answers = crowd_of(mechanism.domain, ids, row, workers, first=first)
        reports = mechanism.randomize(answers, rng=rng)
        return Observed.of(reports, ids, workers, first=first).messages

    single = [[messages(place, 1)[0] for place in range(ALONE)] for _ in range(2)]
    batch = [messages(0, TOGETHER) for _ in range(2)]
    everything = [message for run in (*single, *batch) for message in run]
    pairs = [
        list(zip(batch[0][::2], batch[0][1::2], strict=True)),
        list(zip(*batch, strict=True)),
        list(zip(single[0][::2], single[0][1::2], strict=True)),
        list(zip(*single, strict=True)),
    ]
    equal = sum(count * (count - 1) // 2 for count in Counter(everything).values())
    expected = chance * len(everything) * (len(everything) - 1) / 2
    surprises = [_surprise(of, chance) for of in pairs]
    surprises.append(expected / equal if equal else 1.0)
    return EqualMessages(
        messages=len(everything),
        equal_pairs=equal,
        surprise=min(1.0, len(surprises) * min(surprises)),
        risk=risk,
    )


def _surprise(pairs: list[tuple[bytes, bytes]], chance: float) -> float:
    """Return how likely so many equal pairs are at most, or more of them."""
    from scipy.special import bdtrc

    equal = sum(one == other for one, other in pairs)
    return 1.0 if not equal else float(bdtrc(equal - 1, len(pairs), chance))

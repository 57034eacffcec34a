"""Detection of reused randomness: equal messages that the public distribution makes rare.

Devices that share a seed, or repeat random words, may send reports of the right distribution. But
anyone who knows one worker's answers then knows the noise of all.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from attrs import frozen

from quietcrowd.auditing.attack import Collisions, Observed

if TYPE_CHECKING:
    import numpy as np

    from quietcrowd.mechanisms.mechanism import Mechanism

ALONE = 100
"""Devices in each of two runs in which they are called one by one."""

TOGETHER = 1000
"""Workers in each of two calls for all at once."""

MESSAGES = 2 * (ALONE + TOGETHER)

RARE = 2.0**-40
"""Rows grow until equal ones are at least this rare."""

MOST_TASKS = 1000

NEARLY = 1.01
"""Rows stop growing if all further tasks together gain less than this factor."""


@frozen(kw_only=True)
class EqualMessages:
    """Number of messages of devices with equal answers, and of equal pairs among all pairs.

    `surprise` bounds the probability of this many equal pairs if all randomness is fresh.
    Randomness counts as reused if it is at most `risk`.
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
    """Return the number of tasks that make equal rows rare, if more tasks do."""
    tasks, rarest = collisions.tasks, collisions.chance(MOST_TASKS)
    while tasks < MOST_TASKS and collisions.chance(tasks) > max(RARE, NEARLY * rarest):
        tasks = min(2 * tasks, MOST_TASKS)
    return tasks


def compare_devices(
    mechanism: Mechanism, collisions: Collisions, risk: float, rng: np.random.Generator | None
) -> EqualMessages:
    """Let devices with equal answers report, and count equal messages.

    The probability of a false alarm is at most `risk`. Devices are called one by one in two runs,
    and all at once in two calls. Disjoint pairs of messages are formed in four ways, within and
    between these. Without reuse, the number of equal pairs is at most binomial. Markov's inequality
    also bounds the number of equal ones among *all* pairs, which finds devices that have one of a
    few seeds. The result is the least of the five probabilities, times five.
    """
    tasks = tasks_of_devices(collisions)
    chance = min(1.0, collisions.chance(tasks))
    row, ids = [collisions.answer] * tasks, range(tasks)

    def messages(first: int, workers: int) -> list[bytes]:
        return Observed.collect(mechanism, ids, row, workers, rng, first).messages

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
    """Return an upper bound on the probability of at least this many equal pairs."""
    from scipy.special import bdtrc

    equal = sum(one == other for one, other in pairs)
    return 1.0 if not equal else float(bdtrc(equal - 1, len(pairs), chance))

"""Least epsilon, or fewest workers, for which a falling curve of errors reaches a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.accounting.equal_loss import Maker, Per, mechanism_within
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.randomness import RandomState, seed_of
from quietcrowd.planning.crowd_assumption import CrowdAssumption, CrowdSize
from quietcrowd.planning.simulation import simulate_size
from quietcrowd.planning.theory import theory_error
from quietcrowd.validation import check_real, check_whole

Floats = npt.NDArray[np.float64]

LEAST_EPSILON, MOST_EPSILON = 1 / 32, 32.0

MOST_WORKERS = 2**17

DRAWS = 800
"""Most simulated crowds at each point; flat curves need many."""


def least_epsilon(
    target: float,
    assumption: CrowdAssumption,
    maker: Maker,
    size: CrowdSize,
    *,
    per: Per = "answer",
    draws: int = DRAWS,
    random_state: RandomState = 0,
) -> LeastNumber:
    """Return the least epsilon, from 1/32 to 32, with an expected error of at most `target`.

    More crowds are simulated, up to `draws` at each point, until its standard error is below 3 %.
    The expected error, not the interval, includes the uncertainty of a pilot.
    """
    _check(target, draws, assumption)
    curve = _curve(
        lambda epsilon: (epsilon, size),
        assumption,
        maker,
        per,
        seed_of(random_state),
        low=LEAST_EPSILON,
        high=MOST_EPSILON,
        what="epsilon",
    )
    return crossing(curve, target, 1.0, draws)


def least_workers(
    target: float,
    assumption: CrowdAssumption,
    maker: Maker,
    epsilon: float,
    *,
    tasks: int,
    answers: int,
    per: Per = "answer",
    draws: int = DRAWS,
    random_state: RandomState = 0,
) -> LeastNumber:
    """Return the fewest workers with an expected error of at most `target`; see `least_epsilon`."""
    _check(target, draws, assumption)
    start = min(max(4.0, 8.0 * tasks / answers), MOST_WORKERS / 2)
    curve = _curve(
        lambda workers: (epsilon, CrowdSize(tasks=tasks, workers=round(workers), answers=answers)),
        assumption,
        maker,
        per,
        seed_of(random_state),
        low=2.0,
        high=MOST_WORKERS,
        what="number of workers",
        whole=True,
    )
    return crossing(curve, target, start, draws)


def _check(target: Any, draws: Any, assumption: CrowdAssumption) -> None:
    check_real("target", target, 0)
    if not target:
        raise ParameterError("planning.target-not-positive")
    check_whole("draws", draws, 3)
    if target < assumption.floor():
        raise ParameterError("planning.target-below-floor", target=target, floor=assumption.floor())


def _curve(
    at: Callable[[float], tuple[float, CrowdSize]],
    assumption: CrowdAssumption,
    maker: Maker,
    per: Per,
    seed: int,
    **about: Any,
) -> Curve:
    def made(place: float) -> tuple[Mechanism, CrowdSize]:
        epsilon, size = at(place)
        counts = {"answers": size.answers, "tasks": size.tasks}
        return mechanism_within(maker, assumption.domain, epsilon, per, **counts), size

    def errors(place: float, crowds: int, first: int) -> Floats:
        mechanism, size = made(place)
        numbers = range(first, first + crowds)
        (found,) = simulate_size(assumption, size, [mechanism], numbers, seed, plain=False)
        return np.array([one.error for one in found])

    def theory(place: float) -> float | None:
        mechanism, size = made(place)
        return theory_error(assumption, size, mechanism)

    return Curve(errors=errors, theory=theory, **about)


FIRST = 12

SECOND = 24
"""Initial number of crowds at three points."""

CLOSE = 0.03
"""Sufficient standard error of the logarithm of the number."""

STEP = 1.25
"""Ratio of neighboring points."""

MOVES = 8

REACH = 1.645
"""Standard errors on each side of a 90 % interval."""

STEEP = 3.0
"""A curve that falls by fewer standard errors of its slope counts as flat."""

LEAST_ERROR = 1e-9
"""Smaller errors are raised to this before logarithms."""


@frozen(kw_only=True)
class LeastNumber:
    """Least number with an expected error of at most the target.

    `low` and `high` are a 90 % interval, given the number of simulated crowds; the ends of the
    search range if the curve is too flat. `standard_error` is that of the logarithm of `value`;
    infinite if the curve is flat. `crowds` were simulated at each of the last three points.
    """

    value: float
    low: float
    high: float
    standard_error: float
    crowds: int

    @property
    def sure(self) -> bool:
        """Whether the standard error is at most 3 %."""
        return self.standard_error <= CLOSE


@frozen(kw_only=True)
class Curve:
    """Errors that fall with a number above 0, called `what`, between `low` and `high`.

    `errors` takes a place, a number of crowds, and the number of the first crowd. Crowds of one
    number are the same, or nearly, at every place. `theory` is the theoretical error at a place, or
    None; errors are nearly a power of it.
    """

    errors: Callable[[float, int, int], Floats]
    theory: Callable[[float], float | None]
    low: float
    high: float
    what: str
    whole: bool = False

    def coordinate(self, place: float) -> float:
        """Return the log of the theoretical error or of the inverse place, rising with errors."""
        expected = self.theory(place)
        return -math.log(place) if expected is None else math.log(expected)


@frozen(kw_only=True, eq=False)
class _Found:
    place: float
    standard_error: float
    flat: bool


def crossing(curve: Curve, target: float, start: float, most: int) -> LeastNumber:
    """Return the point at which the expected error reaches `target`, which is above 0.

    The search brackets the point by factors of 2, from `start`, with few crowds. Then it simulates
    at most `most` crowds at three points around it, and moves them, until the standard error is
    small. Raises ParameterError if all or none of the range reaches the target.
    """
    middle = _bracketed(curve, target, start, min(FIRST, most))
    crowds, first = min(SECOND, most), FIRST
    for _ in range(MOVES):
        places = _places(curve, middle)
        errors = np.empty((len(places), 0))
        while True:
            more = [curve.errors(place, crowds, first) for place in places]
            errors, first = np.concatenate([errors, more], axis=1), first + crowds
            found = _on_a_line(curve, places, errors, target)
            count = errors.shape[1]
            off = abs(math.log(found.place / middle)) > 1.05 * math.log(STEP)
            if off or count >= most or (found.standard_error <= CLOSE and not found.flat):
                break
            crowds = _more(found, count, most)
        if not off or count >= most:
            break
        middle, crowds = found.place, min(2 * count, most)
    reach = math.exp(min(REACH * found.standard_error, 700.0))
    place = float(min(max(found.place, curve.low), curve.high))
    return LeastNumber(
        value=math.ceil(place - 1e-9) if curve.whole else place,
        low=max(place / reach, curve.low),
        high=min(place * reach, curve.high),
        standard_error=float(found.standard_error),
        crowds=count,
    )


def _bracketed(curve: Curve, target: float, start: float, crowds: int) -> float:
    place, found = start, float(curve.errors(start, crowds, 0).mean())
    below = found <= target
    while True:
        other = place / 2 if below else place * 2
        if not curve.low <= other <= curve.high:
            name = curve.what
            side = f"{name} {place:g} reaches" if below else f"no {name} up to {place:g} has"
            raise ParameterError(
                "planning.target-unreachable", side=side, target=target, found=found
            )
        beside = float(curve.errors(other, crowds, 0).mean())
        if below != (beside <= target):
            break
        place, found = other, beside
    logs = np.log(np.maximum([found, beside, target], LEAST_ERROR))
    share = float((logs[2] - logs[0]) / (logs[1] - logs[0]))
    return float(place * (other / place) ** min(max(share, 0.1), 0.9))


def _places(curve: Curve, middle: float) -> list[float]:
    inside = min(max(middle, curve.low * STEP), curve.high / STEP)
    places = [inside / STEP, inside, inside * STEP]
    if not curve.whole:
        return places
    centre = max(round(inside), 3)
    few, many = min(round(places[0]), centre - 1), max(round(places[2]), centre + 1)
    return [float(few), float(centre), float(many)]


def _more(found: _Found, count: int, most: int) -> int:
    wanted = min(count * (found.standard_error / CLOSE) ** 2 * 1.1, 2 * count)
    return max(min(math.ceil(wanted) - count, most - count), min(SECOND, most - count))


def _on_a_line(curve: Curve, places: Sequence[float], errors: Floats, target: float) -> _Found:
    """Fit a line to the logarithms of mean errors, over those of the theoretical errors.

    The crossing is linear in a crowd's errors, which gives its standard error; errors of one crowd
    at several points stay correlated.
    """
    at = np.array([curve.coordinate(place) for place in places])
    centre = at[len(at) // 2]
    means = np.maximum(errors.mean(axis=1), LEAST_ERROR)
    inverse = np.linalg.pinv(np.stack([np.ones(len(at)), at - centre], axis=1))
    level, slope = inverse @ np.log(means)
    parts = inverse @ (errors / means[:, np.newaxis] - 1)
    root = math.sqrt(errors.shape[1])
    apart = math.log(target) - level
    if slope <= STEEP * parts[1].std(ddof=1) / root:
        far = abs(apart) > STEEP * parts[0].std(ddof=1) / root
        moved = places[1] * STEP ** (-2 * far * math.copysign(1.0, apart))
        return _Found(place=moved, standard_error=math.inf, flat=True)
    off = apart / slope
    width = math.log(places[-1] / places[0]) / abs(at[-1] - at[0])  # of ln place by coordinate
    spread = (parts[0] + off * parts[1]).std(ddof=1) / root / slope
    bend = np.polynomial.Polynomial.fit(at - centre, np.log(places), len(at) - 1)
    inside = abs(off) <= abs(at - centre).max()
    place = float(bend(off)) if inside else math.log(places[1]) - off * width
    most = math.log(2)
    moved = min(max(place - math.log(places[1]), -most), most)
    return _Found(
        place=places[1] * math.exp(moved), standard_error=float(spread * width), flat=False
    )

"""Where a falling curve of expected errors, known by simulation alone, comes to a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.exceptions import ParameterError

__all__ = ["Curve", "LeastNumber", "crossing"]

Floats = npt.NDArray[np.float64]

FIRST = 12
"""Crowds for a first look at a point."""

SECOND = 24
"""Crowds for a second one, at three points about the place that was found."""

CLOSE = 0.03
"""A standard error of the logarithm of the number that is small enough."""

STEP = 1.25
"""The three points are this factor apart."""

MOVES = 8
"""So often the three points are moved at most."""

REACH = 1.645
"""Standard errors to each side that hold nine tenths of a normal law."""

STEEP = 3.0
"""A curve that falls by fewer standard errors of its slope is taken to be flat."""

LEAST_ERROR = 1e-9
"""Smaller errors are taken to be so large, in logarithms."""


@frozen(kw_only=True)
class LeastNumber:
    """The least number whose expected error is at most the target, and how sure that is.

    Attributes
    ----------
    value : float or int
        The number.
    low, high : float
        It lies between them in nine cases of ten, as far as the number of simulated crowds goes;
        where the curve is too flat to tell, the ends of the range that was searched.
    standard_error : float
        Of the number's logarithm: about a share of the number; infinite where the curve is flat.
    crowds : int
        Simulated at each of the last three points.
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
    """Errors that fall with a number above 0.

    Attributes
    ----------
    errors : callable of float, int, int
        The errors of so many crowds at a place; the third argument is the first crowd's number,
        and crowds of one number are the same, or nearly, at every place.
    theory : callable of float
        What theory expects there, or None: errors are nearly a power of it.
    low, high : float
        Between them places are looked for.
    what : str
        The number's name.
    whole : bool
        Whether it is a whole number.
    """

    errors: Callable[[float, int, int], Floats]
    theory: Callable[[float], float | None]
    low: float
    high: float
    what: str
    whole: bool = False

    def coordinate(self, place: float) -> float:
        """Return the logarithm of what theory expects, or of the inverse place: rising errors."""
        expected = self.theory(place)
        return -math.log(place) if expected is None else math.log(expected)


@frozen(kw_only=True, eq=False)
class _Found:
    """A place where a line through three points comes to the target."""

    place: float
    standard_error: float
    flat: bool


def crossing(curve: Curve, target: float, start: float, most: int) -> LeastNumber:
    """Return where the expected error comes to `target`.

    The place is bracketed by factors of 2 with few crowds; then more and more crowds are simulated
    at three points about it, which are moved after it, until its standard error is small.

    Parameters
    ----------
    curve : Curve
        That falls.
    target : float
        Above 0.
    start : float
        Where to begin to look.
    most : int
        Crowds at each point at most.

    Raises
    ------
    ParameterError
        Where the whole range reaches the target, or none of it.
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
    return _told(curve, found, count)


def _bracketed(curve: Curve, target: float, start: float, crowds: int) -> float:
    """Return about where the target is reached, by steps of a factor of 2 and a line between."""
    place, found = start, float(curve.errors(start, crowds, 0).mean())
    below = found <= target
    while True:
        other = place / 2 if below else place * 2
        if not curve.low <= other <= curve.high:
            name = curve.what
            side = f"{name} {place:g} reaches" if below else f"no {name} up to {place:g} has"
            raise ParameterError(f"{side} an error of {target:g}: expected is {found:.3g}")
        beside = float(curve.errors(other, crowds, 0).mean())
        if below != (beside <= target):
            break
        place, found = other, beside
    logs = np.log(np.maximum([found, beside, target], LEAST_ERROR))
    share = float((logs[2] - logs[0]) / (logs[1] - logs[0]))
    return float(place * (other / place) ** min(max(share, 0.1), 0.9))


def _places(curve: Curve, middle: float) -> list[float]:
    """Return the middle, and one place at each side."""
    inside = min(max(middle, curve.low * STEP), curve.high / STEP)
    places = [inside / STEP, inside, inside * STEP]
    if not curve.whole:
        return places
    centre = max(round(inside), 3)
    few, many = min(round(places[0]), centre - 1), max(round(places[2]), centre + 1)
    return [float(few), float(centre), float(many)]


def _more(found: _Found, count: int, most: int) -> int:
    """Return how many crowds are still missing, by how sure the place is: at most as many again."""
    wanted = min(count * (found.standard_error / CLOSE) ** 2 * 1.1, 2 * count)
    return max(min(math.ceil(wanted) - count, most - count), min(SECOND, most - count))


def _on_a_line(curve: Curve, places: Sequence[float], errors: Floats, target: float) -> _Found:
    """Lay a line through the logarithms of mean errors, over that of what theory expects.

    A crowd's part in the crossing is linear in its errors, which gives the standard error; crowds
    that are the same at all points keep what they have in common.
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


def _told(curve: Curve, found: _Found, crowds: int) -> LeastNumber:
    """Return the place with its interval, which ends where the search does."""
    reach = math.exp(min(REACH * found.standard_error, 700.0))
    place = float(min(max(found.place, curve.low), curve.high))
    return LeastNumber(
        value=math.ceil(place - 1e-9) if curve.whole else place,
        low=max(place / reach, curve.low),
        high=min(place * reach, curve.high),
        standard_error=float(found.standard_error),
        crowds=crowds,
    )

"""Validated parameters of PrisCrowd, and the distributions that they determine."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeAlias, get_args

from attrs import Factory, field, frozen

from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.attempt import Blur, PrivacyTest
from quietcrowd.synthesis.kde import KERNELS, RULES
from quietcrowd.synthesis.weights import Combination, Weighting, checked_quantiles
from quietcrowd.validation import check_proportion, check_real, check_whole, number, one_of

Procedure: TypeAlias = Literal["attempts", "paper"]

MOST_ATTEMPTS = 10**5


def _bandwidth(value: Any) -> float | str:
    return value if isinstance(value, str) else number(value)


def _check_bandwidth(parameters: Parameters, _: object, value: float | str) -> None:
    if isinstance(value, float) and 0 < value < math.inf:
        return
    if value not in RULES:
        raise ParameterError("synthesis.bandwidth-not-a-number", value=value)
    if parameters.release != "paper":
        raise ParameterError("synthesis.bandwidth-learnt", value=value)


@lru_cache
def _blur(kernel: str, cells: int, gamma: float) -> Blur:
    """Cache blurs, because their tables are large."""
    return Blur(kernel=KERNELS[kernel], cells=cells, gamma=gamma)


def _default_weights(parameters: Parameters) -> Weighting:
    return "combined" if parameters.release == "paper" else "uniform"


@frozen(kw_only=True, slots=False)
class Parameters:
    """Parameters of weights, blur, test and release; see `PrisCrowd`."""

    release: Procedure = field(default="attempts", validator=one_of(*get_args(Procedure)))
    epsilon0: float = field(converter=number)
    bandwidth: float | str = field(converter=_bandwidth, validator=_check_bandwidth)
    claims: int = 30
    gamma: float = field(default=4.0, converter=number)
    k: int = 5
    weights: Weighting = field(
        default=Factory(_default_weights, takes_self=True), validator=one_of(*get_args(Weighting))
    )
    floor: float = field(converter=number)
    combination: Combination = field(default="product", validator=one_of(*get_args(Combination)))
    drop: float = field(converter=number)
    most_attempts: int = field()
    kernel: str = field(default="gaussian", validator=one_of(*KERNELS))
    cells: int = 32
    quantiles: tuple[float, float, float] = (0.5, 0.75, 0.85)
    max_iter: int = 50
    tol: float = 1e-6

    @floor.default
    def _default_floor(self) -> float:
        return 0.5 if self.release == "attempts" and self.learns else 0.0

    @drop.default
    def _default_drop(self) -> float:
        return 0.5 if self.release == "attempts" else 0.0

    @most_attempts.default
    def _default_most_attempts(self) -> int:
        check_whole("claims", self.claims, 1, MOST_ATTEMPTS)
        check_whole("k", self.k, 1, 10**6)
        exponent = self.epsilon0 * (self.k - 1)
        if not 0 <= exponent < 50:  # also NaN, which is rejected later
            return MOST_ATTEMPTS
        return min(MOST_ATTEMPTS, math.ceil(20 * self.claims * math.exp(exponent)))

    def __attrs_post_init__(self) -> None:
        check_whole("most_attempts", self.most_attempts, 1)
        check_whole("max_iter", self.max_iter, 1)
        check_real("tol", self.tol, 0)
        if self.release == "attempts":
            check_proportion("drop", self.drop)
            if self.learns:
                check_proportion("floor", self.floor)
        elif self.drop or self.floor:
            raise ParameterError(
                "synthesis.paper-release-options", drop=self.drop, floor=self.floor
            )
        if self.attempts > MOST_ATTEMPTS:
            raise ParameterError(
                "synthesis.too-many-attempts",
                claims=self.claims,
                drop=self.drop,
                attempts=self.attempts,
                most_attempts=MOST_ATTEMPTS,
            )
        checked_quantiles(self.quantiles)
        _ = self.blur, self.test  # raises if a parameter is out of range

    @property
    def learns(self) -> bool:
        """Whether the weights are learned from the claims."""
        return self.weights != "uniform"

    @property
    def couples_tasks(self) -> bool:
        """Whether the weights in a task depend on claims about other tasks."""
        return self.weights in ("global", "combined", "printed")

    @property
    def attempts(self) -> int:
        """Attempts of a release per task; with ``release="paper"``, their minimum."""
        return math.ceil(self.claims / (1 - Fraction(str(self.drop))))

    @cached_property
    def blur(self) -> Blur:
        """Distribution of the step from a claim to a candidate."""
        return _blur(self.kernel, self.cells, self.gamma)

    @cached_property
    def test(self) -> PrivacyTest:
        """Privacy test of a candidate."""
        return PrivacyTest(k=self.k, epsilon0=self.epsilon0, drop=self.drop)

"""Mechanisms and method of all figures of H. Sun et al., IEEE Big Data 2018."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from quietcrowd.inference.numbers.averaging import WeightedMean
from quietcrowd.mechanisms.laplace import LaplaceMechanism
from quietcrowd.mechanisms.matrix_factorization import MatrixFactorization
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.randomized_response import RandomizedResponse
from quietcrowd.mechanisms.two_layer import TwoLayerRandomizedResponse

EPSILONS = (0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
"""Of Figures 2 and 5; randomised response drops above 3."""

RANK, RIDGE = 100, 1.0
"""Of matrix factorisation in all figures; the rank is that of the paper's example of Theorem 5."""


def _ridge(*, domain: Any, epsilon: float, rank: int = RANK) -> MatrixFactorization:
    """Return matrix factorisation as the paper means it: answers as they are, a ridge at least."""
    return MatrixFactorization(
        domain=domain, epsilon=epsilon, variant="ridge", rank=rank, ridge=RIDGE, fill=0.0
    )


def _fill(*, domain: Any, epsilon: float, rank: int = RANK) -> MatrixFactorization:
    """Return the variant that hides NULL, with the lowest number in place of missing answers."""
    return MatrixFactorization(
        domain=domain, epsilon=epsilon, variant="fill", rank=rank, ridge=RIDGE, fill=domain.low
    )


METHODS = {"weighted-mean": WeightedMean(smoothing=0.0)}
"""Algorithm 1 as printed."""

MECHANISMS: Mapping[str, Callable[..., Mechanism]] = MappingProxyType(
    {
        "laplace": LaplaceMechanism,
        "response": partial(RandomizedResponse, missing="category"),
        "ridge": _ridge,
        "fill": _fill,
    }
)
"""The paper's three mechanisms; "fill" is the repair of matrix factorisation that hides NULL."""

SMALL_RANK = 10


def small(
    mechanisms: Mapping[str, Callable[..., Mechanism]],
) -> dict[str, Callable[..., Mechanism]]:
    """Return the same mechanisms for ``--quick``, with factorisation at a low rank."""
    ranked = ("ridge", "fill")
    return {
        name: partial(maker, rank=SMALL_RANK) if name in ranked else maker
        for name, maker in mechanisms.items()
    }


AS_PRINTED: Mapping[str, Callable[..., Mechanism]] = MappingProxyType(
    {
        f"paper-{rank}": partial(MatrixFactorization, variant="paper", rank=rank)
        for rank in (1, 2, 5)
    }
)
"""Equations 9 and 10, without a ridge: a rank above a worker's number of answers has no minimum."""

TWO_LAYER: Callable[..., Mechanism] = partial(
    TwoLayerRandomizedResponse, distribution="epsilon", missing="category"
)

"""Names for help and completion whose modules are too slow to import for that.

Tests compare each with the code it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quietcrowd.synthesis.planner import Budget

__all__ = ["BUDGETS", "FIGURES", "KERNELS", "METHODS", "PAPERS", "RELEASES", "WEIGHTS"]

METHODS = {
    "noise-aware": "prior",
    "majority": "",
    "weighted-vote": "smoothing",
    "dawid-skene": "one_coin, smoothing, trust, class_smoothing",
    "glad": "",
    "mace": "smoothing, trust",
    "mean": "",
    "median": "",
    "weighted-mean": "floor, smoothing",
    "crh": "loss, divisor, normaliser, per_answer",
    "catd": "loss, alpha, smoothing",
    "gtm": "alpha, beta, prior_mean, prior_sd, outliers",
    "kdem": "truth",
    "moon": "variant, solver, alpha, prior_share, truth_prior",
    "ratio-mean": "",
}
"""Parameters of each method that not all methods have."""

FIGURES = (
    "sun2018-1",
    "sun2018-table-2",
    "sun2018-theorems",
    "sun2018-2",
    "sun2018-3",
    "sun2018-4",
    "sun2018-5",
    "sun2018-5-as-coded",
    "sun2018-2-paper",
    "sun2018-3-spread",
    "sun2018-profiles",
    "sun2018-2-kept",
    "li2018-1",
    "li2018-2",
    "li2018-3",
    "li2018-4",
    "li2018-guides",
    "li2018-4-duck",
    "li2018-table-1",
    "li2018-clean",
    "li2018-table-2",
    "li2018-table-3",
    "huai2019-table-2",
    "huai2019-table-2-silverman",
    "huai2019-table-2-mad",
    "huai2019-table-2-bandwidths",
    "huai2019-3",
    "huai2019-4",
    "huai2019-5",
    "huai2019-theorem-1",
    "huai2019-theorem-2",
    "huai2019-test",
    "huai2019-3-weights",
    "moon2025-3",
    "moon2025-3-rmse",
    "moon2025-3-drawn",
    "moon2025-3-drawn-rmse",
    "moon2025-4",
    "moon2025-4-drawn",
    "moon2025-5",
)

PAPERS = tuple(dict.fromkeys(name.split("-")[0] for name in FIGURES))
"""Papers of the figures, whose names begin with the paper's."""

BUDGETS: tuple[Budget, ...] = ("claim", "user")
KERNELS = ("gaussian", "epanechnikov")
RELEASES = ("attempts", "paper")
WEIGHTS = ("uniform", "local", "global", "combined", "printed")
"""Choices of `PrisCrowd` and its planner."""

"""Names for help and completion whose modules are too slow to import for that.

Tests compare each with the code it names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quietcrowd.synthesis.planner import Budget

__all__ = ["BUDGETS", "KERNELS", "METHODS", "RELEASES", "WEIGHTS"]

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

BUDGETS: tuple[Budget, ...] = ("claim", "user")
KERNELS = ("gaussian", "epanechnikov")
RELEASES = ("attempts", "paper")
WEIGHTS = ("uniform", "local", "global", "combined", "printed")
"""Choices of `PrisCrowd` and its planner."""

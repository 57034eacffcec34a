"""Names of figures for completion, whose modules are too slow to import for that."""

__all__ = ["FIGURES", "PAPERS"]

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

"""What belongs to one paper: its claims, figures, baselines, bounds. Nothing else needs it."""

from collections.abc import Mapping
from types import MappingProxyType

from quietcrowd.evaluation.papers.figure import Figure, FigureResult
from quietcrowd.evaluation.papers.huai2019 import HUAI_2019
from quietcrowd.evaluation.papers.li2018 import LI_2018
from quietcrowd.evaluation.papers.moon2025 import MOON_2025
from quietcrowd.evaluation.papers.sun2018 import SUN_2018

__all__ = ["FIGURES", "Figure", "FigureResult"]

FIGURES: Mapping[str, Figure] = MappingProxyType({**SUN_2018, **LI_2018, **HUAI_2019, **MOON_2025})
"""Every published figure by its name on the command line."""

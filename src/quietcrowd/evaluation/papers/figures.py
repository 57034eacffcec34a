"""Published figures by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import pandas as pd

from quietcrowd.evaluation.papers.huai2019 import HUAI_2019
from quietcrowd.evaluation.papers.moon2025 import MOON_2025
from quietcrowd.evaluation.papers.sun2018 import SUN_2018

__all__ = ["FIGURES", "PublishedFigure", "PublishedResult"]


class PublishedResult(Protocol):
    """What a figure shows: a frame, sentences on what was left out, and a picture."""

    @property
    def frame(self) -> pd.DataFrame:
        """A row per point."""

    @property
    def skipped(self) -> tuple[str, ...]:
        """What was left out, one sentence each."""

    def plot(self, path: str | Path) -> None:
        """Draw the figure into a PNG file."""


class PublishedFigure(Protocol):
    """A figure or table of a paper that can be run again: `Figure` or `DensityFigure`."""

    def run(self, *, trials: int = 3, seed: int = 0, progress: bool = False) -> PublishedResult:
        """Run all experiments of the figure."""


FIGURES: Mapping[str, PublishedFigure] = MappingProxyType({**SUN_2018, **HUAI_2019, **MOON_2025})
"""Every figure by its name on the command line."""

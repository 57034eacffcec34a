"""Published figures by name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from quietcrowd.evaluation.figure import Figure
from quietcrowd.evaluation.moon2025 import MOON_2025
from quietcrowd.evaluation.sun2018 import SUN_2018

__all__ = ["FIGURES"]

FIGURES: Mapping[str, Figure] = MappingProxyType({**SUN_2018, **MOON_2025})
"""Every figure by its name on the command line."""

"""Published figures and tables by their names on the command line."""

from collections.abc import Mapping
from types import MappingProxyType

from quietcrowd_research.figure import Figure
from quietcrowd_research.huai2019.experiment import HUAI_2019
from quietcrowd_research.li2018.experiment import LI_2018
from quietcrowd_research.moon2025.experiment import MOON_2025
from quietcrowd_research.sun2018.experiment import SUN_2018

FIGURES: Mapping[str, Figure] = MappingProxyType({**SUN_2018, **LI_2018, **HUAI_2019, **MOON_2025})
"""Every published figure by its name on the command line."""

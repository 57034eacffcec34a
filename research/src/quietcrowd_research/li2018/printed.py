"""What Tables 1 to 3 of Li et al., KDD 2018, print."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from quietcrowd_research.li2018.peer_grading import PEER_GRADING

DUCHENNE = "duchenne"

EPSILONS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.01, 0.001, 0.0)

PRINTED_SIZES: Mapping[str, tuple[int, int, int, int]] = MappingProxyType(
    {PEER_GRADING: (26, 72, 360, 26), DUCHENNE: (2134, 64, 17729, 159)}
)
"""Table 1: questions, users, answers and known truths."""

_PEER = """
0.1019 0.1135 0.1300 0.1404 0.1615 0.1669 0.1788 0.1842 0.2042 0.2269 0.2373 0.2485 0.2504
0.0850 0.0954 0.1127 0.1135 0.1408 0.1546 0.1604 0.1658 0.1823 0.2088 0.2135 0.2196 0.2212
0.0885 0.1112 0.1212 0.1265 0.1554 0.1631 0.1696 0.1785 0.1938 0.2165 0.2327 0.2377 0.2419
0.0619 0.0800 0.0827 0.0923 0.1138 0.1262 0.1354 0.1415 0.1581 0.1723 0.1865 0.1958 0.1992
"""
_SMILES = """
0.1228 0.1296 0.1438 0.1459 0.1699 0.1784 0.1917 0.2126 0.2218 0.2335 0.2406 0.2414 0.2516
0.0735 0.0870 0.1104 0.1157 0.1321 0.1562 0.1769 0.1930 0.2016 0.2086 0.2150 0.2178 0.2277
0.1240 0.1337 0.1447 0.1564 0.1701 0.1738 0.1903 0.2133 0.2160 0.2248 0.2362 0.2426 0.2447
0.0560 0.0629 0.0709 0.0821 0.0906 0.0962 0.1081 0.1271 0.1379 0.1511 0.1742 0.1774 0.1793
"""

_LINES = tuple(
    (mechanism, method)
    for mechanism in ("one-layer", "two-layer")
    for method in ("majority", "weighted-vote")
)


def _table(text: str) -> Mapping[tuple[str, str], Mapping[float, float]]:
    lines = [[float(one) for one in line.split()] for line in text.strip().splitlines()]
    return {
        line: dict(zip(EPSILONS, changes, strict=True))
        for line, changes in zip(_LINES, lines, strict=True)
    }


PRINTED: Mapping[str, Mapping[tuple[str, str], Mapping[float, float]]] = MappingProxyType(
    {PEER_GRADING: _table(_PEER), DUCHENNE: _table(_SMILES)}
)
"""Tables 2 and 3: changes of the error rate by data set, (mechanism, method) and epsilon."""

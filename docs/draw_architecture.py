"""Draw the directories of the package and their imports.

``python docs/draw_architecture.py`` writes ``docs/figures/architecture.svg`` and
``docs/figures/architecture-campaign.svg``. A test compares both with the code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import TypeAlias
from xml.sax.saxutils import escape

import grimp

PACKAGE = "quietcrowd"
GROUND = "the shared ground"
FIGURES = Path(__file__).parent / "figures"
PICTURES = {"architecture.svg": PACKAGE, "architecture-campaign.svg": f"{PACKAGE}.campaign"}

WIDTH, HEIGHT, GAP, FLOOR, MARGIN = 140, 40, 28, 92, 20
INK, PAPER, FILL = "#1f2937", "#ffffff", "#e8eef6"

Folders: TypeAlias = Mapping[str, frozenset[str]]
"""For each folder, the folders that it imports."""

Spot: TypeAlias = str | tuple[str, str, int]
"""A folder, or where an arrow passes a floor between its two folders."""

Point: TypeAlias = tuple[float, float]


def folders_of(parent: str) -> Folders:
    """Return the folders of a package and what each imports.

    Files beside the folders are the ground, except files that import a folder.
    """
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    inside = {child: graph.find_descendants(child) for child in graph.find_children(parent)}
    in_folders = {module for modules in inside.values() for module in modules}
    folder_of: dict[str, str] = {}
    for child, modules in inside.items():
        if child.endswith("__main__"):
            continue
        imports_folder = graph.find_modules_directly_imported_by(child) & in_folders
        name = child.removeprefix(f"{parent}.") if modules or imports_folder else GROUND
        folder_of |= dict.fromkeys([child, *modules], name)
    arrows: dict[str, set[str]] = {name: set() for name in folder_of.values()}
    for module, folder in folder_of.items():
        imported = graph.find_modules_directly_imported_by(module)
        arrows[folder] |= {folder_of[one] for one in imported if one in folder_of} - {folder}
    tied = {folder for folder, imported in arrows.items() if imported}.union(*arrows.values())
    return {folder: frozenset(arrows[folder]) for folder in sorted(tied)}


def floors(folders: Folders) -> list[list[str]]:
    """Return the folders by floor, the ground first: each stands above all that it imports.

    Raises
    ------
    graphlib.CycleError
        Where folders import each other in a circle.
    """
    height: dict[str, int] = {}
    for folder in TopologicalSorter(folders).static_order():
        height[folder] = 1 + max((height[one] for one in folders[folder]), default=-1)
    return [
        sorted(folder for folder in folders if height[folder] == floor)
        for floor in range(max(height.values()) + 1)
    ]


def needed(folders: Folders) -> list[tuple[str, str]]:
    """Return the arrows without those that follow from others, by way of a folder between."""

    def reach(folder: str) -> set[str]:
        return set(folders[folder]).union(*map(reach, folders[folder]))

    return [
        (folder, one)
        for folder in folders
        for one in sorted(folders[folder])
        if not any(one in reach(other) for other in folders[folder] - {one})
    ]


def picture(folders: Folders) -> str:
    """Return the picture as SVG: the ground at the bottom, an arrow to what is imported."""
    lanes, ways = _lanes(folders)
    _order(lanes, ways)
    widths = [sum(_wide(one) + GAP for one in lane) - GAP for lane in lanes]
    width, height = MARGIN * 2 + max(widths), MARGIN * 2 + (len(lanes) - 1) * FLOOR + HEIGHT
    place = {}
    for floor, lane in enumerate(lanes):
        x, y = (width - widths[floor]) / 2, height - MARGIN - HEIGHT - floor * FLOOR
        for one in lane:
            place[one] = (x + _wide(one) / 2, y)
            x += _wide(one) + GAP
    lines = map(_arrow, _spread([[place[one] for one in way] for way in ways]))
    return "\n".join([*_head(width, height), *lines, *_boxes(place), "</svg>", ""])


def _lanes(folders: Folders) -> tuple[list[list[Spot]], list[list[Spot]]]:
    """Return who stands on each floor, and each arrow's way: a spot on every floor it passes."""
    storeys = floors(folders)
    height = {folder: floor for floor, storey in enumerate(storeys) for folder in storey}
    lanes: list[list[Spot]] = [list(storey) for storey in storeys]
    ways: list[list[Spot]] = []
    for folder, one in needed(folders):
        between = [(folder, one, floor) for floor in range(height[folder] - 1, height[one], -1)]
        for spot in between:
            lanes[spot[2]].append(spot)
        ways.append([folder, *between, one])
    return lanes, ways


def _order(lanes: list[list[Spot]], ways: Sequence[Sequence[Spot]]) -> None:
    """Sort each floor so that neighbours of an arrow stand near each other, in place."""
    beside: dict[Spot, list[Spot]] = {one: [] for lane in lanes for one in lane}
    for way in ways:
        for upper, lower in pairwise(way):
            beside[upper].append(lower)
            beside[lower].append(upper)
    for _ in range(24):
        for lane in [*lanes, *lanes[::-1]]:
            at = {
                one: (index + 0.5) / len(lane) for lane in lanes for index, one in enumerate(lane)
            }
            lane.sort(key=lambda one: fmean(at[other] for other in beside[one] or [one]))


def _spread(lines: list[list[Point]]) -> list[list[Point]]:
    """Let the arrows of one box leave and arrive side by side."""
    for end, beside in ((0, 1), (-1, -2)):
        for box in {line[end] for line in lines}:
            mine = sorted((line for line in lines if line[end] == box), key=lambda one: one[beside])
            step = WIDTH / (len(mine) + 1)
            for index, line in enumerate(mine, start=1):
                line[end] = (box[0] - WIDTH / 2 + index * step, box[1])
    return lines


def _wide(spot: Spot) -> int:
    return WIDTH if isinstance(spot, str) else 0


def _arrow(points: Sequence[Point]) -> str:
    """Return a curve downwards from box to box; straight through the floors that it passes."""
    (x, y), last = points[0], len(points) - 1
    y += HEIGHT
    curve = f"M{x:.0f} {y:.0f}"
    for index, (to_x, to_y) in enumerate(points[1:], start=1):
        middle = (y + to_y) / 2
        curve += f" C{x:.0f} {middle:.0f} {to_x:.0f} {middle:.0f} {to_x:.0f} {to_y:.0f}"
        x, y = to_x, to_y
        if index < last:
            y += HEIGHT
            curve += f" L{x:.0f} {y:.0f}"
    return (
        f'<path d="{curve}" fill="none" stroke="{INK}" stroke-width="1.2" marker-end="url(#head)"/>'
    )


def _head(width: float, height: float) -> list[str]:
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" font-family="sans-serif" font-size="14">',
        f'<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{INK}"/></marker></defs>',
        f'<rect width="100%" height="100%" fill="{PAPER}"/>',
    ]


def _boxes(place: Mapping[Spot, Point]) -> Iterable[str]:
    for folder, (x, y) in place.items():
        if isinstance(folder, str):
            yield (
                f'<rect x="{x - WIDTH / 2:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}" '
                f'rx="6" fill="{FILL}" stroke="{INK}"/>'
            )
            yield (
                f'<text x="{x:.0f}" y="{y + HEIGHT / 2 + 5:.0f}" text-anchor="middle" '
                f'fill="{INK}">{escape(folder)}</text>'
            )


if __name__ == "__main__":
    for name, parent in PICTURES.items():
        (FIGURES / name).write_text(picture(folders_of(parent)))

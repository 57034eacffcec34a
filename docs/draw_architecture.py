"""Draw the rooms of the package, and which imports which, from the imports as they are.

``python docs/draw_architecture.py`` writes ``docs/figures/architecture.svg`` and
``docs/figures/architecture-campaign.svg``; a test holds both to the code.
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

Rooms: TypeAlias = Mapping[str, frozenset[str]]
"""For each room, the rooms that it imports."""

Spot: TypeAlias = str | tuple[str, str, int]
"""A room, or where an arrow passes a floor between its two rooms."""

Point: TypeAlias = tuple[float, float]


def rooms_of(parent: str) -> Rooms:
    """Return the rooms of a package and what each imports; lone files are one room, the ground."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    room_of: dict[str, str] = {}
    for child in graph.find_children(parent):
        inside = graph.find_descendants(child)
        if child.endswith("__main__"):
            continue
        name = child.removeprefix(f"{parent}.") if inside else GROUND
        room_of |= dict.fromkeys([child, *inside], name)
    arrows: dict[str, set[str]] = {name: set() for name in room_of.values()}
    for module, room in room_of.items():
        imported = graph.find_modules_directly_imported_by(module)
        arrows[room] |= {room_of[one] for one in imported if one in room_of} - {room}
    tied = {room for room, imported in arrows.items() if imported}.union(*arrows.values())
    return {room: frozenset(arrows[room]) for room in sorted(tied)}


def floors(rooms: Rooms) -> list[list[str]]:
    """Return the rooms by floor, the ground first: each stands above all that it imports.

    Raises
    ------
    graphlib.CycleError
        Where rooms import each other in a circle.
    """
    height: dict[str, int] = {}
    for room in TopologicalSorter(rooms).static_order():
        height[room] = 1 + max((height[one] for one in rooms[room]), default=-1)
    return [
        sorted(room for room in rooms if height[room] == floor)
        for floor in range(max(height.values()) + 1)
    ]


def needed(rooms: Rooms) -> list[tuple[str, str]]:
    """Return the arrows without those that follow from others, by way of a room between."""

    def reach(room: str) -> set[str]:
        return set(rooms[room]).union(*map(reach, rooms[room]))

    return [
        (room, one)
        for room in rooms
        for one in sorted(rooms[room])
        if not any(one in reach(other) for other in rooms[room] - {one})
    ]


def picture(rooms: Rooms) -> str:
    """Return the picture as SVG: the ground at the bottom, an arrow to what is imported."""
    lanes, ways = _lanes(rooms)
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


def _lanes(rooms: Rooms) -> tuple[list[list[Spot]], list[list[Spot]]]:
    """Return who stands on each floor, and each arrow's way: a spot on every floor it passes."""
    storeys = floors(rooms)
    height = {room: floor for floor, storey in enumerate(storeys) for room in storey}
    lanes: list[list[Spot]] = [list(storey) for storey in storeys]
    ways: list[list[Spot]] = []
    for room, one in needed(rooms):
        between = [(room, one, floor) for floor in range(height[room] - 1, height[one], -1)]
        for spot in between:
            lanes[spot[2]].append(spot)
        ways.append([room, *between, one])
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
    for room, (x, y) in place.items():
        if isinstance(room, str):
            yield (
                f'<rect x="{x - WIDTH / 2:.0f}" y="{y:.0f}" width="{WIDTH}" height="{HEIGHT}" '
                f'rx="6" fill="{FILL}" stroke="{INK}"/>'
            )
            yield (
                f'<text x="{x:.0f}" y="{y + HEIGHT / 2 + 5:.0f}" text-anchor="middle" '
                f'fill="{INK}">{escape(room)}</text>'
            )


if __name__ == "__main__":
    for name, parent in PICTURES.items():
        (FIGURES / name).write_text(picture(rooms_of(parent)))

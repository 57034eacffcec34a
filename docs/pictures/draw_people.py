"""Write the table of the README, and draw it: people, total epsilon per person, expected errors.

``python docs/pictures/draw_people.py`` simulates crowds for a minute; a nightly test compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import log10
from pathlib import Path

from svg import AMBER, FIGURES, GRID, INK, QUIET, RED, TEAL, WIDTH, dot, line, picture, text

import quietcrowd as qc

README = Path(__file__).parents[2] / "README.md"
TABLE = re.compile(r"^\| people \|.*?\n\n", re.MULTILINE | re.DOTALL)

PEOPLE = (50, 200, 1000, 5000)
TOTALS = (1, 3, 10)
GUESS = 46
"""Percentage of wrong truths of a constant guess, in the simulated crowds."""


def table() -> str:
    """Return the table in Markdown."""
    plan = qc.plan(
        tasks=20,
        workers=PEOPLE,
        domain=qc.Categorical(["no", "yes"]),
        mechanisms="one-layer",
        total_epsilon=TOTALS,
        draws=40,
    )
    heads = [*(f"total ε = {total}" for total in TOTALS), "without privacy"]
    lines = [f"| people | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for people in PEOPLE:
        errors = [row.error for row in plan.rows if row.workers == people]
        cells = " | ".join(f"{error:.0%}" for error in errors)
        lines.append(f"| {people:,} | {cells} |")
    return "\n".join(lines) + "\n\n"


def people() -> str:
    """Return the picture of the table that the README has."""
    return picture(
        300, "Wrong answers by the number of people and the total ε of a person", curves()
    )


def curves() -> Iterator[str]:
    """Return the parts of the picture."""
    left, right, top, bottom = 44, WIDTH - 92, 48, 250

    def spot(many: int, percent: float) -> tuple[float, float]:
        across = (log10(many) - log10(PEOPLE[0])) / (log10(PEOPLE[-1]) - log10(PEOPLE[0]))
        return left + (right - left) * across, bottom - (bottom - top) * percent / 50

    yield text(10, 22, "Wrong answers to 20 yes/no questions", size=14)
    for percent in range(0, 51, 10):
        y = spot(PEOPLE[0], percent)[1]
        yield line([(left, y), (right, y)], GRID, width=1)
        yield text(left - 6, y + 4, f"{percent} %", size=12, fill=QUIET, anchor="end")
    for many in PEOPLE:
        yield text(spot(many, 0)[0], bottom + 18, f"{many:,}", fill=QUIET, anchor="middle")
    yield text((left + right) / 2, bottom + 40, "people who answer", fill=QUIET, anchor="middle")
    yield line([spot(PEOPLE[0], GUESS), spot(PEOPLE[-1], GUESS)], QUIET, width=1, dash="2 3")
    yield text(right + 6, spot(1, GUESS)[1] + 4, "a guess", fill=QUIET)
    written = README.read_text(encoding="utf-8")
    rows = [
        [int(cell) for cell in re.findall(r"(\d+)%", row)]
        for row in TABLE.search(written)[0].strip().splitlines()[2:]
    ]
    styles = [("ε = 1", TEAL, "", -8), ("ε = 3", AMBER, "", -8), ("ε = 10", RED, "", -8)]
    styles.append(("no privacy", INK, "6 3", 22))
    for column, (name, color, dash, down) in enumerate(styles):
        spots = [spot(many, row[column]) for many, row in zip(PEOPLE, rows, strict=True)]
        yield line(spots, color, dash=dash)
        yield from (dot(*one, color) for one in spots)
        yield text(spots[1][0] + 8, spots[1][1] + down, name, fill=color)


PICTURES = {"people.svg": people}

if __name__ == "__main__":
    page = README.read_text(encoding="utf-8")
    README.write_text(TABLE.sub(lambda _: table(), page, count=1), encoding="utf-8")
    for name, draw in PICTURES.items():
        (FIGURES / name).write_text(draw(), encoding="utf-8")

"""Draw the air at one place of ``examples/air_quality.py``, found with and without earlier days.

``python docs/pictures/draw_rounds.py`` takes ten seconds; a nightly test compares.
"""

from __future__ import annotations

import runpy
import warnings
from collections.abc import Iterator
from pathlib import Path

from svg import AMBER, FIGURES, GRID, INK, QUIET, TEAL, WIDTH, dot, line, picture, text

from quietcrowd.exceptions import SimulatedNoiseWarning

EXAMPLE = Path(__file__).parents[2] / "examples" / "air_quality.py"
PLACE = 3


def found() -> list[list[float]]:
    """Return the air at the place on each day, and the truths without and with earlier days."""
    simulate_days = runpy.run_path(str(EXAMPLE))["simulate_days"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulatedNoiseWarning)
        return [
            [air[PLACE], *(one.truths.set_index("task")["truth"][PLACE] for one in estimates)]
            for air, _, *estimates in simulate_days()
        ]


def rounds() -> str:
    """Return the picture."""
    return picture(300, "The air at one place, and what its reports say", parts(found()))


def parts(days: list[list[float]]) -> Iterator[str]:
    """Return the parts of the picture."""
    left, right, top, bottom = 34, WIDTH - 12, 62, 262

    def spot(day: int, level: float) -> tuple[float, float]:
        return (
            left + (right - left) * day / (len(days) - 1),
            bottom - (bottom - top) * level / 10,
        )

    yield text(10, 20, "Air quality at one place, from 0 to 10", size=14)
    for level in range(0, 11, 2):
        y = spot(0, level)[1]
        yield line([(left, y), (right, y)], GRID, width=1)
        yield text(left - 6, y + 4, str(level), size=12, fill=QUIET, anchor="end")
    for day in range(0, len(days), 7):
        yield text(spot(day, 0)[0], bottom + 18, str(day + 1), size=12, fill=QUIET, anchor="middle")
    yield text((left + right) / 2, bottom + 34, "day", size=12, fill=QUIET, anchor="middle")
    names = (("really", INK), ("that day alone", AMBER), ("with earlier days", TEAL))
    for place, (name, color) in enumerate(names):
        yield dot(left + (0, 82, 206)[place], 42, color)
        yield text(left + (0, 82, 206)[place] + 8, 46, name)
    really, alone, followed = (
        [spot(day, one) for day, one in enumerate(levels)] for levels in zip(*days, strict=True)
    )
    yield line(really, INK, dash="4 3")
    yield from (dot(*one, AMBER, 3) for one in alone)
    yield line(followed, TEAL, width=3)


PICTURES = {"rounds.svg": rounds}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (FIGURES / name).write_text(draw(), encoding="utf-8")

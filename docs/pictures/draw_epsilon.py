"""Draw how sure an attacker can become: ``python docs/pictures/draw_epsilon.py``."""

from collections.abc import Iterator
from math import exp

from svg import AMBER, FIGURES, GRAY, GRID, QUIET, RED, TEAL, WIDTH, box, line, picture, text

from quietcrowd.accounting.consent import most_sure, show_most_sure

TOTALS = {0.5: TEAL, 1.0: TEAL, 2.0: AMBER, 3.0: AMBER, 5.0: RED, 10.0: RED}
LEFT, RIGHT, TOP, ROW = 56, 232, 74, 34


def epsilon() -> str:
    """Return the picture: a bar for each total, from 50 % to the limit."""
    return picture(
        TOP + ROW * len(TOTALS) + 62,
        "How sure an attacker who was 50 % sure can become, by the total ε of a person",
        rows(),
    )


def rows() -> Iterator[str]:
    """Return the parts of the picture."""
    half, bottom = (LEFT + RIGHT) / 2, TOP + ROW * len(TOTALS)
    yield text(10, 24, "Someone is 50 % sure of a fact about you.", size=14)
    yield text(10, 44, "How sure can your reports make them?", size=14)
    yield text(10, TOP - 6, "total ε", fill=QUIET)
    yield text(RIGHT + 12, TOP - 6, "at most", fill=QUIET)
    yield text(WIDTH - 10, TOP - 6, "fair odds", fill=QUIET, anchor="end")
    for row, (total, color) in enumerate(TOTALS.items()):
        y = TOP + ROW * row
        end = LEFT + (RIGHT - LEFT) * float(most_sure(total))
        yield text(10, y + 20, f"{total:g}")
        yield box(LEFT, y + 6, RIGHT - LEFT, ROW - 14, GRID)
        yield box(LEFT, y + 6, half - LEFT, ROW - 14, GRAY)
        yield box(half, y + 6, end - half, ROW - 14, color)
        yield text(RIGHT + 12, y + 20, show_most_sure(total))
        odds = f"{exp(total):,.{1 if total < 3 else 0}f} : 1"
        yield text(WIDTH - 10, y + 20, odds, anchor="end")
    yield line([(half, TOP), (half, bottom)], QUIET, width=1, dash="3 3")
    yield text(LEFT, bottom + 16, "0 %", fill=QUIET)
    yield text(half, bottom + 16, "50 %", fill=QUIET, anchor="middle")
    yield text(RIGHT, bottom + 16, "100 % sure", fill=QUIET, anchor="middle")
    for x, color, name in ((10, TEAL, "strong"), (100, AMBER, "medium"), (196, RED, "weak")):
        yield box(x, bottom + 34, 12, 12, color)
        yield text(x + 18, bottom + 45, name)


PICTURES = {"epsilon.svg": epsilon}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (FIGURES / name).write_text(draw(), encoding="utf-8")

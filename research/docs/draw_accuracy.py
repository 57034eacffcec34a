"""Write the tables of accuracy in ``index.md`` from ``truth-under-noise.md``.

``python research/docs/draw_accuracy.py`` copies numbers. A test fails if it was not run after a new
measurement.
"""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parent / "index.md"
MEASURED = Path(__file__).parent / "truth-under-noise.md"
TABLES = re.compile(r"^\| labels: error rate .*?\n\n(?=[^|])", re.MULTILINE | re.DOTALL)

LABELS = ("duck", "dog", "wsd", "adult", "web", "duchenne")
NUMBERS = ("weather_temperature", "flight_20111201", "emotion")
LABEL_NOISE = ("none", "5", "3", "2", "1")
NUMBER_NOISE = ("20", "10", "5", "2", "1")


def cells(page: str, section: str) -> dict[tuple[str, str], list[str]]:
    """Return the rows of a section's table of cells, by crowd and epsilon."""
    text = page.split(f"\n## {section}\n", 1)[1].split("\n## ", 1)[0]
    head = "| crowd | ε | noise-aware | other method | its error |"
    rows = text.split(head, 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    split = ([cell.strip() for cell in row.strip("| ").split("|")] for row in rows)
    return {(row[0], row[1]): row[2:] for row in split}


def figure(measured: str) -> str:
    """Return a number without its standard error."""
    return measured.split(maxsplit=1)[0]


def table(
    title: str,
    rows: dict[tuple[str, str], list[str]],
    crowds: tuple[str, ...],
    epsilons: tuple[str, ...],
) -> str:
    """Return a table: a row for each real set, a column for each epsilon."""
    heads = ("no noise" if epsilon == "none" else f"ε = {epsilon}" for epsilon in epsilons)
    lines = [f"| {title} | {' | '.join(heads)} | constant guess |"]
    lines.append("|---" * (len(epsilons) + 2) + "|")
    for crowd in crowds:
        found = [rows[crowd, epsilon] for epsilon in epsilons]
        shown = (f"{figure(row[0])} ({figure(row[2])})" for row in found)
        lines.append(f"| {crowd} | {' | '.join(shown)} | {figure(found[-1][5])} |")
    return "\n".join(lines) + "\n\n"


def tables(page: str) -> str:
    """Return both tables."""
    labels = cells(page, "Labels, one-layer randomized response") | cells(
        page, "Labels without noise"
    )
    return table("labels: error rate", labels, LABELS, LABEL_NOISE) + table(
        "numbers: mean absolute error", cells(page, "Numbers"), NUMBERS, NUMBER_NOISE
    )


def with_tables(results: str, page: str) -> str:
    """Return the page with new tables."""
    return TABLES.sub(lambda _: tables(page), results, count=1)


if __name__ == "__main__":
    PAGE.write_text(
        with_tables(PAGE.read_text(encoding="utf-8"), MEASURED.read_text(encoding="utf-8")),
        encoding="utf-8",
    )

"""Write the table of the README: people, total epsilon per person, and expected errors.

``python docs/draw_people.py`` simulates crowds for a minute; a nightly test compares.
"""

from __future__ import annotations

import re
from pathlib import Path

import quietcrowd as qc

README = Path(__file__).parents[1] / "README.md"
TABLE = re.compile(r"^\| people \|.*?\n\n", re.MULTILINE | re.DOTALL)

PEOPLE = (50, 200, 1000, 5000)
TOTALS = (1, 3, 10)


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


if __name__ == "__main__":
    page = README.read_text(encoding="utf-8")
    README.write_text(TABLE.sub(lambda _: table(), page, count=1), encoding="utf-8")

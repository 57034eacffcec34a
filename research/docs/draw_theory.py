"""Write ``research/docs/theory/index.md``: the finding of each page of the theory.

``python research/docs/draw_theory.py`` writes it anew; a test compares.
"""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parent / "theory" / "index.md"

GROUPS = {
    "Privacy loss": (
        *("finite-channels", "two-layer", "sparse-answers", "subset-selection", "optimal-channel"),
        *("bounded-number-mechanisms", "exact-noise", "memoisation", "accounting", "budgets"),
        *("tail-bounds", "facts", "shuffling", "pris-crowd"),
    ),
    "Inference": (
        *("noise-aware-labels", "noise-aware-numbers", "shared-errors", "workers-quality"),
        *("groups-of-workers", "weighted-vote", "dawid-skene", "glad", "truth-discovery"),
        *("crowd-densities", "moon", "normal-laplace", "paired-comparisons", "new-tasks"),
        *("rounds", "surveys", "../error-bounds", "planning"),
    ),
}


def written() -> str:
    """Return the page."""
    lines = [
        "# Theory",
        "",
        "Each page proves one sentence, with a picture and the derivation; the tests run the "
        "checks.",
    ]
    for group, names in GROUPS.items():
        lines += ["", f"## {group}", "", *map(_row, names)]
    pages = (name for names in GROUPS.values() for name in names)
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", *pages, "```", ""])


def _row(name: str) -> str:
    """Return the title and the finding of a page."""
    text = (PAGE.parent / f"{name}.md").read_text(encoding="utf-8")
    found = re.match(r"# (.+)\n\n((?:.+\n)+)", text)
    if found is None:
        raise ValueError(f"{name}.md must begin with a title and a finding")
    return f"- [{found[1]}]({name}.md). {' '.join(found[2].split())}"


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")

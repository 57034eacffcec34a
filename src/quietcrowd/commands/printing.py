"""Output of the commands: notes on standard error, and tables, or CSV in a pipe, as results.

Functions import Rich on demand, because the help of a command does not need it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

    from quietcrowd.inference import TruthEstimate
    from quietcrowd.mechanisms import Mechanism
    from quietcrowd.privacy.guarantee import Tasks
    from quietcrowd.scale import StoreEstimate

DRAWS_A_SECOND = 500_000

SLOW = 5.0
"""Seconds above which a computation is announced."""

WIDTH = 80
"""Maximum columns of notes on a terminal."""

SHOWN = 20
"""Maximum number of rows printed of a table."""


def counted(count: int, noun: str) -> str:
    """Return a count and its noun, in the plural unless the count is one."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def note(text: str) -> None:
    """Print a sentence on standard error, wrapped on a terminal only."""
    from rich.console import Console

    from quietcrowd.campaign.terms.plain_text import printable

    text = printable(text)
    out = Console(stderr=True, highlight=False, soft_wrap=True)
    if out.is_terminal:
        text = "\n".join(_folded(line, min(out.width, WIDTH)) for line in text.split("\n"))
    out.print(text, markup=False)


def _folded(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    import textwrap

    start = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line, width, subsequent_indent=start, break_long_words=False, break_on_hyphens=False
    )


def print_wrapped(sentence: str, *, indent: str = "", errors: bool = False) -> None:
    """Print a sentence in lines of at most 80 columns; `indent` is for the second on."""
    import textwrap

    lines = textwrap.fill(sentence, WIDTH, subsequent_indent=indent, break_on_hyphens=False)
    print(lines, file=sys.stderr if errors else sys.stdout)


def print_message(message: object) -> None:
    """Print a message of the program as one line on standard error."""
    from quietcrowd.campaign.terms.plain_text import one_line

    print(f"quietcrowd: {one_line(str(message))}", file=sys.stderr)


def closing_words(
    estimate: TruthEstimate | StoreEstimate,
    *,
    counts: tuple[int, int, int],
    known: int,
    null_reports: int,
    tied: int | None,
    by_default: bool,
) -> str:
    """Return the summary of an inference."""
    tasks, workers, answers = counts
    parts = [
        f"{counted(known, 'truth')} known; " * bool(known),
        f"{counted(null_reports, 'NULL report')} dropped; " * bool(null_reports),
        "" if tied is None else f"{tied:,} tied; ",
        f"method {estimate.method.name}, by default; " * by_default,
    ]
    end = "converged" if estimate.converged else "NOT converged: increase --max-iter"
    return (
        f"{counted(tasks, 'task')}, {counted(workers, 'worker')}, {counted(answers, 'answer')}; "
        f"{''.join(parts)}{counted(estimate.n_iter, 'iteration')}, {end}."
    )


def announce_exact_noise(draws: int, pace: int = DRAWS_A_SECOND) -> None:
    """Print how long exact noise will take, at `pace` samples per second, if that is long."""
    if draws > SLOW * pace:
        note(f"Sampling {draws:,} exact noise values: about {draws / pace:,.0f} s.")


def print_guarantee(
    mechanism: Mechanism,
    name: str,
    answers_per_worker: npt.NDArray[np.int64],
    tasks: Tasks,
    *,
    simulated: bool,
    listed: bool,
    left_out: int,
) -> None:
    """Print what the reports protect, for the worker with the most answers.

    `listed` is whether all tasks were listed, which mechanisms that hide participation require.
    `left_out` is the number of rows dropped because of invalid answers.
    """
    if listed and not mechanism.participation_protected:
        note(
            f"{name} does NOT hide which tasks were answered; laplace and "
            "one-layer:missing=category do."
        )
    busiest = int(answers_per_worker.max())
    if not mechanism.every_task:
        note(f"Answers of the busiest worker: {busiest:,}.")
    note(str(mechanism.guarantee(answers=max(1, busiest), tasks=tasks)))
    if left_out and not mechanism.participation_protected:
        note(
            f"This does not protect {counted(left_out, 'dropped row')}. A missing report reveals "
            "that the answer was missing or invalid."
        )
    note("Randomizing the same answers again has the same privacy loss again.")
    print_no_signal(mechanism)
    if simulated:
        note("The noise is simulated: these reports protect no one.")


def print_no_signal(mechanism: Mechanism) -> None:
    """Print a note if reports do not depend on the answers."""
    if mechanism.is_uninformative:
        note("Epsilon is 0 or almost 0: reports carry no information, and inference is impossible.")


class Working:
    """Line on a terminal with the progress of a long computation."""

    def __init__(self, what: str) -> None:
        from rich.console import Console
        from rich.progress import Progress

        shown = sys.stderr.isatty()
        self.bar = Progress(console=Console(stderr=True), disable=not shown, transient=True)
        self.steps = self.bar.add_task(what, total=None)

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def count(self, done: int, total: int) -> None:
        """Show a number of completed steps."""
        self.bar.update(self.steps, completed=done, total=total)

    def tell(self, what: str) -> None:
        """Show the next step of the computation."""
        self.bar.update(self.steps, description=f"simulating {what}")

    def __exit__(self, *_: object) -> None:
        self.bar.stop()


def console(width: int | None = None) -> Console:
    """Return a console without markup or highlighting; `width` defaults to the terminal's."""
    from rich.console import Console

    return Console(highlight=False, markup=False, width=width)


def plain_table(*columns: str, numeric_from: int) -> Table:
    """Return an empty table with right-aligned columns from `numeric_from` on."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    for place, column in enumerate(columns):
        numeric = place >= numeric_from
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    return table


def print_frame(frame: pd.DataFrame, way: str) -> None:
    """Print a frame: all rows as CSV to a pipe, the first rows as a table to a terminal."""
    if not sys.stdout.isatty():
        print_csv(frame)
        return
    from rich.text import Text

    from quietcrowd.campaign.terms.plain_text import one_line

    table = plain_table(*frame.columns, numeric_from=2)
    for row in frame.head(SHOWN).itertuples(index=False):
        table.add_row(
            *(
                f"{cell:z.3f}" if isinstance(cell, float) else Text(one_line(str(cell)))
                for cell in row
            )
        )
    console().print(table)
    if len(frame) > SHOWN:
        print(f"… and {len(frame) - SHOWN:,} more; write all rows with {way}")


def print_csv(frame: pd.DataFrame) -> None:
    """Print a frame as CSV."""
    _guarded(frame).to_csv(sys.stdout, index=False)


def records_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows, JSON-ready, with dates as ISO 8601 texts."""
    import pyarrow as pa

    from quietcrowd.formats.jsonl import json_ready

    table = pa.Table.from_pandas(frame, preserve_index=False)
    return [
        {
            name: cell.isoformat() if hasattr(cell, "isoformat") else json_ready(cell)
            for name, cell in row.items()
        }
        for row in table.to_pylist()
    ]


def _guarded(frame: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    from quietcrowd.formats.csv import guard_cell

    def guarded(column: pd.Series) -> list[object]:
        return [guard_cell(cell) if isinstance(cell, str) else cell for cell in column]

    texts = {
        str(name): pd.Series(guarded(frame[name]), frame.index, object)
        for name in frame
        if not is_numeric_dtype(frame[name])
    }
    return frame.assign(**texts)

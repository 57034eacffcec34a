"""What the commands say beside their output: sentences on standard error."""

from __future__ import annotations

import sys

from rich.console import Console

from quietcrowd.inference import TruthEstimate
from quietcrowd.scale import StoreEstimate

__all__ = ["closing_words", "counted", "note", "tell"]


def counted(count: int, noun: str) -> str:
    """Return a count and what is counted, in the plural unless it is one."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def note(text: str) -> None:
    """Print a sentence on standard error."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(text, markup=False)


def tell(message: object) -> None:
    """Print what the program says of itself, in one line, on standard error."""
    print(f"quietcrowd: {' '.join(str(message).split())}", file=sys.stderr)


def closing_words(
    estimate: TruthEstimate | StoreEstimate,
    *,
    counts: tuple[int, int, int],
    known: int,
    null_reports: int,
    tied: int | None,
    by_default: bool,
) -> str:
    """Return what to say in the end of truths that were found.

    `counts` are those of tasks, workers and answers; `tied` is None where truths are numbers.
    """
    tasks, workers, answers = counts
    parts = [
        f"{counted(known, 'truth')} known; " * bool(known),
        f"{counted(null_reports, 'NULL report')} left out; " * bool(null_reports),
        "" if tied is None else f"{tied:,} tied; ",
        f"method {estimate.method.name}, by default; " * by_default,
    ]
    end = "converged" if estimate.converged else "NOT converged: try more with --max-iterations"
    return (
        f"{counted(tasks, 'task')}, {counted(workers, 'worker')}, {counted(answers, 'answer')}; "
        f"{''.join(parts)}{counted(estimate.iterations, 'iteration')}, {end}."
    )

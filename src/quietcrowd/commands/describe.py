"""``quietcrowd convert --describe``: statistics of a file of answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.commands import options
from quietcrowd.commands.files import is_store, read_gold
from quietcrowd.commands.printing import console, note, plain_table
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.formats import read_table
from quietcrowd.formats.columns import Choice
from quietcrowd.formats.headers import Name
from quietcrowd.formats.registry import read_names, read_note

if TYPE_CHECKING:
    from quietcrowd.description import Description, Spread


def describe_file(
    source: Path,
    gold: Path | None,
    columns: str,
    choice: tuple[str | None, str | None],
    *,
    as_json: bool,
) -> None:
    """Print counts of the answers in a file or a dataset directory, with known truths `gold`.

    `choice` is the question and the decimal mark.
    """
    from quietcrowd.description import describe

    if is_store(source):
        raise ParameterError("commands.store-not-described", source=source)
    answers, known = _read(source, gold, columns, *choice)
    try:
        found = describe(answers, known)
    except AnswerError as error:
        raise AnswerError("commands.in-source", source=source, error=error) from None
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
    else:
        _print(found)


def _read(
    source: Path, gold: Path | None, columns: str, question: str | None, decimal: str | None
) -> tuple[Any, Any]:
    if not source.is_dir():
        answers = _in_file(source, options.three_columns(columns), question, decimal)
        known = None if gold is None else read_gold(gold, question, decimal, beside_answers=True)
        return answers, known
    if (gold, question, decimal, columns) != (None, None, None, options.USUAL_COLUMNS):
        raise ParameterError("commands.options-need-a-file")
    return _in_folder(source)


def _in_folder(folder: Path) -> tuple[Any, Any]:
    from quietcrowd.datasets.dataset import answers_file, truth_file

    path = answers_file(folder)
    return _in_file(path, ("task", "worker", "label"), None, None), read_gold(
        truth_file(folder), None, beside_answers=True
    )


def _in_file(
    path: Path, columns: tuple[Name, Name, Name], field: str | None, decimal: str | None
) -> Any:
    mechanism = (read_note(path, None) or {}).get("mechanism")
    if mechanism is not None:
        kind = mechanism.get("kind", "") if isinstance(mechanism, Mapping) else ""
        note(f"These are randomized reports{f' of {kind}' if kind else ''}, not answers.")
    table = read_table(path, columns, choice=Choice(field=field), decimal=decimal)
    names = [str(name) for name in columns]
    for name in names:
        if name not in table.column_names:
            there = ", ".join(read_names(path) or table.column_names)
            raise FormatError("commands.column-missing", path=path, name=name, there=there)
    return table.select(names).rename_columns(["task", "worker", "label"])


def _print(found: Description) -> None:
    out = console(None if sys.stdout.isatty() else 80)
    counts = plain_table("", "number", numeric_from=1)
    for what, number in (
        ("tasks", found.tasks),
        ("workers", found.workers),
        ("answers", found.answers),
        ("rows that repeat a worker's answer to a task", found.repeated),
        ("  of these with a label that differs from the first", found.contradicting),
        ("rows without a label", found.missing),
        *((("known truths", found.truths),) if found.truths else ()),
        *(
            (("  of tasks without answers", found.unanswered_truths),)
            if found.unanswered_truths
            else ()
        ),
    ):
        counts.add_row(what, f"{number:,}")
    out.print(counts)
    out.print()
    out.print(_spreads(found))
    if found.labels is not None or found.truth_labels is not None:
        out.print()
        out.print(_labels(found))
    if found.right is not None:
        out.print(f"\nCorrect answers to tasks with known truth: {found.right:.1%}")


def _spreads(found: Description) -> Any:
    table = plain_table("", "least", "quarter", "median", "mean", "3/4", "most", numeric_from=1)
    rows: list[tuple[str, Spread | None, int]] = [
        ("sparsity of workers", found.sparsity, 6),
        ("answers per worker", found.answers_per_worker, 0),
        ("answers per task", found.answers_per_task, 0),
        ("answers", found.numbers, 0),
        ("known truths", found.truth_numbers, 0),
    ]
    for name, spread, digits in rows:
        if spread is None:
            continue
        numbers = (
            *(spread.least, spread.quarter, spread.median),
            *(spread.mean, spread.three_quarters, spread.most),
        )
        shown = (f"{n:.{digits}f}" if digits else f"{n:.6g}" for n in numbers)
        table.add_row(name, *shown)
    return table


def _labels(found: Description) -> Any:
    from rich.text import Text

    of_answers, of_truths = dict(found.labels or {}), dict(found.truth_labels or {})
    heads = ("answers", "part") if of_answers else ()
    heads = (*heads, *(("truths", "part") if of_truths else ()))
    table = plain_table("label", *heads, numeric_from=1)
    for label in dict.fromkeys((*of_answers, *of_truths)):
        cells = []
        for counts in filter(None, (of_answers, of_truths)):
            count = counts.get(label, 0)
            cells += [f"{count:,}", f"{count / sum(counts.values()):.1%}"]
        table.add_row(Text(one_line(label)), *cells)
    return table

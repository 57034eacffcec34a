"""Tables of answers, of paired comparisons and of truths."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from quietcrowd.commands import options
from quietcrowd.commands.lab.rank import Rank
from quietcrowd.commands.looking.findings import USUAL, Findings
from quietcrowd.commands.looking.platforms import (
    advice_on,
    of_platform,
    read_contents,
    select,
    steps_for,
)
from quietcrowd.commands.looking.steps import (
    Given,
    Source,
    Steps,
    quiet,
    repaired,
    write_command,
)
from quietcrowd.commands.looking.truths import of_truths
from quietcrowd.commands.looking.wide import (
    of_likely_wide,
    of_wide,
    wide_rows,
)
from quietcrowd.exceptions import FormatError, QuietcrowdError
from quietcrowd.formats import read_table
from quietcrowd.formats.answers import holds_comparisons, read_comparison_table
from quietcrowd.formats.columns import Choice, resolve
from quietcrowd.formats.contents import Contents
from quietcrowd.formats.kinds import FORMATS, Format
from quietcrowd.formats.likely_columns import (
    Columns,
    columns_by_name,
    columns_by_values,
    likely_wide,
)
from quietcrowd.formats.registry import holds_truths, read_columns, read_names


def of_table(source: Source, kind: Format, given: Given) -> Findings:
    """Return what a table contains; `given` may name its columns."""
    names = tuple(read_names(source.path) or ())
    found = Findings(title=f"a table ({kind.title})", columns=names)
    try:
        return _of_rows(found, source, kind, given)
    except FormatError as error:
        if error.code == "formats.header-missing":
            return _without_header(found, source, kind)
        return evolve(found, steps=Steps(faults=(str(error),), error=error))


def _of_rows(found: Findings, source: Source, kind: Format, given: Given) -> Findings:
    path, columns = source.path, given.get("columns")
    if columns is not None:
        return _long(found, source, kind, options.three_columns(columns), given)
    if holds_comparisons(path):
        return _of_comparisons(evolve(found, title="paired comparisons"), source)
    if holds_truths(path, USUAL):
        return evolve(of_truths(source), columns=found.columns)
    known = resolve(path, found.columns, USUAL)
    if len(known) == len(USUAL):
        return _long(found, source, kind, USUAL, given)
    if not known and kind.module != "jsonl":
        read_table(path, USUAL)  # it raises if the first row is an answer
    return _with_other_names(found, source, kind)


def _long(
    found: Findings, source: Source, kind: Format, columns: tuple[Any, Any, Any], given: Given
) -> Findings:
    """Add the answers of a table with a row per answer."""
    contents = read_contents(source.path, kind, Choice(), columns)
    steps = steps_for(source, contents, given)
    return evolve(found, contents=contents, steps=steps, advice=advice_on(contents))


def _of_comparisons(found: Findings, source: Source) -> Findings:
    """Add paired comparisons, whose tasks are pairs in one order."""

    def attempt(given: Given) -> None:
        with redirect_stdout(io.StringIO()):
            Rank(reports=[source.path], non_private=True, **given).run()

    with quiet():
        table, columns = read_comparison_table(source.path)
    chosen = select(source.path, table, columns)
    worker, left, right, label = (column.cast(pa.string()) for column in chosen.columns)
    pairs = pc.binary_join_element_wise(left, right, " | ")
    contents = Contents.of(pa.table({"task": pairs, "worker": worker, "label": label}))
    found = evolve(found, contents=contents)
    given, steps = repaired(attempt, {}, _remedy_of_repetition)
    if given is None:
        return evolve(found, steps=steps)
    words = [part for name, value in given.items() for part in (f"--{name}", value)]
    command = write_command("quietcrowd", "lab", "rank", "--non-private", source.word(), *words)
    return evolve(found, steps=evolve(steps, commands=(command,)))


def _remedy_of_repetition(error: QuietcrowdError) -> Given:
    return {"duplicates": "all"} if error.code == "answers.answered-twice" else {}


def _without_header(found: Findings, source: Source, kind: Format) -> Findings:
    """Suggest columns by number."""
    count = len(found.columns)
    numbers = tuple(range(1, count + 1))
    with quiet():
        table = read_table(source.path, numbers, file_format=kind.name)
    likely = columns_by_values(table)
    found = evolve(found, title="a table without a header", columns=tuple(map(str, numbers)))
    if likely is None:
        return evolve(
            found,
            advice="The first row seems to be an answer. Add a row with the names of the columns, "
            "or name the numbers of three columns with --columns TASK,WORKER,LABEL.",
        )
    return _suggested(found, source, kind, likely)


def _suggested(found: Findings, source: Source, kind: Format, likely: Columns) -> Findings:
    """Add the answers in three columns that are likely."""
    columns = options.join(likely)
    found = _long(found, source, kind, options.three_columns(columns), {"columns": columns})
    task, worker, label = likely
    return evolve(
        found,
        advice=f"The columns {task!r} (task), {worker!r} (worker) and {label!r} (label) are a "
        "suggestion. Check them.",
    )


def _with_other_names(found: Findings, source: Source, kind: Format) -> Findings:
    """Find out whether a table has a row per answer, per worker or per task."""
    table, survey = read_columns(source.path), wide_rows(source.path)
    likely = columns_by_name(table)
    if likely is not None and (survey is None or _has_repeated(table[likely[0]])):
        return _suggested(found, source, kind, likely)
    if survey is not None:
        return of_wide(found, source, survey)
    return of_lists(source) or _by_values(found, source, kind, table)


def _by_values(found: Findings, source: Source, kind: Format, table: pa.Table) -> Findings:
    ways = likely_wide(table)
    if ways:
        return of_likely_wide(found, source, ways)
    likely = columns_by_values(table)
    if likely is not None:
        return _suggested(found, source, kind, likely)
    return evolve(
        found,
        advice="No columns have the names task, worker and label. If a row is an answer, name them "
        "with --columns TASK,WORKER,LABEL. If a row is a worker or a task, use convert --wide with "
        "--worker COLUMN or --task COLUMN. If the file has no workers, truths cannot be inferred.",
    )


def _has_repeated(column: pa.ChunkedArray) -> bool:
    return len(column.unique()) < len(column)


def of_lists(source: Source) -> Findings | None:
    """Return the findings if a row has a list of workers, as in data sets of Hugging Face."""
    lists = FORMATS["hugging-face"]
    found = of_platform(source, lists, {"from_format": lists.name})
    return None if found.contents is None else found

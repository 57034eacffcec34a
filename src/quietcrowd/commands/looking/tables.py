"""Tables of answers with a row per answer, per worker or per task, of comparisons and of truths."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from quietcrowd.commands import options
from quietcrowd.commands.lab.rank import Rank
from quietcrowd.commands.looking.contents import Contents, labels_by_task
from quietcrowd.commands.looking.findings import (
    USUAL,
    Findings,
    Given,
    Source,
    Steps,
    quiet,
    write_command,
)
from quietcrowd.commands.looking.platforms import (
    advice_on,
    of_platform,
    of_truths,
    read_contents,
    select,
)
from quietcrowd.commands.looking.steps import (
    convert_steps,
    repaired,
    steps_for,
    steps_per_question,
)
from quietcrowd.exceptions import FormatError, QuietcrowdError
from quietcrowd.formats import read_table
from quietcrowd.formats.answers import holds_comparisons, read_comparison_table
from quietcrowd.formats.columns import Choice, resolve
from quietcrowd.formats.kinds import FORMATS, Format, formats_within
from quietcrowd.formats.likely_columns import (
    Columns,
    Wide,
    columns_by_name,
    columns_by_values,
    likely_wide,
    summaries,
)
from quietcrowd.formats.registry import holds_truths, read_columns, read_names
from quietcrowd.formats.wide_tables import read_wide
from quietcrowd.wide import LongRows


def of_table(source: Source, kind: Format, given: Given) -> Findings:
    """Inspect a table; `given` may name its columns."""
    names = tuple(read_names(source.path) or ())
    found = Findings(title=f"a table ({kind.title})", columns=names)
    marked = (one for one in formats_within(FORMATS["csv"]) if one.is_marked(names))
    platform = next((one for one in marked if one.name != "qualtrics"), None)
    if platform is not None and kind.name in ("excel", "ods"):
        return evolve(found, advice=f"{_WORKBOOK} {platform.title}. Save it as CSV in UTF-8.")
    try:
        return _of_rows(found, source, kind, given)
    except FormatError as error:
        if error.code == "formats.header-missing":
            return _without_header(found, source, kind)
        return found.failed(error)


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
        try:
            read_table(path, USUAL)  # it raises if the first row is an answer
        except FormatError as error:
            if error.code != "formats.row-per-respondent":
                raise
    return _with_other_names(found, source, kind, given.get("question"))


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
    twice = {"answers.answered-twice": {"duplicates": "all"}}
    given, steps = repaired(attempt, {}, lambda error: twice.get(error.code, {}))
    if given is None:
        return evolve(found, steps=steps)
    words = [part for name, value in given.items() for part in (f"--{name}", value)]
    command = write_command("quietcrowd", "lab", "rank", "--non-private", source.word(), *words)
    return evolve(found, steps=evolve(steps, commands=(command,)))


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


def _with_other_names(
    found: Findings, source: Source, kind: Format, question: str | None
) -> Findings:
    """Find out whether a table has a row per answer, per worker or per task."""
    table, survey = read_columns(source.path), _wide_rows(source.path)
    likely = columns_by_name(table)
    if likely is not None and (survey is None or len(pc.unique(table[likely[0]])) < len(table)):
        return _suggested(found, source, kind, likely)
    if survey is not None:
        return _of_survey(found, source, survey, question)
    if (lists := of_lists(source)) is not None:
        return lists
    if ways := likely_wide(table):
        return _of_likely_wide(found, source, ways)
    likely = columns_by_values(table)
    if likely is not None:
        return _suggested(found, source, kind, likely)
    return evolve(
        found,
        advice="Not all of the columns task, worker and label exist. If a row is an answer, name "
        "them with --columns TASK,WORKER,LABEL. If a row is a worker or a task, use convert --wide "
        "with --worker COLUMN or --task COLUMN. Without workers, truths cannot be inferred.",
    )


def of_lists(source: Source) -> Findings | None:
    """Return the findings if a row has a list of workers, as in data sets of Hugging Face."""
    lists = FORMATS["hugging-face"]
    found = of_platform(source, lists, {"from_format": lists.name})
    return None if found.contents is None else found


def _wide_rows(path: Path, **choice: Any) -> LongRows | None:
    with quiet(), suppress(QuietcrowdError):
        return read_wide(path, **choice)
    return None


def _of_survey(found: Findings, source: Source, rows: LongRows, question: str | None) -> Findings:
    """Add the answers of a wide table that needs no names of columns, without truths and times."""
    if {"winner", "preferred", "preference"} & set(map(str.lower, found.columns)):
        return evolve(found, advice=_COMPARISONS)
    if question is not None and (chosen := _wide_rows(source.path, questions=[question])):
        return _of_wide(found, source, chosen, questions=options.join([question]))
    names = list(rows.questions)
    if not rows.layout.by_worker and {"yes", "no", "true", "false"} & set(map(str.lower, names)):
        return evolve(found, advice=_COUNTS)
    ignored = summaries(names)
    others = {"ignore": options.join(ignored)} if ignored else {}
    return _of_wide(found, source, _wide_rows(source.path, ignore=ignored) or rows, **others)


def _of_wide(found: Findings, source: Source, rows: LongRows, **choice: str) -> Findings:
    """Add the answers of a wide table, which `choice` has selected, as on the command line."""
    contents, given = Contents.of(rows.table), {"wide": True, **choice}
    by_worker, advice, others = rows.layout.by_worker, "", {}
    if contents.sets:
        labels = dict.fromkeys(one for held in rows.questions.values() for one in held or ())
        given["multi_label"] = options.join(labels)
    elif by_worker:
        questions = labels_by_task(rows.table)
        others = steps_per_question(source, questions, given, "questions")
        pairs = combinations(map(set, questions.values()), 2)
        advice = _DIFFERENT if any(one.isdisjoint(other) for one, other in pairs) else ""
    steps = convert_steps(source, given)
    return evolve(
        found,
        title="a wide table: a row per worker, a column per question"
        if by_worker
        else "a wide table: a row per task, a column per worker",
        questions=Counter(rows.table["task"].to_pylist()) if by_worker else {},
        contents=evolve(contents, blanks=contents.blanks + rows.empty),
        steps=evolve(steps, others={**steps.others, **others}),
        advice=advice,
    )


_COUNTS = "The columns may be counts per label. Counts cannot be read, because no one gave them."
_WORKBOOK = "The columns of this workbook are those of"
_COMPARISONS = (
    "Rows may be paired comparisons. If they are, use lab rank --non-private FILE with "
    "--columns WORKER,LEFT,RIGHT,LABEL."
)
_DIFFERENT = (
    "Some questions have no label in common. Convert questions with the same labels separately, "
    "with --questions."
)
_SUGGESTION = "The roles of the columns are a suggestion. Check them; --ignore drops columns."


def _of_likely_wide(found: Findings, source: Source, ways: Sequence[Wide]) -> Findings:
    """Add the answers of a wide table if there is one likely reading, or commands for several."""
    read = {way.by_task: _of_way(found, source, way) for way in ways}
    if len(read) == 1:
        (only,) = read.values()
        return evolve(only, advice=f"{_SUGGESTION} {only.advice}".rstrip())
    others = {
        f"If a row is a {'task' if by_task else 'worker'}": one.steps.commands[0]
        for by_task, one in read.items()
        if one.steps.commands
    }
    advice = "A row may be a worker or a task. The file does not show which."
    return evolve(found, title="a wide table", steps=Steps(others=others), advice=advice)


def _of_way(found: Findings, source: Source, way: Wide) -> Findings:
    role = {"task" if way.by_task else "worker": way.ids}
    rows = _wide_rows(source.path, **role, ignore=way.ignored)
    if rows is None:
        return found
    ignored = {"ignore": options.join(way.ignored)} if way.ignored else {}
    return _of_wide(found, source, rows, **role, **ignored)

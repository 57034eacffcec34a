"""Tables with a row per worker or per task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import evolve

from quietcrowd.commands import options
from quietcrowd.commands.looking.findings import Findings
from quietcrowd.commands.looking.steps import Source, Steps, convert_steps, quiet
from quietcrowd.exceptions import QuietcrowdError
from quietcrowd.formats.contents import Contents
from quietcrowd.formats.likely_columns import Wide
from quietcrowd.formats.wide_tables import read_wide
from quietcrowd.wide import LongRows


def wide_rows(path: Path, **choice: Any) -> LongRows | None:
    """Return the answers in a wide table, or None; `choice` has options of `read_wide`."""
    with quiet():
        try:
            return read_wide(path, **choice)
        except QuietcrowdError:
            return None


def of_wide(found: Findings, source: Source, rows: LongRows, **choice: str) -> Findings:
    """Add the answers of a wide table, which `choice` has selected, as on the command line."""
    contents, given = Contents.of(rows.table), {"wide": True, **choice}
    if contents.sets:
        labels = dict.fromkeys(one for held in rows.questions.values() for one in held or ())
        given["multi_label"] = options.join(labels)
    by_worker = rows.layout.by_worker
    return evolve(
        found,
        title="a wide table: a row per worker, a column per question"
        if by_worker
        else "a wide table: a row per task, a column per worker",
        questions=Counter(rows.table["task"].to_pylist()) if by_worker else {},
        contents=evolve(contents, blanks=contents.blanks + rows.empty),
        steps=convert_steps(source, given),
    )


def of_likely_wide(found: Findings, source: Source, ways: Sequence[Wide]) -> Findings:
    """Add the answers of a wide table if there is one likely reading, or commands for several."""
    read = {way.by_task: _of_way(found, source, way) for way in ways}
    if len(read) == 1:
        (only,) = read.values()
        return evolve(
            only,
            advice="The roles of the columns are a suggestion. Check them; --ignore drops columns.",
        )
    others = {
        f"If a row is a {'task' if by_task else 'worker'}": one.steps.commands[0]
        for by_task, one in read.items()
        if one.steps.commands
    }
    return evolve(
        found,
        title="a wide table",
        steps=Steps(others=others),
        advice="A row may be a worker or a task. The file does not show which.",
    )


def _of_way(found: Findings, source: Source, way: Wide) -> Findings:
    role = {"task" if way.by_task else "worker": way.ids}
    rows = wide_rows(source.path, **role, ignore=way.ignored)
    if rows is None:
        return found
    ignored = {"ignore": options.join(way.ignored)} if way.ignored else {}
    return of_wide(found, source, rows, **role, **ignored)

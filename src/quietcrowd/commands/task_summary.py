"""What a file of tasks was taken for, in a sentence for its requester."""

from __future__ import annotations

import json
from collections.abc import Sequence

from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.campaign.terms.task_files import TaskRow

__all__ = ["summarize_tasks"]

_EXAMPLES = 2


def summarize_tasks(rows: Sequence[TaskRow]) -> str:
    """Return how many tasks there are, how they are named, and what workers see of them.

    Examples
    --------
    >>> rows = [TaskRow(row=2, name="b1", data='{"question":"Is it a robin?"}', known_truth="yes")]
    >>> summarize_tasks(rows)
    '1 task, named in the file: b1; 1 with known truth; workers see: question'
    """
    known = sum(row.known_truth is not None for row in rows)
    shown = dict.fromkeys(field for row in rows for field in json.loads(row.data))
    return (
        f"{len(rows):,} task{'s' * (len(rows) != 1)}, {_naming(rows)}; {known:,} with known "
        f"truth{'s' * (known != 1)}; workers see: {one_line(', '.join(shown)) or 'nothing'}"
    )


def _naming(rows: Sequence[TaskRow]) -> str:
    named = [row.name for row in rows if row.name is not None]
    if not named:
        return "numbered, as the file has no task, external_id or id"
    examples = one_line(", ".join(named[:_EXAMPLES])) + ", ..." * (len(named) > _EXAMPLES)
    if len(named) < len(rows):
        return f"{len(named):,} of them named in the file, the others numbered: {examples}"
    return f"named in the file: {examples}"

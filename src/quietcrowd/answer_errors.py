"""Errors about rows of answers: a line with place, value and remedy."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from attrs import evolve, frozen

from quietcrowd.domains import Domain, NumericDomain, as_numbers
from quietcrowd.exceptions import AnswerError

AdviceName: TypeAlias = Literal[
    "answers",
    "frame",
    "comparisons",
    "claims",
    "reports",
    "infer",
    "randomize",
    "partition",
    "folder",
]


@frozen(kw_only=True)
class Advice:
    """Remedies for missing or invalid answers, repeated ones, missing columns, and empty frames."""

    missing: str = ""
    outside: str = ""
    options: str = ""
    twice: str = ""
    column: str = ""
    empty: str = ""


_RULE = (
    "Decide by a rule fixed in advance, such as clipping, because a claim dropped for its value "
    "reveals something about it."
)
_COMMAND = Advice(
    missing="Drop the row with --drop-invalid.",
    outside="Name it with --labels, --levels or --between, or drop the row with --drop-invalid.",
    options="Add it to the file of --options, or drop the row with --drop-invalid.",
    twice="Pass --duplicates last or --duplicates first, or drop them.",
    column="Name the columns of answers with --columns TASK,WORKER,LABEL. If columns are questions "
    "or workers, use convert --wide first.",
)

ADVICE: Mapping[AdviceName, Advice] = MappingProxyType(
    {
        "answers": Advice(
            missing='Drop the row with out_of_domain="skip".',
            outside='Pass a domain that contains it, or drop the row with out_of_domain="skip".',
            options='Add it to options=, or drop the row with out_of_domain="skip".',
            twice='Pass duplicates="last" or duplicates="first" (on the command line: '
            "--duplicates last), or drop them.",
            column="Name the columns of answers with task=, worker= and label=. If columns are "
            "questions or workers, use Answers.from_wide (on the command line: convert --wide).",
            empty="If this is intended, list all ids with tasks= and workers=.",
        ),
        "frame": Advice(
            missing="Drop the row, or pass Answers.from_frame(frame, domain, "
            'out_of_domain="skip").',
            twice='Pass Answers.from_frame(frame, domain, duplicates="last"), or drop them.',
            column="Rename the columns, or pass Answers.from_frame(frame, domain, task=..., "
            "worker=..., label=...).",
        ),
        "comparisons": Advice(
            twice='Pass duplicates="last" or duplicates="first" (on the command line: '
            '--duplicates last), or drop them. A ranking also accepts duplicates="all".',
        ),
        "claims": Advice(
            missing=_RULE,
            outside=_RULE,
            twice='Pass duplicates="last" or duplicates="first" (on the command line: '
            "--duplicates last), or drop them.",
            column="Name the columns of answers with task=, worker= and label= "
            "(on the command line: --columns).",
        ),
        "reports": Advice(
            twice="Name every file once. If two "
            "files have the same answers, randomized twice, infer from one of them."
        ),
        "infer": _COMMAND,
        "randomize": evolve(
            _COMMAND,
            empty="If this is intended, list all ids with --all-tasks and --all-workers.",
        ),
        "partition": Advice(
            missing='Drop the row with out_of_domain="skip" (on the command line: --drop-invalid).',
            outside='Pass a domain that contains it, or drop the row with out_of_domain="skip" '
            "(on the command line: --drop-invalid).",
            twice='Pass duplicates="last" or duplicates="first" (on the command line: '
            "--duplicates last), or drop them.",
            column="Name the columns of answers with columns= (on the command line: --columns).",
        ),
        "folder": Advice(
            missing="Drop the row.",
            outside="Name it in dataset.json, or drop the row.",
            twice="Drop one of them.",
            column="The columns of a dataset directory are task, worker and label.",
        ),
    }
)
"""Remedies by input.

``answers``, ``frame`` (to fit), ``comparisons``, ``claims`` (to release) and ``reports`` are inputs
in Python. ``infer``, ``randomize`` and ``partition`` are commands, and ``folder`` is a dataset's
directory.
"""


def is_id_type(kind: pa.DataType) -> bool:
    """Return whether ids may have this type: text, or a primitive type that Arrow can print."""
    if pa.types.is_float16(kind):  # Arrow cannot print these
        return False
    text = pa.types.is_string(plain_type(kind))
    return text or (pa.types.is_primitive(kind) and not pa.types.is_interval(kind))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the string type for every type of text, and other types unchanged."""
    text = pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return pa.string() if text else kind


def mark_note(raw: pa.ChunkedArray | None, row: int) -> str:
    """Return a note on the text that marks a missing value in a row, if there is one."""
    mark = None if raw is None else raw[row].as_py()
    if not isinstance(mark, str) or not mark.strip():
        return ""
    way = "Answers.from_frame(frame, domain, missing=()) or --missing '' reads it as a text"
    return f" ({mark!r} marks a missing value; {way})"


def answered_twice(
    names: tuple[str, str],
    ids: tuple[Any, Any],
    rows: tuple[int | str, int],
    more: int | None = None,
    *,
    advice: AdviceName,
) -> AnswerError:
    """Return the error for an answer in two `rows`, original and repetition, and `more` of them."""
    (task, worker), (task_id, worker_id), (other, row) = names, ids, rows
    count = "" if more is None else f" ({more:,} such row{'s' * (more > 1)})"
    return AnswerError(
        "answers.answered-twice",
        row=row,
        task=task,
        worker=worker,
        worker_id=worker_id,
        task_id=task_id,
        other=other,
        count=count,
        twice=ADVICE[advice].twice,
    )


def outside_domain(
    column: pa.ChunkedArray,
    name: str,
    row: int,
    domain: Domain,
    *,
    advice: AdviceName,
    first: int = 0,
    raw: pa.ChunkedArray | None = None,
) -> AnswerError:
    """Return the error for a missing or invalid answer at `row`; the message adds `first`.

    `raw` is the column with marks of missing answers.
    """
    value, place = column[row].as_py(), first + row
    if value is None:
        remedy = ADVICE[advice].missing
        return AnswerError(
            "answers.answer-missing",
            row=place,
            name=name,
            mark=mark_note(raw, row),
            count=column.null_count,
            advice=remedy,
        )
    if isinstance(domain, NumericDomain) and np.isnan(as_numbers(column.slice(row, 1))[0]):
        return AnswerError("answers.answer-not-a-number", row=place, name=name, value=value)
    return AnswerError(
        "answers.answer-outside-domain",
        row=place,
        name=name,
        value=value,
        domain=domain.describe(),
        advice=ADVICE[advice].outside,
    )

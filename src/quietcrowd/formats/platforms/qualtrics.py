"""Qualtrics responses as CSV or TSV: a row per response, a column per question.

A worker is the id of a response, or of a person on Prolific. A task is a question. Below the names
follow two further header rows, texts and import ids.
"""

from pathlib import Path

import pyarrow as pa

from quietcrowd.formats import csv
from quietcrowd.formats.columns import Choice, with_unanswered
from quietcrowd.formats.wide_tables import rows_of

NAME = "Qualtrics responses"


def read(path: Path, choice: Choice) -> pa.Table:
    """Return the answers to one question or all; either all have columns of options, or none.

    Previews and responses that were not finished are dropped with a warning, unless `choice`
    includes them. Empty answers are dropped.
    """
    table = csv.read(path, tuple(csv.names(path)))
    questions = None if choice.field is None else [choice.field]
    found = rows_of(path, table, questions=questions, rejected=choice.rejected, sets=choice.sets)
    return with_unanswered(found.table, found.empty)

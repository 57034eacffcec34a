"""Answers with known truths."""

from __future__ import annotations

import pyarrow as pa
from attrs import frozen

from quietcrowd.answers import Answers

__all__ = ["Dataset"]


@frozen(kw_only=True, eq=False)
class Dataset:
    """Answers with known truths.

    Attributes
    ----------
    name : str
        Name of the data set.
    answers : Answers
        Non-private answers.
    truths : pyarrow.Table
        Columns ``task`` and ``label``; some or all tasks.
    remark : str
        Origin.
    """

    name: str
    answers: Answers
    truths: pa.Table
    remark: str = ""

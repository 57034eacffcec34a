"""Answers together with what is known of the truth."""

from __future__ import annotations

import pyarrow as pa
from attrs import frozen

from quietcrowd.answers import Answers

__all__ = ["Dataset"]


@frozen(kw_only=True, eq=False)
class Dataset:
    """Answers and known truths.

    Attributes
    ----------
    name : str
        What it is called.
    answers : Answers
        Plain answers.
    truths : pyarrow.Table
        Columns ``task`` and ``label``; some or all tasks.
    remark : str
        Where it comes from.
    """

    name: str
    answers: Answers
    truths: pa.Table
    remark: str = ""

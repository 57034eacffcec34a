"""Marks of reports that a device sent again, and which reports count as evidence.

A report counts once in a fit. In the reports of one campaign every row counts, since workers are
different people and exact copies of a question are one task. In reports of several or unknown
campaigns a marked row does not count: its original may be present under another pseudonym.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from quietcrowd.exceptions import AnswerError, DroppedRowsWarning

MARKS = ("again", "campaign")
"""Columns of reports: whether a report was sent before, and the id of the row's campaign."""

_TEXTS = {"true": True, "1": True, "false": False, "0": False, "": False}


@frozen(kw_only=True, eq=False)
class Marks:
    """Marks of some reports.

    Attributes
    ----------
    again : ndarray of bool, shape (reports,)
        Whether the device had sent the report before; true at least once.
    campaign : str or None
        Campaign of all reports; None if there are several, or a row lacks it.
    """

    again: npt.NDArray[np.bool_]
    campaign: str | None

    @classmethod
    def of(cls, columns: pa.Table) -> Marks | None:
        """Return the marks in a table of reports; None if no row is marked."""
        if "again" not in columns.column_names or "task" not in columns.column_names:
            return None
        again = _booleans(columns["again"])
        if not again.any():
            return None
        return cls(again=again, campaign=_campaign_of(columns))

    @classmethod
    def of_all(cls, tables: Sequence[pa.Table]) -> Marks | None:
        """Return the marks of the rows of several tables; None if no row is marked."""
        own = [cls.of(table) for table in tables]
        if not any(own):
            return None
        campaigns = {_campaign_of(table) for table in tables}
        again = [
            np.zeros(len(table), np.bool_) if marks is None else marks.again
            for table, marks in zip(tables, own, strict=True)
        ]
        campaign = campaigns.pop() if len(campaigns) == 1 else None
        return cls(again=np.concatenate(again), campaign=campaign)

    @property
    def counted(self) -> npt.NDArray[np.bool_]:
        """Which reports count, shape (reports,)."""
        return ~self.again if self.campaign is None else np.ones(len(self.again), np.bool_)

    def warn(self, stacklevel: int) -> None:
        """Warn of reports that do not count; raise AnswerError if none does."""
        left_out = len(self.again) - int(self.counted.sum())
        if left_out == len(self.again):
            raise AnswerError("mechanisms.all-sent-again")
        if left_out:
            warnings.warn(
                DroppedRowsWarning(
                    "mechanisms.sent-again-left-out", left_out=left_out, count=len(self.again)
                ),
                stacklevel=stacklevel + 1,
            )


def _campaign_of(columns: pa.Table) -> str | None:
    campaigns = pc.unique(columns["campaign"]) if "campaign" in columns.column_names else []
    only = campaigns[0].as_py() if len(campaigns) == 1 else None
    return None if only in (None, "") else str(only)


def _booleans(column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    """Return cells as booleans; a missing one is false."""
    if not pa.types.is_boolean(column.type):
        texts = pc.utf8_lower(pc.utf8_trim_whitespace(column.cast(pa.string()).fill_null("")))
        unknown = set(pc.unique(texts).to_pylist()) - _TEXTS.keys()
        if unknown:
            raise AnswerError("mechanisms.again-not-boolean", unknown=min(unknown))
        column = pc.is_in(texts, pa.array([text for text, true in _TEXTS.items() if true]))
    found: npt.NDArray[np.bool_] = (
        pc.fill_null(column, fill_value=False).to_numpy().astype(np.bool_)
    )
    return found

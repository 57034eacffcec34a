"""Options per task: a table for each number of options, of the positions among them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from attrs import frozen
from typing_extensions import override

from quietcrowd.domains import Domain, FiniteDomain, Ordinal
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.channels.reading import (
    MAX_LABELS,
    MAX_NUMBERS,
    check_members,
    invalid_member,
)
from quietcrowd.mechanisms.channels.table import TableChannel


@frozen(kw_only=True)
class OptionsChannel(Channel):
    """Distribution of a position among the options of a task.

    `tables` are square, and larger one by one: that with m rows is for tasks with m options.
    """

    kind: ClassVar[str] = "options"
    tables: tuple[TableChannel, ...]

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> OptionsChannel:
        """Return the channel of a document; raise ParameterError if it is invalid."""
        check_members(document, "kind tables")
        listed = document["tables"]
        most = min(MAX_LABELS, domain.size) if isinstance(domain, FiniteDomain) else 0
        if not isinstance(listed, list | tuple) or not listed:
            raise invalid_member("tables", "a list of tables")
        sizes = [len(rows) if isinstance(rows, list | tuple) else 0 for rows in listed]
        if not all(2 <= size <= most for size in sizes) or sizes != sorted(set(sizes)):
            raise invalid_member("tables", "tables of different sizes in order, at most the labels")
        if sum(size**2 for size in sizes) > MAX_NUMBERS:
            raise ParameterError("mechanisms.too-many-option-counts", most=MAX_NUMBERS)
        return cls(
            tables=tuple(
                TableChannel.read({"kind": "table", "weights": rows}, Ordinal(range(size)))
                for size, rows in zip(sizes, listed, strict=True)
            )
        )

    @property
    @override
    def epsilon(self) -> float:
        return max(table.epsilon for table in self.tables)

    @property
    def keeps(self) -> TableChannel:
        """The table that reports some answer as it is most often."""
        return max(self.tables, key=lambda table: table.weights.diagonal().max())

    def table_for(self, size: int) -> TableChannel:
        """Return the table for a number of options; StopIteration without one."""
        return next(table for table in self.tables if table.answers == size)

    @override
    def describe(self) -> Mapping[str, Any]:
        return {"kind": self.kind, "tables": [table.weights.tolist() for table in self.tables]}

"""What the options of a command say of how plain answers are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attrs import frozen

from quietcrowd.answers import Answers
from quietcrowd.commands import options
from quietcrowd.commands.files import read_plain

__all__ = ["PlainOptions"]


@frozen
class PlainOptions:
    """What the options say of how plain answers are read.

    Attributes
    ----------
    domain : (str, str, str)
        ``--labels``, ``--levels`` and ``--between``, each None where it is not given.
    columns, duplicates, field, skip_outside
        As the options of their names.
    """

    domain: tuple[str | None, str | None, str | None]
    columns: str
    duplicates: str
    field: str | None
    skip_outside: bool

    def by_option(self, *, with_field: bool = True) -> dict[str, Any]:
        """Return what each option says; of ``--field`` nothing where it is about known truths."""
        return {
            **dict(zip(options.DOMAIN, self.domain, strict=True)),
            "--columns": self.columns,
            "--duplicates": self.duplicates,
            "--field": self.field if with_field else None,
            "--skip-outside": self.skip_outside,
        }

    def read(self, path: Path, **further: Any) -> Answers:
        """Return the answers of a file or a folder; see `quietcrowd.commands.files.read_plain`."""
        return read_plain(
            path,
            self.domain,
            self.columns,
            self.duplicates,
            self.field,
            out_of_domain="skip" if self.skip_outside else "error",
            **further,
        )

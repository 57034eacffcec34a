"""Options for reading non-private answers."""

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
    """Values of the options for reading non-private answers.

    `domain` contains ``--labels``, ``--levels`` and ``--between``, each None if not given.
    """

    domain: tuple[str | None, str | None, str | None]
    columns: str
    duplicates: str
    field: str | None
    skip_outside: bool

    def by_option(self, *, with_field: bool = True) -> dict[str, Any]:
        """Return the values by option, without ``--field`` if that is about known truths."""
        return {
            **dict(zip(options.DOMAIN, self.domain, strict=True)),
            "--columns": self.columns,
            "--duplicates": self.duplicates,
            "--field": self.field if with_field else None,
            "--skip-outside": self.skip_outside,
        }

    def read(self, path: Path, **further: Any) -> Answers:
        """Read the answers of a file or directory; see `quietcrowd.commands.files.read_plain`."""
        return read_plain(
            path,
            self.domain,
            self.columns,
            self.duplicates,
            self.field,
            out_of_domain="skip" if self.skip_outside else "error",
            **further,
        )

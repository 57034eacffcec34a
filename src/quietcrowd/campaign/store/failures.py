"""What a database says of its own failures: a code, and never what was to be stored."""

from __future__ import annotations

import re

__all__ = ["cannot_write", "database_code"]

_CODE = re.compile(r"[0-9A-Z]{5}|SQLITE_[A-Z_]+")

_NO_WRITING = re.compile(
    r"25006|53100|58P01|58030|SQLITE_(FULL|READONLY|IOERR|CANTOPEN|CORRUPT)(_[A-Z_]+)?"
)
"""Read-only; no space; files that cannot be read or written."""


def database_code(error: BaseException) -> str | None:
    """Return the SQLSTATE of PostgreSQL, or the name of SQLite, of an error; None for others.

    Parameters
    ----------
    error : BaseException
        Of a driver, or of SQLAlchemy around it. PostgreSQL that is not there says no code.
    """
    cause = getattr(error, "orig", None) or error
    for name in ("sqlstate", "sqlite_errorname"):
        code = getattr(cause, name, None)
        if isinstance(code, str) and _CODE.fullmatch(code):
            return code
    return None


def cannot_write(error: BaseException) -> bool:
    """Return whether an error says that nothing can be written, whoever tries."""
    return _NO_WRITING.fullmatch(database_code(error) or "") is not None

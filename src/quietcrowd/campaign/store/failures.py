"""Codes and causes of database errors, without the values to be stored."""

import re
from typing import Literal, TypeAlias

Cause: TypeAlias = Literal["damaged", "full", "read-only", "disk error", "no access", "busy"]

_CODE = re.compile(r"[0-9A-Z]{5}|SQLITE_[A-Z_]+")

_CAUSES: dict[Cause, re.Pattern[str]] = {
    "damaged": re.compile(r"XX00[12]|SQLITE_(CORRUPT|NOTADB)(_[A-Z_]+)?"),
    "full": re.compile(r"53100|SQLITE_FULL|SQLITE_IOERR_SHMSIZE"),
    "read-only": re.compile(r"25006|SQLITE_READONLY(_[A-Z_]+)?"),
    "disk error": re.compile(r"58030|SQLITE_IOERR(_[A-Z_]+)?"),
    "no access": re.compile(r"58P01|42501|28(000|P01)|SQLITE_(CANTOPEN|PERM|AUTH)(_[A-Z_]+)?"),
    "busy": re.compile(r"55P03|57014|SQLITE_(BUSY|LOCKED)(_[A-Z_]+)?"),
}
"""By SQLSTATE of PostgreSQL or error name of SQLite; the first match counts."""

DAMAGED = (
    "it is damaged. Stop the server, run quietcrowd admin doctor, and restore a copy with "
    "quietcrowd admin restore."
)

_SENTENCES: dict[Cause, str] = {
    "damaged": DAMAGED,
    "full": "its disk is full. Free disk space.",
    "read-only": "it is read-only. Make it writable.",
    "disk error": "its disk reports an error. Check the disk, and whether it is full.",
    "no access": "it cannot be opened. Check that it exists, and that you may read and write it.",
    "busy": "another process is using it. Try again.",
}


def database_code(error: BaseException) -> str | None:
    """Return the SQLSTATE of PostgreSQL or the error name of SQLite; None for other errors."""
    cause = getattr(error, "orig", None) or error
    for name in ("sqlstate", "sqlite_errorname"):
        code = getattr(cause, name, None)
        if isinstance(code, str) and _CODE.fullmatch(code):
            return code
    return None


def cause_of_code(code: str | None) -> Cause | None:
    """Return the cause of an error code; None if it is unknown."""
    return next((one for one, codes in _CAUSES.items() if codes.fullmatch(code or "")), None)


def cause_of(error: BaseException) -> Cause | None:
    """Return the cause of an error; None if it is unknown."""
    return cause_of_code(database_code(error))


def explain_code(code: str | None) -> str | None:
    """Describe the cause and the remedy of an error code; None if it is unknown."""
    cause = cause_of_code(code)
    return None if cause is None else _SENTENCES[cause]


def explain(error: BaseException) -> str:
    """Describe the cause and the remedy of a database error."""
    known = explain_code(database_code(error))
    if known is not None:
        return known
    reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
    return f"{reason}. Check that it exists, and that you may write to it."


def cannot_write(error: BaseException) -> bool:
    """Return whether an error means that no write can succeed."""
    return cause_of(error) in ("damaged", "full", "read-only", "disk error") or (
        database_code(error) or ""
    ).startswith(("SQLITE_CANTOPEN", "58P01"))

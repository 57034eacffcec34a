"""The log: one JSON object per line with a fixed set of fields, and no content of requests."""

import json
import logging
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TextIO

from typing_extensions import override

from quietcrowd.campaign.store.failures import database_code

FIELDS = (
    *("event", "method", "route", "status", "duration", "error", "code", "place", "request"),
    "time",
)
"""All fields that are ever logged: no path, query, address, header or value.

Only failures that no worker caused have a time, to the minute, and a request id. Times of workers'
requests would record who came when.
"""

_LOGGER = logging.getLogger("quietcrowd.campaign")
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

_BUCKETS = (0.01, 0.1, 1.0, 10.0)
"""Upper bounds, in seconds, to which the duration of a request is rounded."""


_SELDOM = 1.0  # seconds in which the same line of a library is logged once


class _AllowList(logging.Formatter):
    @override
    def format(self, record: logging.LogRecord) -> str:
        fields = {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        return json.dumps(fields)


class _KindAlone(logging.Formatter):
    """Formatter of records of libraries: only the type of error and the name of the logger."""

    @override
    def format(self, record: logging.LogRecord) -> str:
        kind = record.exc_info[0] if record.exc_info else None
        error = "none" if kind is None else kind.__name__
        return json.dumps({"event": "library", "error": error, "place": record.name})


class _Seldom(logging.Filter):
    """Filter for repeated lines of a library, so that a flood of requests cannot fill the disk."""

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[tuple[str, type[BaseException] | None], float] = {}

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        line = record.name, record.exc_info[0] if record.exc_info else None
        now = time.monotonic()
        if now - self._last.get(line, -_SELDOM) < _SELDOM:
            return False
        self._last[line] = now
        return True


def start_log(stream: TextIO | None = None) -> None:
    """Write the log to a stream, default standard error; of libraries, only types of errors."""
    handler, others = (logging.StreamHandler(stream or sys.stderr) for _ in range(2))
    handler.setFormatter(_AllowList())
    others.setFormatter(_KindAlone())
    others.setLevel(logging.ERROR)
    others.addFilter(_Seldom())
    logging.getLogger().handlers = [others]
    _LOGGER.handlers = [handler]
    _LOGGER.propagate = False
    _LOGGER.setLevel(logging.INFO)


def known_method(method: str) -> str:
    """Return an HTTP method, or ``other`` if it is unknown."""
    return method if method in _METHODS else "other"


def log_request(method: str, route: str, status: int, seconds: float) -> None:
    """Log a request: its method and the template of its route, without parameters."""
    known = known_method(method)
    bucket = next((f"<{limit:g}s" for limit in _BUCKETS if seconds < limit), "slow")
    fields = {"method": known, "route": route, "status": status, "duration": bucket}
    _LOGGER.info("request", extra={"event": "request", **fields})


def log_failure(
    event: str, error: BaseException, *, timed: bool = False, request: str | None = None
) -> None:
    """Log the type of an error, its database code and the lines that raised it, not its message.

    The time and the id of a request are only for failures that no worker caused.
    """
    frames = traceback.extract_tb(error.__traceback__)
    place = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames[-4:]))
    kind = type(error).__name__
    fields = {"error": kind, "code": database_code(error), "place": place, "request": request}
    _log_failed(event, fields, timed=timed)


def log_unready(place: str, code: str) -> None:
    """Log that the database or the journal of withdrawals is not writable, and the error's code."""
    _log_failed("unready", {"code": code, "place": place}, timed=True)


def _log_failed(event: str, fields: Mapping[str, str | None], *, timed: bool) -> None:
    entry = {name: value for name, value in fields.items() if value is not None}
    if timed:
        entry["time"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ")
    _LOGGER.error("failure", extra={"event": event, **entry})


def log_what_nobody_catches() -> None:
    """Log uncaught errors from now on; Python would print messages and source lines."""
    sys.excepthook = lambda _, error, __: log_failure("process", error, timed=True)
    sys.unraisablehook = lambda args: log_failure("process", args.exc_value or RuntimeError())
    threading.excepthook = _log_thread


def _log_thread(args: threading.ExceptHookArgs) -> None:
    if not issubclass(args.exc_type, SystemExit):
        log_failure("thread", args.exc_value or RuntimeError())

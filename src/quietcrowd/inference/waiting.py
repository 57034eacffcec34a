"""A line about a fit that takes long, while it does: on a terminal, or in a notebook."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any, Self

__all__ = ["Waiting"]

PATIENCE = 2.0
"""Seconds: nothing is said of what takes less."""

PACE = 0.5
"""Seconds between two lines, of which the second takes the place of the first."""


class Waiting:
    """Says how far a fit is, from two seconds on; goes away without a trace.

    Nothing is said where standard error is neither a terminal nor a notebook's, or in a thread
    besides the main one.

    Parameters
    ----------
    name : str
        Of the method.

    Examples
    --------
    >>> with Waiting("GLAD") as waiting:
    ...     waiting.keep(None)  # after every iteration
    """

    def __init__(self, name: str) -> None:
        self.name, self.iterations, self.longest = name, 0, 0
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def keep(self, progress: Any) -> None:  # noqa: ARG002
        """Count an iteration; as `keep` of `iterate`."""
        self.iterations += 1

    def __enter__(self) -> Self:
        if _is_seen() and threading.current_thread() is threading.main_thread():
            self._thread = threading.Thread(target=self._tell, daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        if self.longest:
            sys.stderr.write(f"\r{' ' * self.longest}\r")
            sys.stderr.flush()

    def _tell(self) -> None:
        start = time.monotonic()
        pause = PATIENCE
        while not self._ended.wait(pause):
            pause = PACE
            line = f"{self.name}: {self._what()}, {time.monotonic() - start:.0f} s"
            self.longest = max(self.longest, len(line))
            sys.stderr.write(f"\r{line.ljust(self.longest)}")
            sys.stderr.flush()

    def _what(self) -> str:
        if not self.iterations:
            return "first iteration (the first time, its kernels are compiled)"
        return f"{self.iterations:,} iteration{'s' * (self.iterations > 1)}"


def _is_seen() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules

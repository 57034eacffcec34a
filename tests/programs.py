"""Processes that tests start; none outlives its test."""

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from attrs import define, field
from tests.campaign.waiting import in_time

QUIETCROWD = (sys.executable, "-m", "quietcrowd")


class Ended(NamedTuple):
    """How a program ended, and all that it printed."""

    status: int
    output: str
    errors: str


@define
class Program:
    """A process that leads a group: the processes that it starts belong to the group, too."""

    process: subprocess.Popen[bytes]
    _folder: Path
    _seen: Counter[str] = field(factory=Counter)

    def until(self, words: str, *, errors: bool = False) -> list[str]:
        """Return the new lines up to the first that contains `words`, once it is printed."""
        stream = "errors" if errors else "output"
        found: list[str] = []

        def is_over() -> bool:
            has_ended = self.has_ended
            for line in self._read(stream).splitlines(keepends=True)[self._seen[stream] :]:
                found.append(line.rstrip("\n"))
                if words in line and line.endswith("\n"):
                    return True
            found.clear()
            return has_ended

        in_time(is_over)
        printed = [self._read(name) for name in ("output", "errors")]
        assert found, f"{words!r} was not printed, but {printed}"
        self._seen[stream] += len(found)
        return found

    def tell(self, line: str) -> None:
        """Write a line to its standard input, which must be a pipe."""
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def interrupt(self) -> None:
        """Press Ctrl-C: a terminal sends SIGINT to the whole group."""
        os.killpg(self.process.pid, signal.SIGINT)

    @property
    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def finished(self, *, check: bool = False) -> Ended:
        """Return how it ended, once it has; with `check` the status must be 0."""
        assert in_time(lambda: self.has_ended), f"it does not end: {self._read('errors')}"
        ended = Ended(self.process.returncode, self._read("output"), self._read("errors"))
        assert not check or ended.status == 0, ended.errors
        return ended

    def kill(self) -> None:
        """Kill the whole group, and on Linux the whole session: a server's helpers lead groups."""
        if sys.platform == "win32":
            self.process.kill()
        else:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            for helper in _session(self.process.pid):
                with suppress(ProcessLookupError):
                    os.kill(helper, signal.SIGKILL)
        self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()

    def _read(self, stream: str) -> str:
        return (self._folder / stream).read_text("utf-8")


@contextmanager
def running(*words: object, **options: Any) -> Iterator[Program]:
    """Start a program, and kill its whole group in the end.

    Its output and errors go to files, so that it never waits for a reader; `options`, those of
    `subprocess.Popen`, may send them elsewhere.
    """
    with TemporaryDirectory() as name:
        folder = Path(name)
        with (
            (folder / "output").open("ab") as output,
            (folder / "errors").open("ab") as errors,
            _default_signals(),
        ):
            streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": errors}
            process = subprocess.Popen(
                [*map(str, words)], start_new_session=True, **(streams | options)
            )
        program = Program(process, folder)
        try:
            yield program
        finally:
            program.kill()


def finished(*words: object, check: bool = False, **options: Any) -> Ended:
    """Run a program to its end."""
    with running(*words, **options) as program:
        return program.finished(check=check)


def _session(leader: int) -> list[int]:
    """Return the processes of a session, if the system lists them in /proc."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(ProcessLookupError):
            if os.getsid(int(entry.name)) == leader:
                found.append(int(entry.name))
    return found


@contextmanager
def _default_signals() -> Iterator[None]:
    """Start programs with the default handling of signals.

    ``nohup``, and ``&`` in a script, leave signals ignored, which programs inherit. A signal with a
    handler is reset to its default when another program is executed.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_IGN:
                before[number] = signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

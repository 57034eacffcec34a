"""A process beside the server that answers each line with a line."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress

__all__ = ["ask", "end", "start"]


def start(command: Sequence[str]) -> subprocess.Popen[str]:
    """Start a process; Ctrl-C is for the server, which ends it in turn.

    Raises
    ------
    OSError
        Where no process can be started.
    """
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        process_group=0,
        text=True,
    )


def ask(process: subprocess.Popen[str], line: str) -> str:
    """Return what a process answers to a line; nothing where it is gone.

    Raises
    ------
    OSError
        Where it takes nothing in any more.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return process.stdout.readline()


def end(process: subprocess.Popen[str]) -> None:
    """End a process, whatever it is doing, close its pipes, and wait for its end."""
    process.kill()
    with suppress(OSError), process:  # closes its pipes, and waits
        pass

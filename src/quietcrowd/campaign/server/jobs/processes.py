"""Child processes that answer each line with a line."""

import subprocess
from collections.abc import Sequence
from contextlib import suppress


def start(command: Sequence[str]) -> subprocess.Popen[str]:
    """Start a process in a separate group, since Ctrl+C is for the server; may raise OSError."""
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        process_group=0,
        text=True,
    )


def ask(process: subprocess.Popen[str], line: str) -> str:
    """Return the answer to a line, empty if the process has ended; may raise OSError."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()
    return process.stdout.readline()


def end(process: subprocess.Popen[str]) -> None:
    """Kill a process, close its pipes, and wait for its end."""
    process.kill()
    with suppress(OSError), process:  # closes its pipes, and waits
        pass

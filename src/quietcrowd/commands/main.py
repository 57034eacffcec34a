"""The program ``quietcrowd``: how it ends, from its first moment on.

Nothing is loaded here that takes long, so that Ctrl-C is one line while Python still imports.
"""

import signal
import sys

__all__ = ["main"]

INTERRUPTED = 130


def main() -> None:
    """Run the command line: one line and exit status 2 for bad input, no traceback."""
    before = {number: signal.signal(number, _stop) for number in _ending()}
    try:
        sys.exit(_run(sys.argv[1:] or ["--help"]))
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(words: list[str]) -> int:
    try:
        from quietcrowd.commands.app import run

        status = run(words)
    except KeyboardInterrupt:
        status = INTERRUPTED
    if status == INTERRUPTED:
        # Python marks an interrupt inside exec of a text, as where attrs makes a class, and
        # "python -m" then ends by the signal, whatever the status. Another exec takes the mark off.
        exec("")
        print("quietcrowd: stopped", file=sys.stderr)
    return status


def _ending() -> list[signal.Signals]:
    """Return the signals that end a program; not a closed terminal's, where nohup ignores it."""
    ending = [signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        ending.append(signal.SIGHUP)
    return ending


def _stop(*_: object) -> None:
    """End as Ctrl-C does, so that temporary files go away."""
    raise KeyboardInterrupt

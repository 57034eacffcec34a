"""Entry point of the program ``quietcrowd``, with its signals and exit status.

It imports nothing slow, so that Ctrl-C prints one line even during imports.
"""

import signal
import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line; bad input prints one line, no traceback, and exits with status 2."""
    before = {number: signal.signal(number, _stop) for number in _ending()}
    try:
        sys.exit(_run(sys.argv[1:]))
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
        # If an interrupt hits exec of a text, as when attrs builds a class, Python sets a flag,
        # and "python -m" then ends by the signal, whatever the status. Another exec clears it.
        exec("")
        print("quietcrowd: stopped", file=sys.stderr)
    return status


def _ending() -> list[signal.Signals]:
    """Return the signals that end a program, without SIGHUP if nohup ignores it."""
    ending = [signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        ending.append(signal.SIGHUP)
    return ending


def _stop(*_: object) -> None:
    raise KeyboardInterrupt

"""The command line: ``quietcrowd randomize | infer | evaluate | ...``."""

from __future__ import annotations

import errno
import os
import signal
import sys
import warnings
from typing import Annotated, Any

import typer

import quietcrowd
from quietcrowd.campaign.extra import require_client, require_server
from quietcrowd.commands import options
from quietcrowd.commands.answer import answer
from quietcrowd.commands.audit import audit
from quietcrowd.commands.budget import budget
from quietcrowd.commands.campaign import campaign
from quietcrowd.commands.convert import convert
from quietcrowd.commands.experiments import evaluate, reproduce
from quietcrowd.commands.infer import infer
from quietcrowd.commands.notes import tell
from quietcrowd.commands.randomize import randomize
from quietcrowd.commands.scale import partition
from quietcrowd.commands.serve import serve
from quietcrowd.commands.synthesize import synthesize
from quietcrowd.exceptions import (
    QuietcrowdError,
    QuietcrowdWarning,
)

__all__ = ["app", "main"]

INTERRUPTED = 130
DEBUG = "QUIETCROWD_DEBUG"

app = typer.Typer(
    name="quietcrowd",
    help="Find what is true from a crowd's answers without anyone having to see them.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"quietcrowd {quietcrowd.__version__}")
        raise typer.Exit


@app.callback()
def _options_of_all(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Find what is true from a crowd's answers without anyone having to see them."""


app.command()(randomize)
app.command(epilog=options.METHOD_LIST)(infer)
app.command(epilog=options.METHOD_LIST)(evaluate)
app.command()(reproduce)
app.command()(partition)
app.command()(audit)
app.command()(synthesize)
app.command()(budget)
app.command()(answer)
app.command()(convert)
app.command()(serve)
app.add_typer(campaign)


@app.command()
def demo(
    epsilon: options.Epsilon = 1.0,
    seed: Annotated[
        int, typer.Option(min=0, metavar="NUMBER", help="Of the crowd, not of the noise.")
    ] = 7,
    stay: Annotated[
        bool, typer.Option("--stay", help="Serve until Ctrl-C: to look at the dashboard.")
    ] = False,
) -> None:
    """Play a campaign on this machine, with a simulated crowd.

    Example: quietcrowd demo --epsilon 0.5
    """
    require_server()
    require_client()
    from quietcrowd.commands.demo import play

    play(epsilon=epsilon, seed=seed, stay=stay)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    tell(f"note: {message}")


def main() -> None:
    """Run the command line: one line and exit status 2 for bad input, no traceback."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", QuietcrowdWarning)
        warnings.showwarning = _show_warning
        before = {number: signal.signal(number, _stop) for number in _ending()}
        try:
            sys.exit(_run(sys.argv[1:] or ["--help"]))
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _ending() -> list[signal.Signals]:
    """Return the signals that end a program; not a closed terminal's, where nohup ignores it."""
    ending = [signal.SIGTERM]
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        ending.append(signal.SIGHUP)
    return ending


def _stop(*_: object) -> None:
    """End as Ctrl-C does, so that temporary files go away."""
    raise KeyboardInterrupt


def _told(error: Exception) -> str:
    """Return what an error says; the name of a file first, if it is the system's about one."""
    if not isinstance(error, OSError) or error.filename is None:
        return str(error)
    missing = error.strerror == os.strerror(errno.ENOENT)
    return f"{error.filename}: {'there is no such file' if missing else error.strerror}"


def _run(words: list[str]) -> int:
    try:
        status = app(words, standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (typer.Abort, KeyboardInterrupt):
        status = INTERRUPTED
    except typer.TyperException as error:
        tell(f"error: {getattr(error, 'format_message', error.__str__)()}")
        return 2
    except (QuietcrowdError, OSError) as error:
        tell(f"error: {_told(error)}")
        return 2
    except Exception as error:
        if DEBUG in os.environ:
            raise
        kind = type(error).__name__
        tell(f"error: {kind}: {error}. This is our fault; {DEBUG}=1 shows where it was.")
        return 2
    if status == INTERRUPTED:
        tell("stopped")
    return status if isinstance(status, int) else 0

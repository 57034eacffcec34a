"""Application with a table of commands, whose modules are imported on demand."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from quietcrowd.commands.printing import tell
from quietcrowd.exceptions import MissingExtraError, QuietcrowdError, QuietcrowdWarning

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

DEBUG = "QUIETCROWD_DEBUG"

COMMANDS = {
    "randomize": ("randomize", "Randomise answers, as the workers' devices do."),
    "infer": ("infer", "Infer truths and workers' quality from reports."),
    "rank": ("lab.rank", "Rank items by paired comparisons, from reports or plain."),
    "plan": ("plan", "Predict the error of a campaign before the first answer."),
    "suggest": ("lab.suggest", "Suggest which tasks to ask next."),
    "best-mechanism": (
        "plan",
        "Tell which mechanism errs least, by public facts.",
    ),
    "evaluate": (
        "lab.evaluate",
        "Measure what privacy costs where truths are known.",
    ),
    "partition": ("partition", "Make a store for infer, of data larger than memory."),
    "audit": ("lab.audit", "Test the guarantee of a mechanism."),
    "synthesize": ("lab.synthesize", "Make synthetic claims from real ones (trusted collector)."),
    "budget": ("lab.budget", "Tell what each worker has spent."),
    "poll": ("lab.poll", "Shuffle the reports of one question, and count."),
    "answer": (
        "worker.answer",
        "Answer a campaign's questions. They stay here: what is sent is randomised.",
    ),
    "verify-server": (
        "worker.verify",
        "Compare a server's page for workers with this release.",
    ),
    "describe": ("describe", "Tell how sparse answers are, and which labels occur."),
    "convert": ("convert", "Convert answers, reports or truths into another format."),
    "serve": ("serve", "Serve campaigns, until stopped."),
    "demo": ("demo", "Play a campaign on this machine, with a simulated crowd."),
    "campaign": ("campaign.manage", "Manage campaigns on a server, and read their results."),
}
"""Module of each command, and the first line of its help."""


GROUP = "quietcrowd.commands"
"""Entry points of other packages: the name of a command, and the Typer application with it."""

RESEARCH = {"reproduce"}
"""Commands of quietcrowd-research."""


class CommandTable(TyperGroup):
    """Group that lists commands by `COMMANDS` and imports only the one that is called.

    Help and completion list placeholders without options. Commands of other packages are looked up
    for these, and for a name that is not in `COMMANDS`.
    """

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self._points: dict[str, EntryPoint] | None = None
        for name, (_, line) in COMMANDS.items():
            self.add_command(TyperCommand(name, help=line))

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, those of other packages last."""
        self._installed()
        return super().list_commands(ctx)

    def resolve_command(
        self, ctx: Any, args: list[str]
    ) -> tuple[str | None, TyperCommand | TyperGroup | None, list[str]]:
        """Return the name of a command, the command itself, and its arguments."""
        if args[0] not in COMMANDS and args[0] not in self._installed() and args[0] in RESEARCH:
            raise MissingExtraError("commands.command-of-research", command=args[0])
        name, listed, rest = super().resolve_command(ctx, args)
        if listed is None or name in COMMANDS:
            return name, None if listed is None else load(str(name)), rest
        return name, _load_installed(self._installed()[str(name)]), rest

    def _installed(self) -> dict[str, EntryPoint]:
        """Look up the commands of other packages once, and list each by its package's summary."""
        if self._points is None:
            from importlib.metadata import entry_points

            found = {point.name: point for point in entry_points(group=GROUP)}
            self._points = {name: found[name] for name in found.keys() - COMMANDS.keys()}
            for name, point in sorted(self._points.items()):
                summary = point.dist.metadata["Summary"] if point.dist else None
                self.add_command(TyperCommand(name, help=summary))
        return self._points


def load(name: str) -> TyperCommand | TyperGroup:
    """Import a command by its name."""
    return _command_of(import_module(f"quietcrowd.commands.{COMMANDS[name][0]}").app, name)


def _load_installed(point: EntryPoint) -> TyperCommand | TyperGroup:
    try:
        return _command_of(point.load(), point.name)
    except Exception as error:
        package = point.dist.name if point.dist else point.value
        raise QuietcrowdError(
            "commands.command-not-loaded",
            name=point.name,
            package=package,
            type_name=type(error).__name__,
            error=error,
        ) from error


def _command_of(application: Any, name: str) -> TyperCommand | TyperGroup:
    command: Any = get_group(application).commands[name]
    return command  # type: ignore[no-any-return]


app = typer.Typer(
    name="quietcrowd",
    cls=CommandTable,
    help="Find what is true from a crowd's answers without anyone having to see them.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from quietcrowd import __version__

        typer.echo(f"quietcrowd {__version__}")
        raise typer.Exit


@app.callback()
def _options_of_all(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Find what is true from a crowd's answers without anyone having to see them."""


def run(words: list[str]) -> int:
    """Run a command and return its exit status; warnings and errors take one line each.

    Raises KeyboardInterrupt if the user stops it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("default", QuietcrowdWarning)
        warnings.showwarning = _show_warning
        try:
            status = app(words, standalone_mode=False)
            sys.stdout.flush()
        except typer.Abort:
            raise KeyboardInterrupt from None
        except BrokenPipeError:  # for example, head has read enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except Exception as error:
            if DEBUG in os.environ and not isinstance(error, _EXPECTED):
                raise
            tell(f"error: {_shown(_format_error(error))}")
            return 2
    return status if isinstance(status, int) else 0


_EXPECTED = (typer.TyperException, QuietcrowdError, OSError)
"""Errors that are no bugs."""


def _shown(text: str) -> str:
    """Replace the names of temporary files for standard input in a message."""
    streams = sys.modules.get("quietcrowd.commands.streams")
    return text if streams is None else str(streams.shown(text))


def _format_error(error: Exception) -> str:
    if isinstance(error, typer.TyperException):
        told = str(getattr(error, "format_message", error.__str__)())
        refused: Any = getattr(error.__cause__, "errors", list)()  # from pydantic
        return f"{told}; got {refused[0]['input']!r}" if refused else told
    if isinstance(error, OSError) and error.filename is not None:
        missing = error.strerror == os.strerror(errno.ENOENT)
        return f"{error.filename}: {'there is no such file' if missing else error.strerror}"
    if isinstance(error, _EXPECTED):
        return str(error)
    failures = sys.modules.get("quietcrowd.campaign.store.failures")  # loaded with the database
    if failures is not None and failures.cause_of(error) is not None:
        return f"the database cannot be used: {failures.explain(error)}"
    kind = type(error).__name__
    return f"{kind}: {error}. This is our fault; {DEBUG}=1 shows where it was."


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    tell(f"note: {_shown(str(message))}")

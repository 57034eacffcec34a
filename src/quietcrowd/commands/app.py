"""Application with a table of commands, whose modules are imported when they are called."""

from __future__ import annotations

import errno
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from typer.core import TyperCommand, TyperGroup

from quietcrowd.commands.printing import print_message
from quietcrowd.exceptions import (
    AnswerError,
    FormatError,
    MissingExtraError,
    QuietcrowdError,
    QuietcrowdWarning,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

DEBUG = "QUIETCROWD_DEBUG"

Table: TypeAlias = Mapping[str, tuple[str, "str | Table"]]
"""Commands by name: the first line of the help, and a module and its class, or a group's table."""

COMMANDS: Table = {
    "demo": ("Run a campaign with a simulated crowd on this machine.", "demo:Demo"),
    "look": ("Name what a file contains, and the command for the next step.", "look:Look"),
    "infer": ("Infer truths and workers' quality from reports.", "infer:Infer"),
    "survey": ("Estimate how many people give each answer, from reports.", "survey:Survey"),
    "randomize": ("Randomize answers, as the workers' devices do.", "randomize:Randomize"),
    "plan": ("Predict the result of a campaign before the first answer.", "plan:Plan"),
    "campaign": (
        "Manage campaigns on a server.",
        {
            "create": ("Create a draft with tasks and print its id.", "campaign.create:Create"),
            "list": ("List your campaigns.", "campaign.manage:ListCampaigns"),
            "open": ("Open a campaign for workers.", "campaign.manage:Open"),
            "close": ("Close a campaign, now or after a day.", "campaign.manage:Close"),
            "delete": ("Delete a campaign permanently.", "campaign.manage:Delete"),
            "dashboard": ("Print a link to the dashboard.", "campaign.manage:Dashboard"),
            "results": ("Print the results of a campaign so far.", "campaign.results:Results"),
            "export": ("Export truths, reports or all results.", "campaign.export:Export"),
            "workers": (
                "Exclude, include or erase workers.",
                {
                    "exclude": ("Exclude workers from results.", "campaign.workers:Exclude"),
                    "include": ("Include excluded workers again.", "campaign.workers:Include"),
                    "erase": ("Delete a worker permanently.", "campaign.workers:Erase"),
                },
            ),
            "invites": (
                "Create, replace and revoke invites.",
                {
                    "create": (
                        "Create links, each for one worker.",
                        "campaign.invites:CreateInvites",
                    ),
                    "replace": (
                        "Replace the link of a worker.",
                        "campaign.invites:ReplaceInvite",
                    ),
                    "revoke": ("Revoke invites.", "campaign.invites:RevokeInvites"),
                },
            ),
        },
    ),
    "serve": ("Serve campaigns until stopped.", "serve:Serve"),
    "convert": ("Convert answers, reports or truths into another format.", "convert:Convert"),
    "worker": (
        "Answer campaigns, and verify servers.",
        {
            "answer": ("Answer a campaign with randomized reports.", "worker.answer:Answer"),
            "verify": (
                "Compare a server's page for workers with this release.",
                "worker.verify:Verify",
            ),
        },
    ),
    "admin": (
        "Manage keys and the database of a server.",
        {
            "create-key": ("Create a key for a requester.", "admin.keys:CreateKey"),
            "list-keys": ("List your keys.", "admin.keys:ListKeys"),
            "revoke-key": ("Revoke one of your keys.", "admin.keys:RevokeKey"),
            "backup": ("Copy a database while its server runs.", "admin.database:Backup"),
            "restore": ("Restore a copy of a database.", "admin.database:Restore"),
            "migrate": ("Migrate a database to this version.", "admin.database:Migrate"),
            "clock": ("Compare the clock with the server's last day.", "admin.database:Clock"),
            "doctor": ("Check a database, its journal and its copies.", "admin.database:Doctor"),
        },
    ),
    "lab": (
        "Run experiments, audits and polls.",
        {
            "audit": ("Test the guarantee of a mechanism.", "lab.audit:Audit"),
            "evaluate": (
                "Measure the cost of privacy if truths are known.",
                "lab.evaluate:Evaluate",
            ),
            "rank": ("Rank items by paired comparisons.", "lab.rank:Rank"),
            "poll": ("Shuffle and count the reports of one question.", "lab.poll:Poll"),
            "suggest": (
                "Suggest which tasks to ask next, or which to check.",
                "lab.suggest:Suggest",
            ),
            "synthesize": (
                "Create synthetic claims, as a trusted collector.",
                "lab.synthesize:Synthesize",
            ),
            "budget": ("Print the privacy loss of each worker.", "lab.budget:Budget"),
        },
    ),
}

ENTRY_POINTS = "quietcrowd.commands"
"""Group of entry points of other packages: the name of a command, and its class."""

RESEARCH = {"reproduce"}
"""Commands of quietcrowd-research."""


class _Listed(TyperCommand):
    def __init__(self, name: str, line: str | None, load: Callable[[], TyperCommand]) -> None:
        super().__init__(name, help=line)
        self.load = load


class CommandGroup(TyperGroup):
    """Group that lists the commands of a table and imports only the one that is called."""

    def __init__(self, *, table: Table = COMMANDS, **attributes: Any) -> None:
        super().__init__(**{"rich_markup_mode": None, **attributes})
        for name, (line, place) in table.items():
            self.add_command(
                _Listed(name, line, partial(load, place, name))
                if isinstance(place, str)
                else CommandGroup(name=name, help=line, table=place)
            )

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; without any, print the help."""
        return super().parse_args(ctx, args if args or ctx.resilient_parsing else ["--help"])

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the name of a command, the command itself, and its arguments."""
        name, found, rest = super().resolve_command(ctx, args)
        return name, found.load() if isinstance(found, _Listed) else found, rest


class Application(CommandGroup):
    """Group with the commands of other packages too, which are looked up for help and their names.

    They come last.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        self._add_installed()
        return super().list_commands(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the name of a command, the command itself, and its arguments."""
        if args[0] not in self.commands:
            self._add_installed()
            if args[0] in RESEARCH - self.commands.keys():
                raise MissingExtraError("commands.command-of-research", command=args[0])
        return super().resolve_command(ctx, args)

    def _add_installed(self) -> None:
        from importlib.metadata import entry_points

        for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
            if point.name not in self.commands:
                summary = point.dist.metadata["Summary"] if point.dist else None
                self.add_command(_Listed(point.name, summary, partial(_load_installed, point)))


@cache
def load(place: str, name: str) -> TyperCommand:
    """Import a command of this package."""
    module, _, declared = place.partition(":")
    return _as_command(getattr(import_module(f"quietcrowd.commands.{module}"), declared), name)


def _as_command(declared: type[Any], name: str) -> TyperCommand:
    from quietcrowd.commands.declare import as_command  # with attrs

    return as_command(declared, name)


def _load_installed(point: EntryPoint) -> TyperCommand:
    try:
        return _as_command(point.load(), point.name)
    except Exception as error:
        package = point.dist.name if point.dist else point.value
        raise QuietcrowdError(
            "commands.command-not-loaded",
            name=point.name,
            package=package,
            type_name=type(error).__name__,
            error=error,
        ) from error


app = typer.Typer(
    name="quietcrowd",
    cls=Application,
    help="Infer the truth from a crowd's answers without anyone having to see them.",
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
    """Infer the truth from a crowd's answers without anyone having to see them."""


def run(words: list[str]) -> int:
    """Run a command and return its exit status; warnings and errors take one line each."""
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
            print_message(f"error: {_shown(_format_error(error))}{_pointer(words, error)}")
            return 2
    return status if isinstance(status, int) else 0


_EXPECTED = (typer.TyperException, QuietcrowdError, OSError)
"""Errors that are not bugs."""


_UNCLEAR = {
    "formats": (
        *("suffix-unknown", "not-readable", "column-ambiguous", "column-missing"),
        *(
            "field-ambiguous",
            "field-unknown",
            "header-missing",
            "title-above",
            "lists-in-cells",
            "decimal-comma",
        ),
        *("annotators-missing", "mechanism-missing", "not-a-list", "key-in-no-row"),
    ),
    "answers": ("column-missing", "cell-structured"),
    "commands": ("column-missing", "mixed-answers"),
    "inference": ("whole-floats",),
    "several-labels": ("text-without-separator",),
    "wide": ("ids-ambiguous", "ids-needed", "ids-or-not", "no-answers"),
}
"""Codes of errors about files with an unknown format or with several meanings."""


def _pointer(words: list[str], error: Exception) -> str:
    """Return a sentence about ``quietcrowd look`` for errors of these commands."""
    if words[:1] not in (["infer"], ["convert"]) or not isinstance(
        error, AnswerError | FormatError
    ):
        return ""
    path, inside = error.fields.get("path", error.fields.get("source")), error
    while isinstance(cause := inside.fields.get("error"), AnswerError | FormatError):
        inside = cause
    group, _, kind = inside.code.partition(".")
    if path is None or kind not in _UNCLEAR.get(group, ()) or _shown(str(path)) != path:
        return ""
    end = "" if str(error).endswith((".", "?", "!")) else "."
    return f"{end} quietcrowd look {shlex.quote(str(path))} names the columns and the next command."


def _shown(text: str) -> str:
    files = sys.modules.get("quietcrowd.commands.files")
    return text if files is None else str(files.shown(text))


def _format_error(error: Exception) -> str:
    if isinstance(error, typer.TyperException):
        message = str(getattr(error, "format_message", error.__str__)())
        refused: Any = getattr(error.__cause__, "errors", list)()  # from pydantic
        return f"{message}; got {refused[0]['input']!r}" if refused else message
    if isinstance(error, OSError) and error.filename is not None:
        missing = error.strerror == os.strerror(errno.ENOENT)
        return f"{error.filename}: {'there is no such file' if missing else error.strerror}"
    if isinstance(error, _EXPECTED):
        return str(error)
    failures = sys.modules.get("quietcrowd.campaign.store.failures")  # loaded with the database
    if failures is not None and failures.cause_of(error) is not None:
        return f"the database cannot be used: {failures.explain(error)}"
    kind = type(error).__name__
    return f"{kind}: {error}. This is a bug. Set {DEBUG}=1 for a traceback."


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    print_message(f"note: {_shown(str(message))}")

"""``quietcrowd campaign doctor``, for the operator of the database."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from quietcrowd.campaign.extra import require_server
from quietcrowd.commands import options
from quietcrowd.commands.copies import LOCAL, DatabaseUrl
from quietcrowd.commands.printing import counted
from quietcrowd.exceptions import ParameterError

__all__ = ["doctor"]


def doctor(
    copies: Annotated[
        Path | None,
        typer.Argument(metavar="[COPIES]", help="The folder of campaign backup.", exists=True),
    ] = None,
    database: DatabaseUrl = LOCAL,
    departures: options.Departures = None,
) -> None:
    """Check a database, its journal and its copies.

    It prints the cause of each problem; the exit status is 2 then. The server may run. All of an
    SQLite file is read.

    Example: quietcrowd campaign doctor /var/backups/crowd
    """
    require_server()
    from quietcrowd.campaign.server.settings import Settings
    from quietcrowd.campaign.store.checking import examine

    if copies is not None and not copies.is_dir():
        raise ParameterError(f"{copies} is no folder of copies")
    settings = Settings(database=database, departures=departures)
    problems = 0
    for found in examine(settings, copies, time.time()):
        typer.echo(f"{'ok     ' if found.good else 'PROBLEM'} {found.part}: {found.says}")
        problems += not found.good
    if problems:
        raise ParameterError(f"{counted(problems, 'problem')} found")

"""``quietcrowd serve``, ``campaign key`` and ``campaign backup``: for whoever owns the database.

They need no requester's key.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quietcrowd.campaign.extra import require_server
from quietcrowd.commands.printing import note
from quietcrowd.exceptions import ParameterError

__all__ = ["app", "backup", "key", "serve"]

app = typer.Typer(rich_markup_mode=None)

DatabaseUrl = Annotated[
    str,
    typer.Option(
        metavar="URL",
        envvar="QUIETCROWD_DATABASE",
        help="sqlite:///FILE or postgresql://USER@HOST/NAME; created or brought up to date.",
    ),
]


@app.command()
def serve(
    settings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            envvar="QUIETCROWD_SETTINGS",
            help="Of settings, in TOML. Options count before variables, and those before the file.",
        ),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="sqlite:///FILE or postgresql://USER@HOST/NAME; created or brought up to date. "
            "Default: sqlite:///quietcrowd.db",
        ),
    ] = None,
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Where to listen. Default: 127.0.0.1")
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="0: a free one. Default: 8000")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where workers reach the server: it stands in the page that they save. Default: "
            "the name under which it is asked.",
        ),
    ] = None,
    infer: Annotated[
        bool | None,
        typer.Option(
            "--infer/--no-infer",
            help="Infer truths from what comes in, in a process of its own. Default: --infer",
        ),
    ] = None,
    longest_inference: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="When to end an inference; the results say so then. Default: 600",
        ),
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="Serve /metrics there, to this machine alone; 0: a free one. Default: no metrics",
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any other setting of docs/operating.md, as often as you like.",
        ),
    ] = None,
) -> None:
    """Serve campaigns, until stopped.

    Put a server that speaks HTTPS before it: workers' devices ask for that.

    Example: quietcrowd serve --database sqlite:///quietcrowd.db --port 8000

    Example: quietcrowd serve --address https://example.org/crowd

    Example: quietcrowd serve --settings crowd.toml --metrics-port 9464

    Example: quietcrowd serve --longest-inference 1800 --set burst=200
    """
    require_server()
    from quietcrowd.campaign.server.app import serve as run
    from quietcrowd.campaign.server.setting_sources import read_settings

    options = {
        "database": database,
        "host": host,
        "port": port,
        "address": address,
        "infer": infer,
        "longest_inference": longest_inference,
        "metrics_port": metrics_port,
    }
    run(read_settings(settings, options, assignments or ()), note)


def key(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the requester.")],
    database: DatabaseUrl = "sqlite:///quietcrowd.db",
    replace: Annotated[
        bool, typer.Option("--replace", help="End all earlier keys of the requester.")
    ] = False,
) -> None:
    """Make a key for a requester.

    The requester is added where there is none of that name. The key is printed once: what is
    stored is a hash.

    Example: quietcrowd campaign key "bird group"
    """
    require_server()
    from quietcrowd.campaign.store.database import Database
    from quietcrowd.campaign.store.opening import migrate_beside_server
    from quietcrowd.campaign.store.requesters import issue_key

    opened = Database.open(database)
    migrate_beside_server(opened)
    typer.echo(issue_key(opened, name, replace=replace))
    opened.close()


def backup(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")],
    database: Annotated[
        str,
        typer.Option(
            metavar="URL", envvar="QUIETCROWD_DATABASE", help="Of the server: sqlite:///FILE."
        ),
    ] = "sqlite:///quietcrowd.db",
) -> None:
    """Copy an SQLite database to a file, while the server runs.

    What is deleted later stays in the copy: delete old copies too.

    Example: quietcrowd campaign backup copy.db
    """
    require_server()
    from quietcrowd.campaign.store.database import Database

    opened = Database.open(database)
    if opened.path is not None and not opened.path.exists():
        raise ParameterError(f"there is no database {opened.path}")
    opened.backup(target)
    opened.close()
    note(f"Copied to {target}.")

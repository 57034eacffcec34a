"""``quietcrowd serve``, ``campaign key`` and ``campaign backup``: for whoever owns the database.

They need no requester's key.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from quietcrowd.campaign.extra import require_server
from quietcrowd.commands.printing import note
from quietcrowd.exceptions import ParameterError

__all__ = ["app", "backup", "key", "serve"]

app = typer.Typer(rich_markup_mode=None)

MAX_KEY_DAYS = 3_650

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
    database: DatabaseUrl = "sqlite:///quietcrowd.db",
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, metavar="NUMBER", help="0: a free one.")
    ] = 8000,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Where workers reach the server: it stands in the page that they save. Default: "
            "the name under which it is asked.",
        ),
    ] = None,
    infer: Annotated[
        bool, typer.Option(help="Infer truths from what comes in, in a process of its own.")
    ] = True,
    longest_inference: Annotated[
        float,
        typer.Option(
            min=1, metavar="SECONDS", help="When to end an inference; the results say so then."
        ),
    ] = 600.0,
) -> None:
    """Serve campaigns, until stopped.

    Put a server that speaks HTTPS before it: workers' devices ask for that.

    Example: quietcrowd serve --database sqlite:///quietcrowd.db --port 8000

    Example: quietcrowd serve --address https://example.org/crowd

    Example: quietcrowd serve --longest-inference 1800
    """
    require_server()
    from quietcrowd.campaign.server.app import serve as run
    from quietcrowd.campaign.terms.settings import Settings, place_of

    settings = Settings(
        database=database,
        host=host,
        port=port,
        address=address,
        infer=infer,
        longest_inference=longest_inference,
    )
    run(
        settings,
        lambda found: note(
            f"Serving campaigns on http://{place_of(host, found)}; stop with Ctrl+C."
        ),
    )


def key(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the requester.")],
    database: DatabaseUrl = "sqlite:///quietcrowd.db",
    replace: Annotated[
        bool, typer.Option("--replace", help="End all earlier keys of the requester.")
    ] = False,
    days: Annotated[
        int | None,
        typer.Option(
            min=1, max=MAX_KEY_DAYS, metavar="NUMBER", help="Days until it ends. Default: never."
        ),
    ] = None,
) -> None:
    """Make a key for a requester.

    The requester is added where there is none of that name. The key is printed once: what is
    stored is a hash, and its last four characters.

    Example: quietcrowd campaign key "bird group" --days 365

    Example: quietcrowd campaign key "bird group" --replace
    """
    require_server()
    from quietcrowd.campaign.store.database import Database
    from quietcrowd.campaign.store.opening import migrate_beside_server
    from quietcrowd.campaign.store.requesters import issue_key

    end = None if days is None else int(time.time()) + days * 86_400
    opened = Database.open(database)
    migrate_beside_server(opened)
    typer.echo(issue_key(opened, name, replace=replace, expires_at=end))
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

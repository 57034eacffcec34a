"""``quietcrowd serve`` and ``campaign key``: for whoever owns the database.

They need no requester's key.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quietcrowd.campaign.extra import require_server
from quietcrowd.commands import options
from quietcrowd.commands.printing import note
from quietcrowd.exceptions import ParameterError

__all__ = ["app", "key", "serve"]

app = typer.Typer(rich_markup_mode=None)

DatabaseUrl = Annotated[
    str,
    typer.Option(
        metavar="URL",
        envvar="QUIETCROWD_DATABASE",
        help="sqlite:///FILE or postgresql://USER@HOST/NAME; created where there is none.",
    ),
]


@app.command()
def serve(
    database: DatabaseUrl = "sqlite:///quietcrowd.db",
    departures: options.Departures = None,
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
    inference_memory: Annotated[
        str,
        typer.Option(
            metavar="BYTES",
            help="What an inference in memory may take; larger campaigns are inferred from files.",
        ),
    ] = "1GB",
    inference_folder: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Where these files lie meanwhile. Default: where temporary files go.",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Of a Dask cluster that passes over these files, as tcp://HOST:PORT; its workers "
            "see --inference-folder under the same path. Default: this machine alone.",
        ),
    ] = None,
    joins_per_minute: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="NUMBER",
            help="New workers from one source, in campaigns that are open to all; 100 at once. 0: "
            "no limit.",
        ),
    ] = 30.0,
    proxy: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Of the server before this one, or its network as 10.0.0.0/24: who it says in "
            "X-Forwarded-For that it speaks for is a source. Default: who connects.",
        ),
    ] = None,
) -> None:
    """Serve campaigns, until stopped.

    Put a server that speaks HTTPS before it: workers' devices ask for that.

    Example: quietcrowd serve --database sqlite:///quietcrowd.db --port 8000

    Example: quietcrowd serve --address https://example.org/crowd

    Example: quietcrowd serve --database postgresql://me@db/crowd \
        --departures postgresql://me@db/crowd_departures

    Example: quietcrowd serve --longest-inference 1800

    Example: quietcrowd serve --inference-memory 2GB --scheduler tcp://10.0.0.5:8786 \
        --inference-folder /shared/quietcrowd

    Example: quietcrowd serve --proxy 127.0.0.1 --joins-per-minute 10
    """
    require_server()
    from quietcrowd.campaign.server.app import serve as run
    from quietcrowd.campaign.terms.byte_counts import byte_count
    from quietcrowd.campaign.terms.settings import Settings, place_of

    settings = Settings(
        database=database,
        departures=_place(database, departures),
        host=host,
        port=port,
        address=address,
        infer=infer,
        longest_inference=longest_inference,
        inference_memory=byte_count(inference_memory),
        inference_folder=_folder(inference_folder),
        scheduler=_scheduler(scheduler),
        joins_per_minute=joins_per_minute,
        proxy=proxy,
    )
    run(
        settings,
        lambda found: note(
            f"Serving campaigns on http://{place_of(host, found)}; stop with Ctrl+C."
        ),
    )


def _folder(folder: str | None) -> str | None:
    """Return a folder, by its whole path, if there is such a one."""
    if folder is not None and not Path(folder).is_dir():
        raise ParameterError(f"there is no folder {folder}: create it first")
    return None if folder is None else str(Path(folder).absolute())


def _scheduler(scheduler: str | None) -> str | None:
    """Return the address of a scheduler, if it is one and clusters can be reached from here."""
    if scheduler is not None:
        from quietcrowd.scale.connecting import check_scheduler

        check_scheduler(scheduler)
    return scheduler


def _place(database: str, departures: str | None) -> str | None:
    """Return where it is kept who left: a dump of PostgreSQL must not hold it."""
    if departures is None and database.startswith("postgresql"):
        raise ParameterError(
            "say with --departures where it is kept who left: another database, as sqlite:///FILE "
            "or, for servers on several machines, postgresql://USER@HOST/OTHER. With none, who "
            "left comes back with a copy of the database."
        )
    return departures


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
    from quietcrowd.campaign.store.opening import ready_beside_server
    from quietcrowd.campaign.store.requesters import issue_key

    opened = Database.open(database)
    ready_beside_server(opened)
    typer.echo(issue_key(opened, name, replace=replace))
    opened.close()

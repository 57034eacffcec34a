"""``quietcrowd serve`` and ``campaign key``: for whoever owns the database.

They need no requester's key.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quietcrowd.campaign.extra import require_server
from quietcrowd.commands import options
from quietcrowd.commands.printing import note
from quietcrowd.exceptions import ParameterError

if TYPE_CHECKING:
    from quietcrowd.campaign.server.settings import Settings

__all__ = ["app", "key", "serve"]

app = typer.Typer(rich_markup_mode=None)

MAX_KEY_DAYS = 3_650

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
    settings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            envvar="QUIETCROWD_SETTINGS",
            help="A TOML file of settings. Options override variables, and variables override "
            "the file.",
        ),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="sqlite:///FILE or postgresql://USER@HOST/NAME; created where there is none. "
            "Default: sqlite:///quietcrowd.db",
        ),
    ] = None,
    departures: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The journal of who left, outside of the database and its copies: "
            "sqlite:///FILE, postgresql://USER@HOST/OTHER or none. Default: a file beside that "
            "of SQLite",
        ),
    ] = None,
    departures_lost: options.DeparturesLost = False,
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Where to listen. Default: 127.0.0.1")
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="0: a free one. Default: 8000")
    ] = None,
    insecure: Annotated[
        bool | None,
        typer.Option(
            "--insecure",
            help="Listen on an address that is not this machine, without encryption: where a "
            "server with HTTPS on another machine is before this one, and nobody else between.",
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The address at which workers reach the server; it is written into the page "
            "that they save. Default: the host name of the request.",
        ),
    ] = None,
    infer: Annotated[
        bool | None,
        typer.Option(
            "--infer/--no-infer",
            help="Infer truths from the reports, in a separate process. Default: --infer",
        ),
    ] = None,
    longest_inference: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="The longest time of an inference; it is ended then, and the results say so. "
            "Default: 600",
        ),
    ] = None,
    inference_memory: Annotated[
        str | None,
        typer.Option(
            metavar="BYTES",
            help="The most memory of an inference; larger campaigns are inferred from files. "
            "Default: 1GB",
        ),
    ] = None,
    inference_folder: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="The folder for these files. Default: the system's folder for temporary files",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="A Dask cluster that reads these files, as tcp://HOST:PORT; its workers must "
            "see --inference-folder under the same path. Default: this machine alone",
        ),
    ] = None,
    joins_per_minute: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="New workers from one source, in campaigns that are open to all; 100 at once. 0: "
            "no limit. Default: 30",
        ),
    ] = None,
    proxy: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="The address of the proxy in front of this server, or its network as "
            "10.0.0.0/24: sources are the addresses that it states in X-Forwarded-For. "
            "Default: connecting addresses",
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

    Put a server with HTTPS in front of it: workers' devices require HTTPS.

    Example: quietcrowd serve --database sqlite:///quietcrowd.db --port 8000

    Example: quietcrowd serve --address https://example.org/crowd

    Example: quietcrowd serve --database postgresql://me@db/crowd \
        --departures postgresql://me@db/crowd_departures

    Example: quietcrowd serve --settings crowd.toml --metrics-port 9464

    Example: quietcrowd serve --longest-inference 1800 --set burst=200

    Example: quietcrowd serve --host 10.0.0.2 --insecure --proxy 10.0.0.1

    Example: quietcrowd serve --inference-memory 2GB --scheduler tcp://10.0.0.5:8786 \
        --inference-folder /shared/quietcrowd

    Example: quietcrowd serve --proxy 127.0.0.1 --joins-per-minute 10
    """
    require_server()
    from quietcrowd.campaign.server.app import serve as run
    from quietcrowd.campaign.server.setting_sources import read_settings

    given = {
        "database": database,
        "departures": departures,
        "host": host,
        "port": port,
        "insecure": insecure,
        "address": address,
        "infer": infer,
        "longest_inference": longest_inference,
        "inference_memory": inference_memory,
        "inference_folder": inference_folder,
        "scheduler": scheduler,
        "joins_per_minute": joins_per_minute,
        "proxy": proxy,
        "metrics_port": metrics_port,
    }
    found = read_settings(settings, given, assignments or ())
    _require_departures(found)
    if departures_lost:
        _accept_loss(found)
    run(found, note)


def _accept_loss(settings: Settings) -> None:
    from quietcrowd.campaign.store.opening import accept_loss

    if accept_loss(settings):
        note(
            "Who left before comes back with a copy: make a new one, and delete those from before."
        )
    else:
        note("The journal of who left is there: leave --departures-lost out.")


def _require_departures(settings: Settings) -> None:
    """Refuse a PostgreSQL without a place for who left: a dump of it must not hold that."""
    if settings.departures is None and settings.database.startswith("postgresql"):
        raise ParameterError(
            "say with --departures where it is kept who left: another database, as sqlite:///FILE "
            "or, for servers on several machines, postgresql://USER@HOST/OTHER. With none, who "
            "left comes back with a copy of the database."
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

    A requester of a new name is added. The key is printed once: what is
    stored is a hash, and its last four characters.

    Example: quietcrowd campaign key "bird group" --days 365

    Example: quietcrowd campaign key "bird group" --replace
    """
    require_server()
    from quietcrowd.campaign.store.database import Database
    from quietcrowd.campaign.store.opening import ready_beside_server
    from quietcrowd.campaign.store.requesters import issue_key

    end = None if days is None else int(time.time()) + days * 86_400
    opened = Database.open(database)
    ready_beside_server(opened)
    typer.echo(issue_key(opened, name, replace=replace, expires_at=end))
    opened.close()

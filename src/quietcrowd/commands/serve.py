"""``quietcrowd serve`` and ``campaign key``, for the operator of the database.

They need no requester's key.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from quietcrowd.campaign.extra import require_server
from quietcrowd.commands import options, serve_options
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


_SETTINGS = (
    "database",
    "departures",
    "host",
    "port",
    "insecure",
    "address",
    "infer",
    "longest_inference",
    "inference_memory",
    "inference_folder",
    "scheduler",
    "joins_per_minute",
    "proxy",
    "metrics_port",
)
"""Settings with an option of the same name, which is None if not given."""


@app.command()
def serve(
    settings: serve_options.Settings = None,
    database: serve_options.Database = None,
    departures: serve_options.Departures = None,
    departures_lost: options.DeparturesLost = False,
    new: serve_options.New = False,
    host: serve_options.Host = None,
    port: serve_options.Port = None,
    insecure: serve_options.Insecure = None,
    address: serve_options.Address = None,
    infer: serve_options.Infer = None,
    longest_inference: serve_options.LongestInference = None,
    inference_memory: serve_options.InferenceMemory = None,
    inference_folder: serve_options.InferenceFolder = None,
    scheduler: serve_options.Scheduler = None,
    joins_per_minute: serve_options.JoinsPerMinute = None,
    proxy: serve_options.Proxy = None,
    metrics_port: serve_options.MetricsPort = None,
    assignments: serve_options.Assignments = None,
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
    said = locals()
    require_server()
    from quietcrowd.campaign.server.app import serve as run
    from quietcrowd.campaign.server.settings import read_settings

    given = {name: said[name] for name in _SETTINGS}
    found = read_settings(settings, given, assignments or ())
    _require_departures(found)
    if new:
        _begin_new(found)
    if departures_lost:
        _accept_loss(found)
    run(found, note)


def _begin_new(settings: Settings) -> None:
    from quietcrowd.campaign.store.opening import begin_new

    left = begin_new(settings)
    if left is None:
        note("There is a database: leave --new out.")
    for one in left or ():
        note(f"Left behind: {one}.")


def _accept_loss(settings: Settings) -> None:
    from quietcrowd.campaign.store.opening import accept_loss

    if accept_loss(settings):
        note(
            "Who left before comes back with a copy: make a new one, and delete those from before."
        )
    else:
        note("The journal of who left is there: leave --departures-lost out.")


def _require_departures(settings: Settings) -> None:
    """Require a separate place for withdrawals with PostgreSQL: a dump must not contain them."""
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
    departures: options.Departures = None,
) -> None:
    """Make a key for a requester.

    A requester of a new name is added. The key is printed once: what is
    stored is a hash, and its last four characters.

    Example: quietcrowd campaign key "bird group" --days 365

    Example: quietcrowd campaign key "bird group" --replace
    """
    require_server()
    from quietcrowd.campaign.server.settings import Settings
    from quietcrowd.campaign.store.database import Database
    from quietcrowd.campaign.store.opening import ready_beside_server
    from quietcrowd.campaign.store.requesters import issue_key

    end = None if days is None else int(time.time()) + days * 86_400
    opened = Database.open(database)
    ready_beside_server(opened, Settings(database=database, departures=departures))
    typer.echo(issue_key(opened, name, replace=replace, expires_at=end))
    opened.close()

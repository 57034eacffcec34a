"""Options of ``quietcrowd serve``, each of which is a setting of the server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Address",
    "Assignments",
    "Database",
    "Departures",
    "Host",
    "Infer",
    "InferenceFolder",
    "InferenceMemory",
    "Insecure",
    "JoinsPerMinute",
    "LongestInference",
    "MetricsPort",
    "New",
    "Port",
    "Proxy",
    "Scheduler",
    "Settings",
]

Settings = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        envvar="QUIETCROWD_SETTINGS",
        help="A TOML file of settings. Options override variables, and variables override "
        "the file.",
    ),
]
Database = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="sqlite:///FILE or postgresql://USER@HOST/NAME; created where there is none. "
        "Default: sqlite:///quietcrowd.db",
    ),
]
Departures = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="The journal of who left, outside of the database and its copies: "
        "sqlite:///FILE, postgresql://USER@HOST/OTHER or none. Default: a file beside that "
        "of SQLite",
    ),
]
New = Annotated[
    bool,
    typer.Option(
        "--new",
        help="Give it once to begin with a new database although an earlier one is missing.",
    ),
]
Host = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="Where to listen. Default: 127.0.0.1")
]
Port = Annotated[int | None, typer.Option(metavar="NUMBER", help="0: a free one. Default: 8000")]
Insecure = Annotated[
    bool | None,
    typer.Option(
        "--insecure",
        help="Listen on an address that is not this machine, without encryption: where a "
        "server with HTTPS on another machine is before this one, and nobody else between.",
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="The address at which workers reach the server; it is written into the page "
        "that they save. Default: the host name of the request.",
    ),
]
Infer = Annotated[
    bool | None,
    typer.Option(
        "--infer/--no-infer",
        help="Infer truths from the reports, in a separate process. Default: --infer",
    ),
]
LongestInference = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="The longest time of an inference; it is ended then, and the results say so. "
        "Default: 600",
    ),
]
InferenceMemory = Annotated[
    str | None,
    typer.Option(
        metavar="BYTES",
        help="The most memory of an inference; larger campaigns are inferred from files. "
        "Default: 1GB",
    ),
]
InferenceFolder = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="The folder for these files. Default: the system's folder for temporary files",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="A Dask cluster that reads these files, as tcp://HOST:PORT; its workers must "
        "see --inference-folder under the same path. Default: this machine alone",
    ),
]
JoinsPerMinute = Annotated[
    float | None,
    typer.Option(
        metavar="NUMBER",
        help="New workers from one source, in campaigns that are open to all; 100 at once. 0: "
        "no limit. Default: 30",
    ),
]
Proxy = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="The address of the proxy in front of this server, or its network as "
        "10.0.0.0/24: sources are the addresses that it states in X-Forwarded-For. "
        "Default: connecting addresses",
    ),
]
MetricsPort = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER",
        help="Serve /metrics there, to this machine alone; 0: a free one. Default: no metrics",
    ),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other setting of docs/operating.md, as often as you like.",
    ),
]

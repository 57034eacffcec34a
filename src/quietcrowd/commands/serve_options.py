"""The options of ``quietcrowd serve``: each is a setting of the server."""

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
        help="Of settings, in TOML. Options count before variables, and those before the file.",
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
        help="Where it is kept who left, outside of the database and its copies: "
        "sqlite:///FILE, postgresql://USER@HOST/OTHER or none. Default: a file beside that of "
        "SQLite",
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
        help="Where workers reach the server: it stands in the page that they save. Default: "
        "the name under which it is asked.",
    ),
]
Infer = Annotated[
    bool | None,
    typer.Option(
        "--infer/--no-infer",
        help="Infer truths from what comes in, in a process of its own. Default: --infer",
    ),
]
LongestInference = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="When to end an inference; the results say so then. Default: 600",
    ),
]
InferenceMemory = Annotated[
    str | None,
    typer.Option(
        metavar="BYTES",
        help="What an inference in memory may take; larger campaigns are inferred from files. "
        "Default: 1GB",
    ),
]
InferenceFolder = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER",
        help="Where these files lie meanwhile. Default: where temporary files go",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Of a Dask cluster that passes over these files, as tcp://HOST:PORT; its workers "
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
        help="Of the server before this one, or its network as 10.0.0.0/24: who it says in "
        "X-Forwarded-For that it speaks for is a source. Default: who connects",
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

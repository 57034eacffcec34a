"""``quietcrowd serve``: the campaign service."""

from __future__ import annotations

from typing import Annotated

import typer

from quietcrowd.campaign.extra import require_server
from quietcrowd.commands.notes import note

__all__ = ["Database", "serve"]

Database = Annotated[
    str,
    typer.Option(
        metavar="URL",
        envvar="QUIETCROWD_DATABASE",
        help="sqlite:///FILE or postgresql://USER@HOST/NAME; created or brought up to date.",
    ),
]


def serve(
    database: Database = "sqlite:///quietcrowd.db",
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, metavar="NUMBER", help="0: a free one.")
    ] = 8000,
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

    Example: quietcrowd serve --longest-inference 1800
    """
    require_server()
    from quietcrowd.campaign.server.app import serve as run
    from quietcrowd.campaign.terms.settings import Settings, place_of

    settings = Settings(
        database=database,
        host=host,
        port=port,
        infer=infer,
        longest_inference=longest_inference,
    )
    run(
        settings,
        lambda found: note(
            f"Serving campaigns on http://{place_of(host, found)}; stop with Ctrl+C."
        ),
    )

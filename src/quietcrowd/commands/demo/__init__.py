"""``quietcrowd demo``: a complete campaign on this machine.

The crowd is simulated; the server, the devices and the noise are real.
"""

from __future__ import annotations

from typing import Annotated

import typer

from quietcrowd.campaign.extra import require_client, require_server
from quietcrowd.commands import options

__all__ = ["app", "demo"]

app = typer.Typer(rich_markup_mode=None)


@app.command()
def demo(
    epsilon: options.Epsilon = 1.0,
    seed: Annotated[
        int, typer.Option(min=0, metavar="NUMBER", help="Of the crowd, not of the noise.")
    ] = 7,
    stay: Annotated[
        bool,
        typer.Option("--stay", help="Serve until Ctrl-C: to look at the dashboard, or answer."),
    ] = False,
) -> None:
    """Play a campaign on this machine, with a simulated crowd.

    Example: quietcrowd demo --epsilon 0.5
    """
    require_server()
    require_client()
    from quietcrowd.commands.demo.campaign import play

    play(epsilon=epsilon, seed=seed, stay=stay)

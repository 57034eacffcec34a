"""``quietcrowd campaign clock``, for the operator of the database."""

from __future__ import annotations

import time
from contextlib import closing
from typing import Annotated

import typer

from quietcrowd.campaign.extra import require_server
from quietcrowd.commands import options
from quietcrowd.commands.copies import LOCAL, DatabaseUrl, existing
from quietcrowd.commands.printing import note

__all__ = ["clock"]


def clock(
    database: DatabaseUrl = LOCAL,
    departures: options.Departures = None,
    confirm: Annotated[
        bool, typer.Option("--confirm", help="Confirm that this machine's clock is right.")
    ] = False,
) -> None:
    """Compare the clock with the last day that the server saw.

    If the clock is implausible, the server closes and deletes nothing by date.

    Example: quietcrowd campaign clock

    Example: quietcrowd campaign clock --confirm
    """
    require_server()
    from quietcrowd.campaign.server.settings import Settings
    from quietcrowd.campaign.store.clock import confirm_clock, read_clock
    from quietcrowd.campaign.store.opening import require_current
    from quietcrowd.campaign.store.withdrawals.journal import Departures

    settings = Settings(database=database, departures=departures)
    with closing(existing(database)) as opened:
        require_current(opened)
        with closing(Departures.open(settings, opened)) as left:
            now = time.time()
            found = read_clock(now, opened, left.journal)
            if confirm:
                confirm_clock(now, opened, left.journal)
    if found.held and not confirm:
        note(found.describe())
    else:
        note("The clock is confirmed." if confirm else "The clock is plausible.")

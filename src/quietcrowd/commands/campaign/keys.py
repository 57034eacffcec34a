"""``quietcrowd campaign keys`` and ``dashboard``: keys of a requester, and links without a key."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from quietcrowd.campaign.terms.server_address import ServerAddress
from quietcrowd.commands import options
from quietcrowd.commands.campaign.client import (
    LOCAL,
    Campaign,
    Key,
    Server,
    checked,
    requester_client,
)
from quietcrowd.commands.printing import console, note, plain_table
from quietcrowd.exceptions import ParameterError

__all__ = ["dashboard", "keys"]


def dashboard(campaign_id: Campaign, server: Server = LOCAL, secret: Key = "") -> None:
    """Print a link to the dashboard of a campaign, for one visit.

    It works once, within ten minutes, and shows results alone: no workers, no reports, and nothing
    can be changed. The page asks for your key where you want these.

    Example: quietcrowd campaign dashboard 0123456789abcdef0123456789abcdef
    """
    with requester_client(server, secret) as client:
        made = checked(client.post(f"/campaigns/{campaign_id}/dashboard-codes")).json()
    typer.echo(f"{ServerAddress.read(server).url}{made['fragment']}")
    note(f"It works once, within {made['seconds'] // 60} minutes, and shows results alone.")


def keys(
    revoke: Annotated[
        str | None,
        typer.Option(metavar="LAST4", help="End the key that has these last characters, or id."),
    ] = None,
    as_json: options.Json = False,
    server: Server = LOCAL,
    secret: Key = "",
) -> None:
    """Print which keys you have, and until when; or end one.

    They are told by their last four characters.

    Whoever runs the server makes keys: quietcrowd campaign key.

    Example: quietcrowd campaign keys

    Example: quietcrowd campaign keys --revoke x3Zk
    """
    with requester_client(server, secret) as client:
        found = checked(client.get("/keys")).json()["items"]
        if revoke is not None:
            ended = _named(found, revoke)
            checked(client.delete(f"/keys/{ended['id']}"))
            note(f"The key that ends in {_last(ended)} is good no more.")
    if revoke is None:
        _show(found, as_json=as_json)


def _named(found: list[dict[str, Any]], name: str) -> dict[str, Any]:
    named = [one for one in found if name in (one["last4"], one["id"]) and one["state"] == "valid"]
    if len(named) != 1:
        raise ParameterError(
            f"{len(named)} of your keys that are good end in {name!r}: quietcrowd campaign keys "
            "tells their ends, and with --json their ids"
        )
    return named[0]


def _show(found: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(found))
        return
    table = plain_table("ends in", "state", "good until", "", numeric_from=4)
    for one in found:
        table.add_row(_last(one), one["state"], _end(one), "in use now" if one["shown"] else "")
    console(80).print(table)


def _last(key: dict[str, Any]) -> str:
    return key["last4"] or f"? (id {key['id']})"


def _end(key: dict[str, Any]) -> str:
    if key["expires_at"] is None:
        return "no end"
    return f"{datetime.fromtimestamp(key['expires_at'], UTC):%Y-%m-%d %H:%M} UTC"

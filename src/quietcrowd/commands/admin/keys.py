"""``quietcrowd admin create-key``, ``list-keys`` and ``revoke-key``: keys of requesters."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer

from quietcrowd.campaign.extra import require_server
from quietcrowd.commands import options
from quietcrowd.commands.admin.database import WithJournal
from quietcrowd.commands.campaign.client import OnServer, checked
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.printing import console, note, plain_table
from quietcrowd.exceptions import ParameterError

if TYPE_CHECKING:
    import httpx

MAX_KEY_DAYS = 3_650


@command()
class CreateKey(WithJournal):
    """Create a key for a requester.

    A new name adds a requester, and a missing database is created. The key is printed once: only
    its hash and its last four characters are stored.

    Example: quietcrowd admin create-key "bird group" --days 365

    Example: quietcrowd admin create-key "bird group" --replace
    """

    name: str = argument(metavar="NAME", help="Name of the requester.")
    replace: bool = option(help="Revoke all earlier keys of the requester.", default=False)
    days: int | None = option(
        min=1,
        max=MAX_KEY_DAYS,
        metavar="NUMBER",
        help="Days until the key expires. Default: never.",
        default=None,
    )

    def run(self) -> None:
        """Create the key, and print it."""
        require_server()
        from quietcrowd.campaign.store.database import Database
        from quietcrowd.campaign.store.opening import require_current_while_serving
        from quietcrowd.campaign.store.requesters import issue_key

        end = None if self.days is None else int(time.time()) + self.days * 86_400
        opened = Database.open(self.database)
        require_current_while_serving(opened, self.settings())
        typer.echo(issue_key(opened, self.name, replace=self.replace, expires_at=end))
        opened.close()


@command()
class ListKeys(OnServer):
    """List your keys.

    It prints their last four characters, and when they expire.

    Example: quietcrowd admin list-keys
    """

    as_json: bool = options.JSON

    def run(self) -> None:
        """Print the keys."""
        with self.client() as client:
            found = _keys(client)
        if self.as_json:
            typer.echo(json.dumps(found))
            return
        table = plain_table("ends in", "state", "valid until", "", numeric_from=4)
        for one in found:
            table.add_row(_last(one), one["state"], _end(one), "in use now" if one["shown"] else "")
        console(80).print(table)


@command()
class RevokeKey(OnServer):
    """Revoke one of your keys.

    Example: quietcrowd admin revoke-key x3Zk
    """

    name: str = argument(metavar="LAST4", help="Last four characters of the key, or its id.")

    def run(self) -> None:
        """Revoke the key."""
        with self.client() as client:
            valid = [one for one in _keys(client) if one["state"] == "valid"]
            named = [one for one in valid if self.name in (one["last4"], one["id"])]
            if len(named) != 1:
                raise ParameterError("commands.key-ambiguous", count=len(named), name=self.name)
            checked(client.delete(f"/keys/{named[0]['id']}"))
        note(f"The key that ends in {_last(named[0])} is revoked.")


def _keys(client: httpx.Client) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = checked(client.get("/keys")).json()["items"]
    return found


def _last(key: dict[str, Any]) -> str:
    return key["last4"] or f"? (id {key['id']})"


def _end(key: dict[str, Any]) -> str:
    if key["expires_at"] is None:
        return "no limit"
    return f"{datetime.fromtimestamp(key['expires_at'], UTC):%Y-%m-%d %H:%M} UTC"

"""``quietcrowd campaign ...``: the group of commands, and those that manage campaigns and keys.

All commands except `key`, `backup`, `restore`, `migrate`, `clock` and `doctor` use a running
server. Its rules apply to everyone, and only the server writes to its database.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.commands import admin, copies, options
from quietcrowd.commands.campaign.client import OnCampaign, OnServer, checked
from quietcrowd.commands.campaign.create import Create
from quietcrowd.commands.campaign.export import Export, Results
from quietcrowd.commands.campaign.workers import Erase, Exclude, Revoke
from quietcrowd.commands.declare import command, option, typer_app
from quietcrowd.commands.printing import console, note, plain_table
from quietcrowd.commands.worker.questions import agreed
from quietcrowd.exceptions import ParameterError

if TYPE_CHECKING:
    import httpx

_PAGE = 200
"""Campaigns per request."""


@command("list")
class ListCampaigns(OnServer):
    """Print your campaigns, by title.

    As JSON with all that the server says of them.

    Example: quietcrowd campaign list
    """

    as_json: bool = options.JSON

    def run(self) -> None:
        """Print a table, or JSON."""
        with self.client() as client:
            found = sorted(_campaigns(client), key=lambda one: (one["title"].casefold(), one["id"]))
        if self.as_json:
            typer.echo(json.dumps(found))
        elif found:
            _print_campaigns(found)
        else:
            note("There is no campaign yet: quietcrowd campaign create makes one.")


def _campaigns(client: httpx.Client) -> Iterator[dict[str, Any]]:
    wanted: dict[str, str | int] = {"limit": _PAGE}
    while True:
        page = checked(client.get("/campaigns", params=wanted)).json()
        yield from page["items"]
        if page["next_cursor"] is None:
            return
        wanted["cursor"] = page["next_cursor"]


def _print_campaigns(found: list[dict[str, Any]]) -> None:
    table = plain_table("id", "state", "title", "tasks", "workers", "reports", numeric_from=3)
    table.columns[0].no_wrap = True
    for one in found:
        counts = (f"{one[name]:,}" for name in ("tasks", "participants", "reports"))
        table.add_row(one["id"], one["state"], Text(one_line(one["title"])), *counts)
    width = None if sys.stdout.isatty() else 80
    console(width).print(table)


@command("open")
class Open(OnCampaign):
    """Fix what workers agree to, and let them in.

    Example: quietcrowd campaign open 0123456789abcdef0123456789abcdef
    """

    def run(self) -> None:
        """Open it, and print what workers agree to."""
        with self.client() as client:
            opened = checked(client.post(f"/campaigns/{self.campaign_id}/open")).json()
            public = checked(client.get(f"/public/campaigns/{self.campaign_id}")).json()
        note(f"Open. Workers agree to {opened['config_hash']}:")
        for sentence in public["config"]["consent"]:
            note(sentence)
        note(f"What comes of it: {self.address}/dashboard/{self.campaign_id}")
        note(
            "It asks for your key. A link without it: quietcrowd campaign dashboard "
            f"{self.campaign_id}"
        )


@command("close")
class Close(OnCampaign):
    """Accept no more reports: now, or from the end of a day on.

    Example: quietcrowd campaign close 0123456789abcdef0123456789abcdef

    Example: quietcrowd campaign close 0123456789abcdef0123456789abcdef --closes-on 2026-12-31
    """

    closes_on: str | None = option(
        metavar="DATE",
        help="Not now, but when this day is over, in UTC, as 2026-12-31; never: until you "
        "close it.",
        default=None,
    )

    def run(self) -> None:
        """Close it, or fix the day."""
        url = f"/campaigns/{self.campaign_id}"
        with self.client() as client:
            if self.closes_on is None:
                closed = checked(client.post(f"{url}/close")).json()
                note(
                    f"Closed: {closed['reports']:,} reports of {closed['participants']:,} workers."
                )
                return
            version = checked(client.get(url)).headers["ETag"]
            change = {"closes_on": None if self.closes_on == "never" else self.closes_on}
            checked(client.patch(url, json=change, headers={"If-Match": version}))
        note(
            "It closes when you close it."
            if self.closes_on == "never"
            else f"It closes when {self.closes_on} is over (UTC)."
        )


@command("delete")
class Delete(OnCampaign):
    """Delete a campaign with all that belongs to it, for good.

    Its tasks, workers, reports and results are gone then.

    Example: quietcrowd campaign delete 0123456789abcdef0123456789abcdef
    """

    yes: bool = option(help="Delete without being asked.", default=False)

    def run(self) -> None:
        """Ask, and delete it."""
        with self.client() as client:
            held = checked(client.get(f"/campaigns/{self.campaign_id}")).json()
            note(
                f"{one_line(held['title'])} ({held['state']}): {held['tasks']:,} tasks, "
                f"{held['reports']:,} reports of {held['participants']:,} workers."
            )
            if not (self.yes or agreed("Delete all of it for good?")):
                note("Nothing was deleted.")
                raise typer.Exit(1)
            checked(client.delete(f"/campaigns/{self.campaign_id}"))
        note("Deleted. Copies of the database still hold it: delete them too.")


@command("invite")
class Invite(OnCampaign):
    """Print new links, each for one worker. They are shown now and never again.

    Example: quietcrowd campaign invite 0123456789abcdef0123456789abcdef --count 20
    """

    count: int = option(min=1, max=1_000, metavar="NUMBER", help="How many links.", default=1)

    def run(self) -> None:
        """Print new links."""
        with self.client() as client:
            made = checked(
                client.post(f"/campaigns/{self.campaign_id}/invites", json={"count": self.count})
            ).json()
        for fragment in made["fragments"]:
            typer.echo(f"{self.address}{fragment}")


@command("dashboard")
class Dashboard(OnCampaign):
    """Print a link to the dashboard of a campaign, for one visit.

    It works once, within ten minutes, and shows results alone: no workers, no reports, and nothing
    can be changed. The page asks for your key where you want these.

    Example: quietcrowd campaign dashboard 0123456789abcdef0123456789abcdef
    """

    def run(self) -> None:
        """Print a link."""
        with self.client() as client:
            made = checked(client.post(f"/campaigns/{self.campaign_id}/dashboard-codes")).json()
        typer.echo(f"{self.address}{made['fragment']}")
        note(f"It works once, within {made['seconds'] // 60} minutes, and shows results alone.")


@command("keys")
class Keys(OnServer):
    """Print which keys you have, and until when; or end one.

    They are told by their last four characters.

    Whoever runs the server makes keys: quietcrowd campaign key.

    Example: quietcrowd campaign keys

    Example: quietcrowd campaign keys --revoke x3Zk
    """

    revoke: str | None = option(
        metavar="LAST4", help="End the key that has these last characters, or id.", default=None
    )
    as_json: bool = options.JSON

    def run(self) -> None:
        """Print the keys, or end one."""
        with self.client() as client:
            found = checked(client.get("/keys")).json()["items"]
            if self.revoke is not None:
                ended = _named(found, self.revoke)
                checked(client.delete(f"/keys/{ended['id']}"))
                note(f"The key that ends in {_last(ended)} is good no more.")
        if self.revoke is None:
            _show(found, as_json=self.as_json)


def _named(found: list[dict[str, Any]], name: str) -> dict[str, Any]:
    named = [one for one in found if name in (one["last4"], one["id"]) and one["state"] == "valid"]
    if len(named) != 1:
        raise ParameterError("commands.key-ambiguous", count=len(named), name=name)
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


campaign = typer_app(
    admin.Key,
    copies.Backup,
    copies.Restore,
    admin.Migrate,
    admin.Clock,
    admin.Doctor,
    Create,
    ListCampaigns,
    Open,
    Close,
    Delete,
    Invite,
    Dashboard,
    Results,
    Exclude,
    Erase,
    Revoke,
    Export,
    Keys,
    name="campaign",
    help="Manage campaigns on a server, and read their results.",
    no_args_is_help=True,
)
app = typer_app()
app.add_typer(campaign)

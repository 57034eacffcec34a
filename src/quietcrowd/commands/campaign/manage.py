"""``quietcrowd campaign list``, ``open``, ``close``, ``delete`` and ``dashboard``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.commands import options
from quietcrowd.commands.campaign.client import OnCampaign, OnServer, checked
from quietcrowd.commands.declare import command, option
from quietcrowd.commands.printing import console, note, plain_table
from quietcrowd.commands.worker.questions import agreed

if TYPE_CHECKING:
    import httpx

_PAGE = 200
"""Campaigns per request."""


@command()
class ListCampaigns(OnServer):
    """List your campaigns.

    They are sorted by title; --json prints all fields.

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
            note("There are no campaigns. quietcrowd campaign create creates one.")


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


@command()
class Open(OnCampaign):
    """Open a campaign for workers.

    Their terms can no longer be changed.

    Example: quietcrowd campaign open 0123456789abcdef0123456789abcdef
    """

    def run(self) -> None:
        """Open it, and print what workers agree to."""
        from quietcrowd.campaign.terms.menu import lines_of

        with self.client() as client:
            opened = checked(client.post(f"/campaigns/{self.campaign_id}/open")).json()
            public = checked(client.get(f"/public/campaigns/{self.campaign_id}")).json()
        note(f"Open. Workers agree to {opened['config_hash']}:")
        for sentence in lines_of(public["config"], "consent"):
            note(sentence)
        note(f"Dashboard: {self.address}/dashboard/{self.campaign_id}")
        note(
            "It asks for your key. For a link that needs no key, run: quietcrowd campaign "
            f"dashboard {self.campaign_id}"
        )


@command()
class Close(OnCampaign):
    """Close a campaign, now or after a day.

    A closed campaign accepts no reports.

    Example: quietcrowd campaign close 0123456789abcdef0123456789abcdef

    Example: quietcrowd campaign close 0123456789abcdef0123456789abcdef --closes-on 2026-12-31
    """

    closes_on: str | None = option(
        metavar="DATE",
        help="Close after this day in UTC, such as 2026-12-31; never removes the day.",
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
            "The campaign has no closing day."
            if self.closes_on == "never"
            else f"The campaign closes at the end of {self.closes_on} (UTC)."
        )


@command()
class Delete(OnCampaign):
    """Delete a campaign permanently.

    Its tasks, workers, reports and results are deleted.

    Example: quietcrowd campaign delete 0123456789abcdef0123456789abcdef
    """

    yes: bool = option(help="Delete without confirmation.", default=False)

    def run(self) -> None:
        """Ask, and delete it."""
        with self.client() as client:
            held = checked(client.get(f"/campaigns/{self.campaign_id}")).json()
            note(
                f"{one_line(held['title'])} ({held['state']}): {held['tasks']:,} tasks, "
                f"{held['reports']:,} reports of {held['participants']:,} workers."
            )
            if not (self.yes or agreed("Delete the campaign permanently?")):
                note("Nothing was deleted.")
                raise typer.Exit(1)
            checked(client.delete(f"/campaigns/{self.campaign_id}"))
        note("Deleted. Copies of the database still contain it. Delete them too.")


@command()
class Dashboard(OnCampaign):
    """Print a link to the dashboard.

    The link works once, within ten minutes, and shows results only. The page asks for your key
    before it shows workers or reports, or changes anything.

    Example: quietcrowd campaign dashboard 0123456789abcdef0123456789abcdef
    """

    def run(self) -> None:
        """Print a link."""
        with self.client() as client:
            made = checked(client.post(f"/campaigns/{self.campaign_id}/dashboard-codes")).json()
        typer.echo(f"{self.address}{made['fragment']}")
        note(f"It works once, within {made['seconds'] // 60} minutes, and shows only results.")

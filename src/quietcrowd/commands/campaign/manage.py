"""``quietcrowd campaign ...``: creation and control of campaigns, and their results.

All commands except `key`, `backup`, `restore`, `migrate`, `clock` and `doctor` use a running
server. Its rules apply to everyone, and only the server writes to its database.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.campaign.terms.promises import (
    USUAL_AT_LEAST,
    USUAL_RETENTION_DAYS,
)
from quietcrowd.campaign.terms.server_address import ServerAddress
from quietcrowd.commands import copies, options, serve
from quietcrowd.commands.campaign import campaign_options as given
from quietcrowd.commands.campaign import workers
from quietcrowd.commands.campaign.client import (
    LOCAL,
    Campaign,
    Key,
    Server,
    checked,
    requester_client,
)
from quietcrowd.commands.campaign.create import NewCampaign
from quietcrowd.commands.campaign.export import export
from quietcrowd.commands.campaign.keys import dashboard, keys
from quietcrowd.commands.campaign.results import results
from quietcrowd.commands.choices import (
    METHODS_LISTED,
    MechanismName,
    MethodName,
)
from quietcrowd.commands.clock import clock
from quietcrowd.commands.doctor import doctor
from quietcrowd.commands.printing import console, note, plain_table
from quietcrowd.commands.worker.questions import agreed

if TYPE_CHECKING:
    import httpx

__all__ = [
    "app",
    "close",
    "create",
    "delete",
    "invite",
    "list_campaigns",
    "open_campaign",
    "results",
]


app = typer.Typer(rich_markup_mode=None)
campaign = typer.Typer(
    name="campaign",
    help="Manage campaigns on a server, and read their results.",
    rich_markup_mode=None,
    no_args_is_help=True,
)
app.add_typer(campaign)

campaign.command()(serve.key)
campaign.command()(copies.backup)
campaign.command()(copies.restore)
campaign.command()(copies.migrate)
campaign.command()(clock)
campaign.command()(doctor)

_PAGE = 200
"""Campaigns per request."""


@campaign.command(epilog=METHODS_LISTED)
def create(
    title: given.Title,
    tasks: given.Tasks,
    show: given.Show = None,
    id_column: given.IdColumn = None,
    mechanism: MechanismName = "one-layer",
    epsilon: options.Epsilon = 1.0,
    labels: options.Labels = None,
    levels: options.Levels = None,
    between: options.Between = None,
    label_config: given.LabelConfig = None,
    description: given.Description = "",
    method: MethodName = None,
    answers: given.Answers = None,
    answers_each: given.AnswersEach = None,
    hand_out: given.HandOut = None,
    linked: given.Linked = None,
    participants: given.Participants = None,
    requester: given.Requester = "",
    contact: given.Contact = "",
    purpose: given.Purpose = "",
    keep_days: given.KeepDays = USUAL_RETENTION_DAYS,
    at_least: given.AtLeast = USUAL_AT_LEAST,
    completion_code: given.CompletionCode = None,
    closes: given.Closes = None,
    as_of: given.AsOf = None,
    for_all: given.ForAll = False,
    planned: given.Planned = False,
    server: Server = LOCAL,
    secret: Key = "",
) -> None:
    """Make a draft with tasks, and print its id.

    A note says how the file was read. Of -m two-layer, epsilon is what one answer loses at
    most, given that a worker gives all answers that it may: its smallest flip probability is chosen
    for that, unless you give one, as two-layer:low=0.

    Example: quietcrowd campaign create Birds --tasks birds.csv --labels no,yes -e 1
    --requester "Bird group" --contact birds@example.org --purpose "A map of birds"

    Example: quietcrowd campaign create Birds --tasks birds.csv --labels no,yes
    --as-of 2026-12-01

    Example: quietcrowd campaign create Birds --tasks tasks.json --label-config project.xml

    Example: quietcrowd campaign create Birds --tasks birds.csv --labels no,yes --answers-each 5

    Example: quietcrowd campaign create Birds --tasks birds.csv --labels no,yes --answers-each 5
    --hand-out suggested
    """
    NewCampaign(**locals()).make()


@campaign.command(name="list")
def list_campaigns(as_json: options.Json = False, server: Server = LOCAL, secret: Key = "") -> None:
    """Print your campaigns, by title.

    As JSON with all that the server says of them.

    Example: quietcrowd campaign list
    """
    with requester_client(server, secret) as client:
        found = sorted(_campaigns(client), key=lambda one: (one["title"].casefold(), one["id"]))
    if as_json:
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


@campaign.command(name="open")
def open_campaign(campaign_id: Campaign, server: Server = LOCAL, secret: Key = "") -> None:
    """Fix what workers agree to, and let them in.

    Example: quietcrowd campaign open 0123456789abcdef0123456789abcdef
    """
    with requester_client(server, secret) as client:
        opened = checked(client.post(f"/campaigns/{campaign_id}/open")).json()
        public = checked(client.get(f"/public/campaigns/{campaign_id}")).json()
    note(f"Open. Workers agree to {opened['config_hash']}:")
    for sentence in public["config"]["consent"]:
        note(sentence)
    note(f"What comes of it: {ServerAddress.read(server).url}/dashboard/{campaign_id}")
    note(f"It asks for your key. A link without it: quietcrowd campaign dashboard {campaign_id}")


@campaign.command()
def close(
    campaign_id: Campaign,
    on: Annotated[
        str | None,
        typer.Option(
            "--on",
            metavar="DATE",
            help="Not now, but when this day is over, in UTC, as 2026-12-31; never: until you "
            "close it.",
        ),
    ] = None,
    server: Server = LOCAL,
    secret: Key = "",
) -> None:
    """Accept no more reports: now, or from the end of a day on.

    Example: quietcrowd campaign close 0123456789abcdef0123456789abcdef

    Example: quietcrowd campaign close 0123456789abcdef0123456789abcdef --on 2026-12-31
    """
    url = f"/campaigns/{campaign_id}"
    with requester_client(server, secret) as client:
        if on is None:
            closed = checked(client.post(f"{url}/close")).json()
            note(f"Closed: {closed['reports']:,} reports of {closed['participants']:,} workers.")
            return
        version = checked(client.get(url)).headers["ETag"]
        change = {"closes_on": None if on == "never" else on}
        checked(client.patch(url, json=change, headers={"If-Match": version}))
    note("It closes when you close it." if on == "never" else f"It closes when {on} is over (UTC).")


@campaign.command()
def delete(
    campaign_id: Campaign,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without being asked.")] = False,
    server: Server = LOCAL,
    secret: Key = "",
) -> None:
    """Delete a campaign with all that belongs to it, for good.

    Its tasks, workers, reports and results are gone then.

    Example: quietcrowd campaign delete 0123456789abcdef0123456789abcdef
    """
    with requester_client(server, secret) as client:
        held = checked(client.get(f"/campaigns/{campaign_id}")).json()
        note(
            f"{one_line(held['title'])} ({held['state']}): {held['tasks']:,} tasks, "
            f"{held['reports']:,} reports of {held['participants']:,} workers."
        )
        if not (yes or agreed("Delete all of it for good?")):
            note("Nothing was deleted.")
            raise typer.Exit(1)
        checked(client.delete(f"/campaigns/{campaign_id}"))
    note("Deleted. Copies of the database still hold it: delete them too.")


@campaign.command()
def invite(
    campaign_id: Campaign,
    count: Annotated[
        int, typer.Option(min=1, max=1_000, metavar="NUMBER", help="How many links.")
    ] = 1,
    server: Server = LOCAL,
    secret: Key = "",
) -> None:
    """Print new links, each for one worker. They are shown now and never again.

    Example: quietcrowd campaign invite 0123456789abcdef0123456789abcdef --count 20
    """
    with requester_client(server, secret) as client:
        made = checked(
            client.post(f"/campaigns/{campaign_id}/invites", json={"count": count})
        ).json()
    for fragment in made["fragments"]:
        typer.echo(f"{ServerAddress.read(server).url}{fragment}")


campaign.command()(dashboard)
campaign.command()(results)
campaign.command()(workers.exclude)
campaign.command()(workers.erase)
campaign.command()(workers.revoke)
campaign.command()(export)
campaign.command()(keys)

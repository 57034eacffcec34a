"""``quietcrowd campaign ...``: making campaigns and reading what came of them.

All but `key` and `backup` speak to a running server: its rules hold for everyone, and it alone
writes to its database. Those two are for whoever owns the database, and need no key.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from quietcrowd.campaign.extra import require_server
from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.campaign.terms.server_address import ServerAddress
from quietcrowd.commands import options
from quietcrowd.commands.exports import export_label_config, export_reports, export_truths
from quietcrowd.commands.noise import tell_no_signal
from quietcrowd.commands.notes import note
from quietcrowd.commands.questions import read_line
from quietcrowd.commands.requester import checked, requester_client
from quietcrowd.commands.serve import Database
from quietcrowd.commands.tables import plain_table
from quietcrowd.commands.task_file import TaskFile
from quietcrowd.domains import Domain
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats import FORMATS, check_target
from quietcrowd.formats.files import refuse_overwriting, sidecar
from quietcrowd.formats.label_config import read_label_config
from quietcrowd.formats.tables import find_format

if TYPE_CHECKING:
    import httpx

__all__ = [
    "backup",
    "campaign",
    "close",
    "create",
    "delete",
    "export",
    "invite",
    "key",
    "list_campaigns",
    "open_campaign",
    "results",
]

campaign = typer.Typer(
    name="campaign",
    help="Make campaigns on a server, and read what came of them.",
    rich_markup_mode=None,
    no_args_is_help=True,
)

_PAGE = 200
"""Campaigns that are asked for at once."""


def _check_id(one: str) -> str:
    """Return the id of a campaign; ParameterError where it is something else."""
    if re.fullmatch("[0-9a-f]{32}", one) is None:
        raise ParameterError(
            f"a campaign's id is 32 hexadecimal digits, got {one!r}: quietcrowd campaign list "
            "tells it"
        )
    return one


Campaign = Annotated[str, typer.Argument(metavar="CAMPAIGN", help="Its id.", callback=_check_id)]
Server = Annotated[
    str,
    typer.Option(
        metavar="URL",
        envvar="QUIETCROWD_SERVER",
        help="Where the server is: https://, unless it is this machine.",
    ),
]
Key = Annotated[
    str,
    typer.Option(
        "--key",
        metavar="KEY",
        envvar="QUIETCROWD_KEY",
        help="A requester's key; better in the environment than on the command line.",
    ),
]
_LOCAL = "http://127.0.0.1:8000"


@campaign.command()
def key(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the requester.")],
    database: Database = "sqlite:///quietcrowd.db",
    replace: Annotated[
        bool, typer.Option("--replace", help="End all earlier keys of the requester.")
    ] = False,
) -> None:
    """Make a key for a requester.

    The requester is added where there is none of that name. The key is printed once: what is
    stored is a hash.

    Example: quietcrowd campaign key "bird group"
    """
    require_server()
    from quietcrowd.campaign.store.database import Database as Opened
    from quietcrowd.campaign.store.opening import migrate_beside_server
    from quietcrowd.campaign.store.requesters import issue_key

    opened = Opened.open(database)
    migrate_beside_server(opened)
    typer.echo(issue_key(opened, name, replace=replace))
    opened.close()


@campaign.command()
def backup(
    target: Annotated[Path, typer.Argument(metavar="FILE", help="A new file.")],
    database: Annotated[
        str,
        typer.Option(
            metavar="URL", envvar="QUIETCROWD_DATABASE", help="Of the server: sqlite:///FILE."
        ),
    ] = "sqlite:///quietcrowd.db",
) -> None:
    """Copy an SQLite database to a file, while the server runs.

    What is deleted later stays in the copy: delete old copies too.

    Example: quietcrowd campaign backup copy.db
    """
    require_server()
    from quietcrowd.campaign.store.database import Database as Opened

    opened = Opened.open(database)
    if opened.path is not None and not opened.path.exists():
        raise ParameterError(f"there is no database {opened.path}")
    opened.backup(target)
    opened.close()
    note(f"Copied to {target}.")


@campaign.command(epilog=options.METHOD_LIST)
def create(
    title: Annotated[str, typer.Argument(metavar="TITLE", help="What workers see first.")],
    tasks: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Ends in .csv, .tsv, .jsonl or .json, also Label Studio's: id and gold where "
            "there are such, all else is shown.",
        ),
    ],
    mechanism: options.MechanismName = "one-layer",
    epsilon: options.Epsilon = 1.0,
    labels: options.Labels = None,
    levels: options.Levels = None,
    between: options.Between = None,
    label_config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Of Label Studio: its choices, rating or number instead of labels, levels or "
            "bounds.",
        ),
    ] = None,
    description: Annotated[
        str, typer.Option(metavar="TEXT", help="What workers see below the title.")
    ] = "",
    method: options.MethodName = None,
    answers: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="Most answers of a worker.")
    ] = None,
    linked: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="NUMBER",
            help="Most answers of a worker that share one fact, if more than there are copies and "
            "near-copies of one question.",
        ),
    ] = None,
    participants: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="Most workers.")
    ] = None,
    for_all: Annotated[bool, typer.Option("--for-all", help="Nobody needs an invite.")] = False,
    server: Server = _LOCAL,
    secret: Key = "",
) -> None:
    """Make a draft with tasks, and print its id.

    A note tells what the file was taken for.

    Example: quietcrowd campaign create Birds --tasks birds.csv --labels no,yes -e 1

    Example: quietcrowd campaign create Birds --tasks tasks.json --label-config project.xml
    """
    _, maker = options.choose_mechanism(mechanism)
    chosen = maker(domain=_domain(label_config, labels, levels, between), epsilon=epsilon)
    body = {
        "title": title,
        "description": description,
        "mechanism": chosen.to_dict(),
        "method": None if method is None else options.choose_method(method).to_dict(),
        "join_mode": "open" if for_all else "invite",
        "answers_per_participant": answers,
        "linked": linked,
        "max_participants": participants,
    }
    file = TaskFile.read(tasks)
    summary = file.summary(chosen.domain)
    with requester_client(server, secret) as client:
        made: str = checked(client.post("/campaigns", json=body)).json()["id"]
        with _deleting_on_failure(client, made):
            for part in file.parts():
                url, headers = f"/campaigns/{made}/tasks", {"Content-Type": file.media_type}
                checked(client.post(url, content=part, headers=headers))
    note(summary)
    tell_no_signal(chosen)
    typer.echo(made)


def _domain(label_config: Path | None, *written: str | None) -> Domain:
    """Return what an answer can be, from a config or from the other options."""
    if label_config is None:
        return options.build_domain(*written)
    if any(option is not None for option in written):
        raise ParameterError(f"give --label-config or one of {', '.join(options.DOMAIN)}")
    return read_label_config(label_config)


@contextmanager
def _deleting_on_failure(client: httpx.Client, draft: str) -> Iterator[None]:
    """Delete a draft where it gets no tasks; where that fails, tell its id."""
    import httpx

    try:
        yield
    except BaseException:
        try:
            deleted = client.delete(f"/campaigns/{draft}").is_success
        except httpx.TransportError:
            deleted = False
        if not deleted:
            note(f"The draft {draft} stays on the server, perhaps with some of its tasks.")
        raise


@campaign.command(name="list")
def list_campaigns(
    as_json: options.Json = False, server: Server = _LOCAL, secret: Key = ""
) -> None:
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
    """Go through all campaigns, page by page."""
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
    Console(highlight=False, markup=False, width=width).print(table)


@campaign.command(name="open")
def open_campaign(one: Campaign, server: Server = _LOCAL, secret: Key = "") -> None:
    """Fix what workers agree to, and let them in.

    Example: quietcrowd campaign open 0123456789abcdef0123456789abcdef
    """
    with requester_client(server, secret) as client:
        opened = checked(client.post(f"/campaigns/{one}/open")).json()
        public = checked(client.get(f"/public/campaigns/{one}")).json()
    note(f"Open. Workers agree to {opened['config_hash']}:")
    for sentence in public["config"]["consent"]:
        note(sentence)
    note(f"What comes of it: {ServerAddress.read(server).url}/dashboard/{one}")


@campaign.command()
def close(one: Campaign, server: Server = _LOCAL, secret: Key = "") -> None:
    """Take nothing in any more.

    Example: quietcrowd campaign close 0123456789abcdef0123456789abcdef
    """
    with requester_client(server, secret) as client:
        closed = checked(client.post(f"/campaigns/{one}/close")).json()
    note(f"Closed: {closed['reports']:,} reports of {closed['participants']:,} workers.")


@campaign.command()
def delete(
    one: Campaign,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without being asked.")] = False,
    server: Server = _LOCAL,
    secret: Key = "",
) -> None:
    """Delete a campaign with all that belongs to it, for good.

    Its tasks, workers, reports and results are gone then.

    Example: quietcrowd campaign delete 0123456789abcdef0123456789abcdef
    """
    with requester_client(server, secret) as client:
        held = checked(client.get(f"/campaigns/{one}")).json()
        note(
            f"{one_line(held['title'])} ({held['state']}): {held['tasks']:,} tasks, "
            f"{held['reports']:,} reports of {held['participants']:,} workers."
        )
        if not (yes or read_line("Delete all of it for good? [y/N] ").lower() in ("y", "yes")):
            note("Nothing was deleted.")
            raise typer.Exit(1)
        checked(client.delete(f"/campaigns/{one}"))
    note("Deleted. Copies of the database still hold it: delete them too.")


@campaign.command()
def invite(
    one: Campaign,
    count: Annotated[
        int, typer.Option(min=1, max=1_000, metavar="NUMBER", help="How many links.")
    ] = 1,
    server: Server = _LOCAL,
    secret: Key = "",
) -> None:
    """Print new links, each for one worker. They are shown now and never again.

    Example: quietcrowd campaign invite 0123456789abcdef0123456789abcdef --count 20
    """
    with requester_client(server, secret) as client:
        made = checked(client.post(f"/campaigns/{one}/invites", json={"count": count})).json()
    for fragment in made["fragments"]:
        typer.echo(f"{ServerAddress.read(server).url}{fragment}")


@campaign.command()
def results(
    one: Campaign,
    server: Server = _LOCAL,
    secret: Key = "",
) -> None:
    """Print the latest results as JSON, and warnings as notes.

    Example: quietcrowd campaign results 0123456789abcdef0123456789abcdef
    """
    with requester_client(server, secret) as client:
        found: dict[str, Any] = checked(client.get(f"/campaigns/{one}/results")).json()
    typer.echo(json.dumps(found))
    for warning in found["warnings"]:
        note(f"{warning['code']}: {warning['message']}")


@campaign.command()
def export(
    one: Campaign,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="Its suffix says how it is written."),
    ],
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help=f"Where the suffix does not say so: one of {', '.join(FORMATS)}.",
            autocompletion=lambda: list(FORMATS),
        ),
    ] = None,
    truths: Annotated[
        bool, typer.Option("--truths", help="The latest truths, and not the reports.")
    ] = False,
    label_config: options.NewLabelConfig = None,
    server: Server = _LOCAL,
    secret: Key = "",
) -> None:
    """Write all reports, with what made them, or the truths to a file.

    Example: quietcrowd campaign export 0123456789abcdef0123456789abcdef -o reports.jsonl

    Example: quietcrowd campaign export 0123456789abcdef0123456789abcdef
    -o pool.tsv --format toloka

    Example: quietcrowd campaign export 0123456789abcdef0123456789abcdef --truths
    -o tasks.json --label-config project.xml
    """
    chosen = find_format(output, file_format).name
    check_target(output, chosen)
    refuse_overwriting(None, output, sidecar(output), label_config)
    options.check_label_config(label_config, chosen)
    with requester_client(server, secret) as client:
        if truths:
            export_truths(client, one, output, chosen)
        else:
            export_reports(client, one, output, chosen)
        if label_config is not None:
            export_label_config(client, one, output, label_config, truths=truths)
    note(f"Written to {output}.")

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
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from quietcrowd import cli_options as options
from quietcrowd.campaign.extra import require_client, require_server
from quietcrowd.campaign.gold import encode_gold
from quietcrowd.campaign.plain_text import one_line
from quietcrowd.campaign.refusals import refusal
from quietcrowd.campaign.server_address import ServerAddress
from quietcrowd.campaign.task_files import READERS
from quietcrowd.campaign.task_summary import summarize_tasks
from quietcrowd.cli_notes import note
from quietcrowd.cli_questions import read_line
from quietcrowd.cli_serve import Database
from quietcrowd.cli_tables import plain_table
from quietcrowd.domains import Domain
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.formats import FORMATS, check_target, read_reports, write_reports
from quietcrowd.formats.sidecar import sidecar, write_beside
from quietcrowd.formats.tables import find_format
from quietcrowd.formats.whole_file import replacing

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

_TABLE_MEDIA = {".csv": "text/csv", ".tsv": "text/tab-separated-values"}
_LINES = "application/x-ndjson"
_PART = 900_000
"""Bytes of tasks that are sent at once."""

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


@contextmanager
def _client(server: str, secret: str) -> Iterator[httpx.Client]:
    """Give a client of a server; what goes wrong on the way is one sentence.

    The key goes to no other machine without encryption, and through no proxy to this one.
    """
    require_client()
    import httpx

    if not secret:
        raise ParameterError(
            "a requester's key is needed: QUIETCROWD_KEY or --key; quietcrowd campaign key makes "
            "one"
        )
    address = ServerAddress.read(server)
    try:
        with httpx.Client(
            base_url=f"{address.url}/api/v1",
            headers={"Authorization": f"Bearer {secret}"},
            timeout=60,
            trust_env=not address.local,
        ) as client:
            yield client
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise ParameterError(f"the server {address.url} cannot be reached: {error}") from None


def _checked(response: httpx.Response) -> httpx.Response:
    """Return a response; ParameterError where it is a refusal."""
    if response.is_success:
        return response
    raise ParameterError(f"the server refuses: {refusal(response)}")


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
    from quietcrowd.campaign.database import Database as Opened
    from quietcrowd.campaign.migrating import migrate_beside_server
    from quietcrowd.campaign.requesters import issue_key

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
    from quietcrowd.campaign.database import Database as Opened

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
    description: Annotated[
        str, typer.Option(metavar="TEXT", help="What workers see below the title.")
    ] = "",
    method: options.MethodName = None,
    answers: Annotated[
        int | None, typer.Option(min=1, metavar="NUMBER", help="Most answers of a worker.")
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
    """
    _, maker = options.choose_mechanism(mechanism)
    chosen = maker(domain=options.build_domain(labels, levels, between), epsilon=epsilon)
    body = {
        "title": title,
        "description": description,
        "mechanism": chosen.to_dict(),
        "method": None if method is None else options.choose_method(method).to_dict(),
        "join_mode": "open" if for_all else "invite",
        "answers_per_participant": answers,
        "max_participants": participants,
    }
    kind, content = _read_tasks(tasks)
    summary = _summary(tasks, kind, content, chosen.domain)
    with _client(server, secret) as client:
        made: str = _checked(client.post("/campaigns", json=body)).json()["id"]
        with _deleting_on_failure(client, made):
            for part in _parts(content, header=kind in _TABLE_MEDIA.values()):
                url, headers = f"/campaigns/{made}/tasks", {"Content-Type": kind}
                _checked(client.post(url, content=part, headers=headers))
    note(summary)
    typer.echo(made)


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


def _read_tasks(path: Path) -> tuple[str, bytes]:
    """Return what is sent of a file of tasks, its media type first."""
    suffix = path.suffix.lower()
    if suffix in _TABLE_MEDIA:
        return _TABLE_MEDIA[suffix], path.read_bytes()
    if suffix == ".jsonl":
        return _LINES, path.read_bytes()
    if suffix != ".json":
        raise ParameterError(f"{path}: the name must end in .csv, .tsv, .jsonl or .json")
    try:
        found = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: this is no JSON: {error}") from None
    rows = found if isinstance(found, list) else [found]
    return _LINES, "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def _summary(path: Path, kind: str, content: bytes, domain: Domain) -> str:
    """Say what the server will take tasks for; errors name rows of the whole file."""
    try:
        rows = list(READERS[kind](content))
        encode_gold(domain, rows)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
    return summarize_tasks(rows)


def _parts(content: bytes, *, header: bool) -> Iterator[bytes]:
    """Cut a file into parts that one request holds; quoted cells with line breaks go whole."""
    lines = content.splitlines(keepends=True)
    first = lines[0] if header and lines else b""
    part, quotes = first, 0
    for line in lines[1 if header else 0 :]:
        if len(part) + len(line) > _PART and quotes % 2 == 0 and part != first:
            yield part
            part, quotes = first, 0
        part += line
        quotes += line.count(b'"') if header else 0
    yield part


@campaign.command(name="list")
def list_campaigns(
    as_json: options.Json = False, server: Server = _LOCAL, secret: Key = ""
) -> None:
    """Print your campaigns, by title.

    As JSON with all that the server says of them.

    Example: quietcrowd campaign list
    """
    with _client(server, secret) as client:
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
        page = _checked(client.get("/campaigns", params=wanted)).json()
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
    with _client(server, secret) as client:
        opened = _checked(client.post(f"/campaigns/{one}/open")).json()
        public = _checked(client.get(f"/public/campaigns/{one}")).json()
    note(f"Open. Workers agree to {opened['config_hash']}:")
    for sentence in public["config"]["consent"]:
        note(sentence)
    note(f"What comes of it: {ServerAddress.read(server).url}/dashboard/{one}")


@campaign.command()
def close(one: Campaign, server: Server = _LOCAL, secret: Key = "") -> None:
    """Take nothing in any more.

    Example: quietcrowd campaign close 0123456789abcdef0123456789abcdef
    """
    with _client(server, secret) as client:
        closed = _checked(client.post(f"/campaigns/{one}/close")).json()
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
    with _client(server, secret) as client:
        held = _checked(client.get(f"/campaigns/{one}")).json()
        note(
            f"{one_line(held['title'])} ({held['state']}): {held['tasks']:,} tasks, "
            f"{held['reports']:,} reports of {held['participants']:,} workers."
        )
        if not (yes or read_line("Delete all of it for good? [y/N] ").lower() in ("y", "yes")):
            note("Nothing was deleted.")
            raise typer.Exit(1)
        _checked(client.delete(f"/campaigns/{one}"))
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
    with _client(server, secret) as client:
        made = _checked(client.post(f"/campaigns/{one}/invites", json={"count": count})).json()
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
    with _client(server, secret) as client:
        found: dict[str, Any] = _checked(client.get(f"/campaigns/{one}/results")).json()
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
    server: Server = _LOCAL,
    secret: Key = "",
) -> None:
    """Write all reports, with what made them, or the truths to a file.

    Example: quietcrowd campaign export 0123456789abcdef0123456789abcdef -o reports.jsonl

    Example: quietcrowd campaign export 0123456789abcdef0123456789abcdef
    -o pool.tsv --format toloka

    Example: quietcrowd campaign export 0123456789abcdef0123456789abcdef --truths
    -o tasks.json
    """
    chosen = find_format(output, file_format).name
    check_target(output, chosen)
    with _client(server, secret) as client:
        if truths:
            _export_truths(client, one, output, chosen)
        else:
            _export_reports(client, one, output, chosen)
    note(f"Written to {output}.")


def _export_truths(client: httpx.Client, one: str, output: Path, chosen: str) -> None:
    served = {"csv": "csv", "crowd-kit": "csv", "jsonl": "jsonl", "label-studio": "label-studio"}
    if chosen not in served or output.suffix.lower() not in (".csv", ".jsonl", ".json"):
        raise ParameterError(f"{output}: truths go to a file .csv, .jsonl or .json")
    with replacing(output) as temporary:
        _download(client, f"/campaigns/{one}/truths", served[chosen], temporary)


def _export_reports(client: httpx.Client, one: str, output: Path, chosen: str) -> None:
    """Let the server write what it can, and convert the rest here."""
    url = f"/campaigns/{one}/reports"
    if output.suffix.lower() == ".jsonl":
        with replacing(output) as temporary:
            _download(client, url, "jsonl", temporary)
    elif chosen in ("csv", "crowd-kit") and output.suffix.lower() == ".csv":
        about = _checked(client.get(url, params={"format": "mechanism"}))
        with replacing(output) as temporary:
            _download(client, url, "csv", temporary)
            sidecar(output).unlink(missing_ok=True)
        write_beside(output, about.json())
    else:
        with TemporaryDirectory() as folder:
            received = Path(folder) / "reports.jsonl"
            _download(client, url, "jsonl", received)
            write_reports(read_reports(received), output, file_format=chosen)


def _download(client: httpx.Client, url: str, kind: str, target: Path) -> None:
    with client.stream("GET", url, params={"format": kind}) as response:
        if not response.is_success:
            response.read()
        _checked(response)
        with target.open("wb") as file:
            for block in response.iter_bytes():
                file.write(block)

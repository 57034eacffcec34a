"""``quietcrowd partition``: a store for data larger than memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from quietcrowd.commands import options
from quietcrowd.commands.campaign.client import LOCAL, Key, Server, check_id, requester_client
from quietcrowd.commands.campaign.export import download_parquet
from quietcrowd.commands.files import tell_dropped
from quietcrowd.commands.printing import counted, note
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats.files import check_new
from quietcrowd.validation import check_choice

if TYPE_CHECKING:
    from quietcrowd.scale import Store

__all__ = ["app", "partition"]

app = typer.Typer(rich_markup_mode=None)

_ROWS_OF_CAMPAIGN = 1_000_000
"""Rows per partition of a campaign: half the default, so 10^7 reports need at most 0.5 GB."""


def _check_campaign(one: str | None) -> str | None:
    return None if one is None else check_id(one)


@app.command()
def partition(
    reports: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="REPORTS",
            help="Parquet files of reports of one mechanism; or of answers, with --plain.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FOLDER", help="Required. A new folder for the store."
        ),
    ] = None,
    plain: options.Plain = False,
    labels: options.Labels = None,
    levels: options.Levels = None,
    between: options.Between = None,
    columns: options.Columns = options.COLUMNS,
    duplicates: options.Duplicates = options.DUPLICATES,
    skip_outside: options.SkipOutside = False,
    partitions: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            help="How many. Default: one for about 2 million rows each, 1 million of a campaign.",
        ),
    ] = None,
    campaign: Annotated[
        str | None,
        typer.Option(
            metavar="CAMPAIGN",
            help="Instead of files: all reports of a campaign, by its id.",
            callback=_check_campaign,
        ),
    ] = None,
    server: Server = LOCAL,
    secret: Key = "",
) -> None:
    """Make a store for infer, of data larger than memory.

    A store is a folder of partitions, which infer passes over one by one.

    Example: quietcrowd partition reports.parquet -o big

    Example: quietcrowd partition january.parquet february.parquet --plain
    --labels no,yes -o big

    Example: quietcrowd partition --campaign 0123456789abcdef0123456789abcdef -o big
    """
    from quietcrowd.scale import partition_parquet

    if output is None:
        raise ParameterError("say where the store goes: --output FOLDER")
    names = options.three_columns(columns)
    changed = (columns, duplicates, skip_outside) != (options.COLUMNS, options.DUPLICATES, False)
    if not plain and (changed or any((labels, levels, between))):
        raise ParameterError(
            "--labels, --levels, --between, --columns, --skip-outside and --duplicates go with "
            "--plain: reports carry what they can be"
        )
    check_choice("--duplicates", duplicates, ("error", "first", "last"))
    if bool(reports) == (campaign is not None) or (campaign is not None and plain):
        raise ParameterError("name files, or the campaign whose reports they are: --campaign ID")
    with ExitStack() as held:
        if campaign is not None:
            check_new(output, "folder")
            file = held.enter_context(_reports_of(campaign, output, server, secret))
            reports, partitions = [file], partitions or _few_rows_each(file)
        store = partition_parquet(
            reports or [],
            output,
            domain=options.build_domain(labels, levels, between) if plain else None,
            columns=names,
            partitions=partitions,
            duplicates=duplicates,  # type: ignore[arg-type]
            out_of_domain="skip" if skip_outside else "error",
            threads=None if campaign is None else 1,  # the download is slower; saves memory
            progress=sys.stderr.isatty(),
        )
    _tell(store)


@contextmanager
def _reports_of(campaign: str, output: Path, server: str, secret: str) -> Iterator[Path]:
    """Provide a temporary Parquet file of a campaign's reports, next to the future store."""
    with TemporaryDirectory(dir=output.parent) as folder:
        file = Path(folder) / "reports.parquet"
        with requester_client(server, secret) as client:
            download_parquet(client, campaign, file)
        yield file


def _few_rows_each(file: Path) -> int:
    """Return the number of partitions for a low memory use."""
    from pyarrow.parquet import read_metadata

    from quietcrowd.scale.importing import MOST_PARTITIONS

    rows: int = read_metadata(file).num_rows
    return min(max(1, round(rows / _ROWS_OF_CAMPAIGN)), MOST_PARTITIONS)


def _tell(store: Store) -> None:
    tell_dropped(store.dropped)
    left_out = store.dropped.null_reports
    null = f"{counted(left_out, 'NULL report')} left out; " * bool(left_out)
    note(
        f"{counted(store.tasks, 'task')}, {counted(len(store.workers), 'worker')}, "
        f"{counted(len(store), 'answer')}; {null}"
        f"{counted(len(store.partitions), 'partition')} written to {store.folder}."
    )
    if store.mechanism is None:
        note("The store holds the answers themselves: who can read the folder can read them.")
    elif store.simulated:
        note("These reports are simulated: they protect nobody.")

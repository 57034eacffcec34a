"""``quietcrowd convert --to store``: a store for data larger than memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from quietcrowd.commands import options
from quietcrowd.commands.campaign.client import OnServer, check_id
from quietcrowd.commands.campaign.export import download_parquet
from quietcrowd.commands.declare import option, option_group
from quietcrowd.commands.files import print_dropped
from quietcrowd.commands.options import PossibleAnswers
from quietcrowd.commands.printing import counted, note
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats.files import check_new
from quietcrowd.validation import check_choice

if TYPE_CHECKING:
    from quietcrowd.scale import Store

_ROWS_OF_CAMPAIGN = 1_000_000
"""Rows per partition of a campaign: half the default, so 10^7 reports need at most 0.5 GB."""


@option_group("With --to store")
class StoreOptions(PossibleAnswers, OnServer):
    """Options for a store."""

    non_private: bool = options.NON_PRIVATE
    duplicates: str = options.DUPLICATES
    drop_invalid: bool = options.DROP_INVALID
    partitions: int | None = option(
        metavar="NUMBER",
        help="Number of partitions. Default: one per 2 million rows (of a campaign 1 million).",
        default=None,
    )
    campaign: str | None = option(
        metavar="CAMPAIGN",
        help="Id of a campaign with reports to store, instead of files.",
        callback=lambda one: None if one is None else check_id(one),
        default=None,
    )

    def write_store(self, sources: list[Path], output: Path, columns: str) -> None:
        """Create a store of files, or of a campaign's reports."""
        from quietcrowd.scale import partition_parquet

        task, worker, label = map(str, options.three_columns(columns))
        self._check(sources, columns)
        partitions = self.partitions
        with ExitStack() as held:
            if self.campaign is not None:
                check_new(output, "folder")
                sources = [held.enter_context(self._reports_of(self.campaign, output))]
                partitions = partitions or _few_rows_each(sources[0])
            store = partition_parquet(
                sources,
                output,
                domain=self.domain() if self.non_private else None,
                columns=(task, worker, label),
                partitions=partitions,
                duplicates=self.duplicates,  # type: ignore[arg-type]
                out_of_domain="skip" if self.drop_invalid else "error",
                # one thread, as the download is slower; saves memory
                n_jobs=None if self.campaign is None else 1,
                progress=sys.stderr.isatty(),
            )
        _print(store)

    def _check(self, sources: list[Path], columns: str) -> None:
        changed = (columns, self.duplicates, self.drop_invalid)
        usual = (options.USUAL_COLUMNS, options.USUAL_DUPLICATES, False)
        if not self.non_private and (changed != usual or any(self.written.values())):
            raise ParameterError("commands.options-need-non-private-store")
        check_choice("--duplicates", self.duplicates, ("error", "first", "last"))
        from_campaign = self.campaign is not None
        if bool(sources) == from_campaign or (from_campaign and self.non_private):
            raise ParameterError("commands.files-or-campaign-missing")

    @contextmanager
    def _reports_of(self, campaign: str, output: Path) -> Iterator[Path]:
        with TemporaryDirectory(dir=output.parent) as folder:
            file = Path(folder) / "reports.parquet"
            with self.client() as client:
                download_parquet(client, campaign, file)
            yield file


def _few_rows_each(file: Path) -> int:
    from pyarrow.parquet import read_metadata

    from quietcrowd.scale.importing import MOST_PARTITIONS

    rows: int = read_metadata(file).num_rows
    return min(max(1, round(rows / _ROWS_OF_CAMPAIGN)), MOST_PARTITIONS)


def _print(store: Store) -> None:
    print_dropped(store.dropped)
    left_out = store.dropped.null_reports
    null = f"{counted(left_out, 'NULL report')} dropped; " * bool(left_out)
    note(
        f"{counted(store.tasks, 'task')}, {counted(len(store.workers), 'worker')}, "
        f"{counted(len(store), 'answer')}; {null}"
        f"{counted(len(store.partitions), 'partition')} written to {store.folder}."
    )
    if store.mechanism is None:
        note("The store contains non-private answers. Anyone with access to it can read them.")
    elif store.simulated:
        note("These reports are simulated and protect no one.")

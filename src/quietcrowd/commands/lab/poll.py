"""``quietcrowd lab poll``: shuffled counts of the answers to one question."""

import json
from collections.abc import Sequence
from pathlib import Path

import typer

from quietcrowd.commands import options
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.lab.published_polls import Overlap, held_records, record_output
from quietcrowd.commands.printing import counted, note, print_frame, records_of
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats import check_target, read_reports, write_table
from quietcrowd.formats.files import check_new, refuse_overwriting
from quietcrowd.polls import (
    PollResult,
    ShuffledGuarantee,
    fewest_honest,
    poll,
    shuffled_guarantee,
)
from quietcrowd.privacy.rounding import show_loss
from quietcrowd.validation import check_proportion


@command()
class Poll:
    """Shuffle and count the reports of one question.

    How frequent each answer is follows from the counts and the law of the reports: labels, by
    one-layer or optimal, or sets of labels, by subset-selection.

    Whoever runs it is the shuffler: it sees who sent which report, and gives out how frequent each
    answer is, nothing else. Give the files to nobody. It prints two losses: that of a report, which
    needs no shuffler; and that towards those who see one output alone, with its assumption.

    A report may enter one published output only: the difference of two reveals reports. Poll when
    all reports are there. Files NAME.published.json beside the reports guard against mistakes; they
    do not recognize copies of the reports.

    Example: quietcrowd lab poll reports.parquet --min-honest 500

    Example: quietcrowd lab poll ann.csv ben.csv cem.csv --delta 1e-8 -o shares.csv
    """

    reports: list[Path] = argument(
        metavar="REPORTS", help="Files of reports of one question and one mechanism."
    )
    min_honest: int | None = option(
        metavar="NUMBER",
        help="How many reports are honest at least, each worker's own among them. Default: "
        "all, which is then said to be assumed.",
        default=None,
    )
    delta: float = option(metavar="NUMBER", help="Delta of the second number.", default=1e-6)
    output: Path | None = options.OUTPUT
    as_json: bool = options.JSON

    def run(self) -> None:
        """Count, record the output, and print it."""
        check_proportion("--delta", self.delta)
        if self.output is not None:
            check_target(self.output)
            for path in self.reports:
                refuse_overwriting(path, self.output)
            check_new(self.output)
        found = poll(read_reports(*self.reports))
        if self.min_honest is not None and not 1 <= self.min_honest <= found.workers:
            raise ParameterError(
                "commands.min-honest-exceeds-workers", workers=found.workers, honest=self.min_honest
            )
        told = shuffled_guarantee(
            found.mechanism, honest=self.min_honest or found.workers, delta=self.delta
        )
        _publish(self.reports, found, told)
        fewest = None
        if told.epsilon == told.local.total_epsilon:
            fewest = fewest_honest(found.mechanism, delta=self.delta)
        if self.output is not None:
            write_table(found.to_frame(), self.output)
        if self.as_json:
            typer.echo(_as_json(found, told, fewest, assumed=self.min_honest is None))
        elif self.output is None:
            print_frame(found.to_frame(), "--output shares.csv")
        _print(found, told, fewest, assumed=self.min_honest is None)


def _publish(reports: Sequence[Path], found: PollResult, told: ShuffledGuarantee) -> None:
    """Record the publication; raise ParameterError if other outputs contain some of the reports.

    The output depends on the reports only, so the same reports may be polled again.
    """
    with held_records(reports) as records:
        if sum(len(record.rows) for record in records) != found.workers:
            raise ParameterError("commands.files-changed")
        overlap = Overlap.of(records)
        if not overlap.published:
            record_output(records)
    if not overlap.published or overlap.same:
        return

    def loss(group: int) -> str:
        """Return the epsilon of a report in a group that may contain all dishonest ones."""
        honest = max(1, group - (found.workers - told.honest))
        return show_loss(
            shuffled_guarantee(found.mechanism, honest=honest, delta=told.delta).epsilon
        )

    new = counted(overlap.new, "new report")
    other = f", or poll the {new} from another file (epsilon = {loss(overlap.new)})"
    raise ParameterError(
        "commands.published-before",
        published=overlap.published,
        workers=found.workers,
        counted=counted(overlap.outputs, "output"),
        outputs=counted(overlap.smallest, "report"),
        loss=loss(overlap.smallest),
        other_loss=show_loss(told.epsilon),
        alternative=other if overlap.new else "",
        paths=", ".join(str(record.path) for record in records),
    )


def _as_json(
    found: PollResult, told: ShuffledGuarantee, fewest: int | None, *, assumed: bool
) -> str:
    return json.dumps(
        {
            "workers": found.workers,
            "simulated": found.simulated,
            "shares": records_of(found.to_frame()),
            "local_epsilon": told.local.total_epsilon,
            "shuffled": {
                "epsilon": told.epsilon,
                "delta": told.delta,
                "honest": told.honest,
                "honest_assumed": assumed,
                "assumption": told.assumption,
                "source": told.source,
                "adds": told.epsilon < told.local.total_epsilon,
                "adds_from": fewest,
            },
        }
    )


def _print(
    found: PollResult, told: ShuffledGuarantee, fewest: int | None, *, assumed: bool
) -> None:
    note(f"{counted(found.workers, 'report')} of one question, each of another worker.")
    note(str(told))
    if told.epsilon == told.local.total_epsilon > 0:
        enough = "nor with 10,000,000" if fewest is None else f"but from {fewest:,} on"
        note(
            f"Shuffling is not shown to add anything with {told.honest:,} honest reports, {enough}."
        )
    if assumed:
        note(
            f"This assumes that all {found.workers:,} reports are honest. Set --min-honest to the "
            "number that you can vouch for."
        )
    if told.delta >= 1 / found.workers:
        note(
            f"Delta = {told.delta:g} is not below 1 in {found.workers:,}: to show one worker's "
            "answer to all would be as private. Take a smaller --delta."
        )
    if found.simulated:
        note("The noise is simulated: these reports protect nobody.")

"""``quietcrowd lab poll``: shuffled counts of the answers to one question.

Records next to the files of reports guard against a second output with some of the reports. A
record identifies reports by keyed hashes, in any order and after rows were added. It does not
recognize them in a copy of the file elsewhere.
"""

from __future__ import annotations

import json
import secrets
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

import typer
from attrs import evolve, frozen

from quietcrowd.commands import options
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.printing import counted, note, print_frame, records_of
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.formats import check_target, read_reports, write_table
from quietcrowd.formats.files import check_new, replacing, require_no_overwriting
from quietcrowd.polls import PollResult, ShuffledGuarantee, fewest_honest, poll, shuffled_guarantee
from quietcrowd.privacy.rounding import show_loss
from quietcrowd.private_files import file_lock
from quietcrowd.validation import check_proportion, parse_json


@command()
class Poll:
    """Shuffle and count the reports of one question.

    It estimates the frequency of each answer from reports of one-layer, optimal or
    subset-selection.

    The user of this command is the shuffler, who sees the sender of every report and publishes only
    frequencies. Give the files to no one. It prints two losses. The first is for a report, without
    a shuffler. The second is for the output, against anyone who sees only this output, with its
    assumption.

    A report may enter only one published output, because the difference of two reveals reports.
    Poll when all reports have arrived. Files NAME.published.json next to the reports prevent
    mistakes, but do not recognize copies of the reports.

    Example: quietcrowd lab poll reports.parquet --min-honest 500

    Example: quietcrowd lab poll ann.csv ben.csv cem.csv --delta 1e-8 -o shares.csv
    """

    reports: list[Path] = argument(
        metavar="REPORTS", help="Files of reports of one question and one mechanism."
    )
    min_honest: int | None = option(
        metavar="NUMBER",
        help="Minimum number of honest reports, including the worker's. Default: all, as a stated "
        "assumption.",
        default=None,
    )
    delta: float = option(metavar="NUMBER", help="Delta of the shuffled output.", default=1e-6)
    output: Path | None = options.OUTPUT
    as_json: bool = options.JSON

    def run(self) -> None:
        """Count, record the output, and print it."""
        check_proportion("--delta", self.delta)
        if self.output is not None:
            check_target(self.output)
            for path in self.reports:
                require_no_overwriting(path, self.output)
            check_new(self.output)
        found = poll(read_reports(*self.reports))
        if self.min_honest is not None and not 1 <= self.min_honest <= found.workers:
            raise ParameterError(
                "commands.min-honest-exceeds-workers", workers=found.workers, honest=self.min_honest
            )
        guarantee = shuffled_guarantee(
            found.mechanism, honest=self.min_honest or found.workers, delta=self.delta
        )
        _publish(self.reports, found, guarantee)
        fewest = None
        if guarantee.epsilon == guarantee.local.total_epsilon:
            fewest = fewest_honest(found.mechanism, delta=self.delta)
        if self.output is not None:
            write_table(found.to_frame(), self.output)
        if self.as_json:
            typer.echo(_as_json(found, guarantee, fewest, assumed=self.min_honest is None))
        elif self.output is None:
            print_frame(found.to_frame(), "--output shares.csv")
        _print(found, guarantee, fewest, assumed=self.min_honest is None)


def _publish(reports: Sequence[Path], found: PollResult, guarantee: ShuffledGuarantee) -> None:
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
        """Return the epsilon of a report in a group of this size with all dishonest workers."""
        honest = max(1, group - (found.workers - guarantee.honest))
        return show_loss(
            shuffled_guarantee(found.mechanism, honest=honest, delta=guarantee.delta).epsilon
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
        other_loss=show_loss(guarantee.epsilon),
        alternative=other if overlap.new else "",
        paths=", ".join(str(record.path) for record in records),
    )


def _as_json(
    found: PollResult, guarantee: ShuffledGuarantee, fewest: int | None, *, assumed: bool
) -> str:
    return json.dumps(
        {
            "workers": found.workers,
            "simulated": found.simulated,
            "shares": records_of(found.to_frame()),
            "local_epsilon": guarantee.local.total_epsilon,
            "shuffled": {
                "epsilon": guarantee.epsilon,
                "delta": guarantee.delta,
                "honest": guarantee.honest,
                "honest_assumed": assumed,
                "assumption": guarantee.assumption,
                "source": guarantee.source,
                "adds": guarantee.epsilon < guarantee.local.total_epsilon,
                "adds_from": fewest,
            },
        }
    )


def _print(
    found: PollResult, guarantee: ShuffledGuarantee, fewest: int | None, *, assumed: bool
) -> None:
    note(f"{counted(found.workers, 'report')} of one question, each from a different worker.")
    note(str(guarantee))
    if guarantee.epsilon == guarantee.local.total_epsilon > 0:
        needed = (
            "10,000,000 are too few as well"
            if fewest is None
            else f"at least {fewest:,} are needed"
        )
        note(f"Shuffling has no proven benefit with {guarantee.honest:,} honest reports; {needed}.")
    if assumed:
        note(
            f"This assumes that all {found.workers:,} reports are honest. Set --min-honest to a "
            "number that you can vouch for."
        )
    if guarantee.delta >= 1 / found.workers:
        note(
            f"Delta = {guarantee.delta:g} is not below 1 in {found.workers:,}, so it would even "
            "permit publishing one worker's answer. Use a smaller --delta."
        )
    if found.simulated:
        note("The noise is simulated: these reports protect no one.")


_WHAT = (
    "quietcrowd lab poll published counts of reports in the file next to this record. A report may "
    "enter only one published output, since the difference of two outputs reveals reports. This "
    "record prevents mistakes, but does not recognize copies of the file. Keep it as private as "
    "the reports. Delete it only if no output was shown to anyone."
)

_BYTES = 12
"""Length of a hash; among 10,000,000 reports, two collide with probability below 1e-14."""


def record_path(path: Path) -> Path:
    """Return the path of the record of a file of reports, resolving links."""
    real = path.resolve()
    return real.with_name(f"{real.name}.published.json")


@contextmanager
def held_records(files: Sequence[Path]) -> Iterator[list[PollRecord]]:
    """Read and lock the records of files of reports within a context."""
    with ExitStack() as held:
        for path in sorted({record_path(file) for file in files}):  # sorted against deadlocks
            held.enter_context(file_lock(path.with_name(f"{path.name}.lock"), wait=True))
        yield [PollRecord.read(file) for file in files]


@frozen(kw_only=True)
class PollRecord:
    """Reports of a file, and the outputs of earlier polls that contain some of them.

    `key` is that of the hashes. `rows` are hashes of the reports that are in the file now, without
    repeated ones. `outputs` maps random ids, shared between files, to the number of reports in the
    output and the hashes of those from this file.
    """

    path: Path
    key: bytes
    rows: frozenset[bytes]
    outputs: dict[str, tuple[int, frozenset[bytes]]]

    @classmethod
    def read(cls, reports: Path) -> PollRecord:
        """Read a file of reports and its record, if there is one."""
        path = record_path(reports)
        key, outputs = _parsed(path) if path.exists() else (secrets.token_bytes(32), {})
        found = read_reports(reports).to_frame("pyarrow").to_pylist()
        rows = frozenset(_hash(key, row) for row in found if not row.get("again"))
        return cls(path=path, key=key, rows=rows, outputs=outputs)

    def write(self) -> None:
        """Write this record, replacing an earlier one."""
        outputs = [
            # sorted, so that the order reveals nothing
            {"id": one, "reports": count, "rows": b64encode(b"".join(sorted(rows))).decode()}
            for one, (count, rows) in self.outputs.items()
        ]
        document = {"what": _WHAT, "key": self.key.hex(), "outputs": outputs}
        with replacing(self.path) as temporary:
            temporary.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _hash(key: bytes, row: dict[str, Any]) -> bytes:
    text = json.dumps([str(row["task"]), str(row["worker"]), str(row["label"])])
    return blake2b(text.encode(), key=key, digest_size=_BYTES).digest()


def _parsed(path: Path) -> tuple[bytes, dict[str, tuple[int, frozenset[bytes]]]]:
    try:
        document = parse_json(path.read_text(encoding="utf-8"))
        outputs = {}
        for one in document["outputs"]:
            joined = b64decode(one["rows"], validate=True)
            rows = (joined[place : place + _BYTES] for place in range(0, len(joined), _BYTES))
            outputs[str(one["id"])] = (int(one["reports"]), frozenset(rows))
        return bytes.fromhex(document["key"]), outputs
    except (KeyError, TypeError, ValueError, RecursionError):
        raise FormatError("commands.record-damaged", path=path) from None


@frozen(kw_only=True)
class Overlap:
    """Overlap of an output with outputs published before.

    `published` of the reports are in earlier outputs and `new` ones in none. `outputs` counts the
    earlier outputs with some of them, and `same` is True if one has exactly these reports.
    `smallest` is the size of the smallest group whose counts follow from all outputs together. A
    report is in one group, so its loss is at most that of an output of this group.
    """

    published: int
    new: int
    outputs: int
    same: bool
    smallest: int

    @classmethod
    def of(cls, records: Sequence[PollRecord]) -> Overlap:
        """Return the overlap of all reports in these records."""
        totals: dict[str, int] = {}
        shared: Counter[str] = Counter()
        new = 0
        for record in records:
            fresh = record.rows
            for one, (count, rows) in record.outputs.items():
                totals[one] = count
                shared[one] += len(rows & record.rows)
                fresh -= rows
            new += len(fresh)
        shared = +shared  # drops outputs that share no report
        now = sum(len(record.rows) for record in records)
        groups = [new, *shared.values(), *(totals[one] - shared[one] for one in shared)]
        return cls(
            published=now - new,
            new=new,
            outputs=len(shared),
            same=any(shared[one] == totals[one] == now for one in shared),
            smallest=min(size for size in groups if size > 0),
        )


def record_output(records: Sequence[PollRecord]) -> None:
    """Record next to each file that an output with all its reports is published."""
    one, total = secrets.token_hex(16), sum(len(record.rows) for record in records)
    for record in records:
        evolve(record, outputs={**record.outputs, one: (total, record.rows)}).write()

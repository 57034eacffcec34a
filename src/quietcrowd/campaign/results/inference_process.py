"""Inference in a separate process, so that uploads do not wait for it.

It reads a line of JSON from standard input (database address, modules, limits), and then campaign
ids in hex, one per line. It answers each line with ``done`` and the seconds, ``nothing``, ``later``
(the database is unavailable) or ``failed``. It ends with its input, when the server is gone.
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define, evolve, field
from sqlalchemy import Connection, select

from quietcrowd.campaign.results.estimates import Estimates, estimate
from quietcrowd.campaign.results.filed_reports import FiledReports, file_stored
from quietcrowd.campaign.results.following import infer_rounds, method_of
from quietcrowd.campaign.results.large_campaigns import LargeCampaigns, work_folder
from quietcrowd.campaign.results.report_blocks import marks_reports, parts_by_choice
from quietcrowd.campaign.results.reports import (
    Inferred,
    LeftOut,
    ReportsToInfer,
    StoredReports,
    read_left_out,
    read_rounds,
    read_stored,
)
from quietcrowd.campaign.results.results import (
    Findings,
    Provenance,
    failed_findings,
    is_fixed,
    read_provenance,
    write_failure,
    write_results,
)
from quietcrowd.campaign.results.snapshots import Again, snapshot
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.allotments import fixed_allotment
from quietcrowd.campaign.store.database import UNAVAILABLE, Database
from quietcrowd.campaign.store.releases import erasures_shown, method_shown
from quietcrowd.campaign.terms.advice import to_requester
from quietcrowd.campaign.terms.plain_text import reading_order
from quietcrowd.exceptions import (
    ConvergenceWarning,
    QuietcrowdError,
    QuietcrowdWarning,
    RemovedMechanismError,
)

GivenTasks = Sequence[tuple[bytes, int]]
"""Ids of all tasks in the order of their names, and how often each was assigned."""


def read_given(connection: Connection, campaign: Any) -> GivenTasks | None:
    """Return how often tasks were assigned, in the transaction that reads the reports, or None."""
    if fixed_allotment(campaign) != "suggested":
        return None
    task = tables.task.c
    wanted = select(task.name, task.id, task.asked).where(task.campaign_id == campaign.id)
    return [(row.id, row.asked) for row in sorted(connection.execute(wanted).all())]


def next_answers(campaign: Any, tasks: int) -> int:
    """Return how many answers to suggest at a time.

    At least those of one release, and one for every second task: a server may assign many tasks
    before the next release.
    """
    each: int = json.loads(campaign.config)["answers_per_participant"]
    least: int = campaign.at_least
    return max(each * least, -(-tasks // 2))


def task_aims(
    given: GivenTasks, reported: npt.NDArray[np.int64], suggested: npt.NDArray[np.int64]
) -> Iterator[Mapping[str, Any]]:
    """Yield the target number of assignments per task since the beginning (``task_id``, ``aim``).

    The target is the number of reports times the mean number of assignments per report, plus the
    `suggested` answers, both of shape (tasks,). The mean accounts for workers who have not
    answered. So excess pending assignments of a task count toward its target. At least one report
    is needed.
    """
    per_report = max(1.0, sum(asked for _, asked in given) / int(reported.sum()))
    aims = np.rint(reported * per_report).astype(np.int64) + suggested
    for (task, _), aim in zip(given, aims.tolist(), strict=True):
        yield {"task_id": task.hex(), "aim": aim}


def messages_of(caught: Sequence[warnings.WarningMessage]) -> Iterator[str]:
    """Yield the texts of warnings; results report a missing convergence themselves."""
    for one in caught:
        warning = one.message
        if isinstance(warning, QuietcrowdWarning) and not isinstance(warning, ConvergenceWarning):
            yield to_requester(warning)


_Reports: TypeAlias = StoredReports | FiledReports

_CACHED = 8
_NICE = 10  # lower priority than uploads


@define
class Inferrer:
    """Inference from earlier estimates of the same withdrawals, exclusions and method."""

    database: Database
    large: LargeCampaigns = field(factory=LargeCampaigns)
    _earlier: dict[bytes, tuple[Any, Any]] = field(factory=dict, init=False)

    def infer(self, campaign: bytes) -> bool:
        """Write the results of a campaign unless it changed; return whether there are any."""
        try:
            with ExitStack() as held:
                return self._infer(campaign, held)
        except RemovedMechanismError as error:
            with self.database.write() as connection:
                provenance = read_provenance(connection, campaign)
                if provenance is not None:
                    write_failure(connection, provenance, to_requester(error))
            return False

    def _infer(self, campaign: bytes, held: ExitStack) -> bool:
        with self.database.read() as connection:
            row = connection.execute(
                select(
                    tables.campaign,
                    erasures_shown().label("withdrawals"),
                    method_shown().label("named"),
                ).where(tables.campaign.c.id == campaign)
            ).one_or_none()
            if row is None or is_fixed(connection, row):
                self._earlier.pop(campaign, None)
                return False
            wanted = ReportsToInfer.of(connection, row)
            stored: _Reports | None
            rounds: Mapping[int, StoredReports | None] = {}
            if row.rounds is not None:
                stored, (rounds, reports) = None, read_rounds(connection, wanted)
            elif self.large.include(row):
                folder = held.enter_context(work_folder(self.large.folder))
                stored = file_stored(connection, wanted, folder, self.large)
            else:
                stored = read_stored(connection, wanted)
            left_out = read_left_out(connection, row)
            given = read_given(connection, row)
        if row.rounds is not None:
            return self._write_rounds(wanted, rounds, reports, left_out)
        if stored is None and not left_out.reports:
            self._earlier.pop(campaign, None)
            return False
        return self._write(row, left_out, self._findings(wanted, stored, left_out, given))

    def _findings(
        self,
        wanted: ReportsToInfer,
        stored: _Reports | None,
        left_out: LeftOut,
        given: GivenTasks | None,
    ) -> Findings:
        row = wanted.campaign
        config_hash = row.config_hash.hex()
        if stored is None:
            return failed_findings(
                config_hash=config_hash,
                reports=0,
                participants=0,
                excluded=left_out.workers,
                reason="All workers with reports are excluded.",
            )
        rows = stored.rows
        method = method_of(row.named, rows)
        before, start = self._earlier.pop(row.id, (None, None))
        if before != (row.withdrawals, row.exclusions, method):
            start = None
        estimates = _estimates(wanted, stored)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", QuietcrowdWarning)
            try:
                found = wanted.of_tasks(stored.infer(method, start))
                aims: Sequence[Mapping[str, Any]] = ()
                if given is not None and found.method.suggests_tasks:  # else of an older server
                    suggested = found.suggest(next_answers(row, len(given)))
                    aims = list(task_aims(given, rows.per_task, suggested))
            except QuietcrowdError as error:
                return failed_findings(
                    config_hash=config_hash,
                    reports=rows.sent,
                    participants=len(rows.per_worker),
                    excluded=left_out.workers,
                    reason=to_requester(error),
                    estimates=estimates,
                )
        while len(self._earlier) >= _CACHED:
            self._earlier.pop(next(iter(self._earlier)))
        now = (row.withdrawals, row.exclusions, found.start.method)
        self._earlier[row.id] = now, found.start
        made = _snapshot(row, stored, found, list(messages_of(caught)), left_out)
        return evolve(made, aims=aims, estimates=estimates)

    def _write_rounds(
        self,
        wanted: ReportsToInfer,
        rounds: Mapping[int, StoredReports | None],
        reports: int,
        left_out: LeftOut,
    ) -> bool:
        """Write the results of all shown rounds with reports, from one chain of fits."""
        row = wanted.campaign
        if not reports and not left_out.reports:
            return False
        found = _findings_of_rounds(wanted, rounds, left_out)
        provenance = _provenance(row, reports + left_out.reports)
        with ExitStack() as held:
            folder = self.large.folder
            pages = {
                number: held.enter_context(one.in_pages(folder)) for number, one in found.items()
            }
            connection = held.enter_context(self.database.write())
            return write_results(connection, provenance, pages[max(pages)], pages)

    def _write(self, row: Any, left_out: LeftOut, findings: Findings) -> bool:
        provenance = _provenance(row, findings.head["reports"] + left_out.reports)
        pages_of = findings.in_pages(self.large.folder)
        with pages_of as pages, self.database.write() as connection:
            written = write_results(connection, provenance, pages)
        if not written:
            self._earlier.pop(row.id, None)
        return written


def _provenance(row: Any, reports: int) -> Provenance:
    return Provenance(
        campaign=row.id,
        reports=reports,
        erasures=row.withdrawals,
        method=row.named,
        exclusions=row.exclusions,
        round=row.shown_round,
    )


def _estimates(wanted: ReportsToInfer, stored: _Reports) -> Estimates:
    names = sorted(wanted.names, key=reading_order)
    return estimate(stored.independent, wanted.questions, names, wanted.copies)


def _snapshot(
    row: Any, stored: _Reports, found: Inferred, messages: Sequence[str], left_out: LeftOut
) -> Findings:
    return snapshot(
        found,
        stored.rows,
        stored.independent,
        again=Again(stored.again, row.at_least) if marks_reports(row) else None,
        config_hash=row.config_hash.hex(),
        messages=messages,
        answers=json.loads(row.config)["answers_per_participant"],
        excluded=left_out.workers,
        open_to_all=row.join_mode == "open",
        parts=parts_by_choice(row),
    )


def _findings_of_rounds(
    wanted: ReportsToInfer, rounds: Mapping[int, StoredReports | None], left_out: LeftOut
) -> dict[int, Findings]:
    row, findings = wanted.campaign, {}
    heard = {number: stored for number, stored in rounds.items() if stored is not None}
    inferred: Mapping[int, Inferred] = {}
    reason = "All reports of this round were deleted, or their workers are excluded."
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", QuietcrowdWarning)
        try:
            lasting = json.loads(row.rounds)["facts"] == "lasting"
            if heard:
                inferred = infer_rounds(row.named, heard, wanted.questions, lasting=lasting)
        except QuietcrowdError as error:
            reason = to_requester(error)
    for number, stored in rounds.items():
        if stored is not None and number in inferred:
            found = wanted.of_tasks(inferred[number])
            made = _snapshot(row, stored, found, list(messages_of(caught)), left_out)
        else:
            made = failed_findings(
                config_hash=row.config_hash.hex(),
                reports=0 if stored is None else stored.rows.sent,
                participants=0 if stored is None else len(stored.rows.per_worker),
                excluded=left_out.workers,
                reason=reason,
            )
        estimates = made.estimates if stored is None else _estimates(wanted, stored)
        head = {**made.head, "round": number}
        findings[number] = evolve(made, head=head, estimates=estimates)
    return findings


def main() -> None:
    """Serve one server until it closes the pipe."""
    if sys.platform != "win32":
        os.nice(_NICE)
    begun = json.loads(sys.stdin.readline())
    for name in begun["modules"]:
        with suppress(ImportError):  # only campaigns that need the module fail
            import_module(name)
    database = Database.open(begun["database"], pool_size=1)
    inferrer = Inferrer(database, LargeCampaigns(**begun["large"]))
    for number, line in enumerate(sys.stdin):
        start = time.monotonic()
        try:
            found = inferrer.infer(bytes.fromhex(line.strip()))
            seconds = time.monotonic() - start if number else 0.0  # the first includes imports
            answer = f"done {seconds:.3f}" if found else "nothing"
        except UNAVAILABLE:
            answer = "later"
        except Exception as error:
            answer = f"failed {type(error).__name__}"
        print(answer, flush=True)
    database.close()


if __name__ == "__main__":
    main()

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

from quietcrowd.campaign.results.estimates import estimate
from quietcrowd.campaign.results.filed_reports import FiledReports, file_stored
from quietcrowd.campaign.results.large_campaigns import LargeCampaigns, work_folder
from quietcrowd.campaign.results.report_blocks import marks_reports
from quietcrowd.campaign.results.reports import (
    LeftOut,
    ReportsToInfer,
    StoredReports,
    read_left_out,
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
from quietcrowd.inference import METHODS, NoiseAware, method_from_dict, usual_method

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
            if self.large.include(row):
                folder = held.enter_context(work_folder(self.large.folder))
                stored = file_stored(connection, wanted, folder, self.large)
            else:
                stored = read_stored(connection, wanted)
            left_out = read_left_out(connection, row)
            given = read_given(connection, row)
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
        name = usual_method(rows.domain, rows.mechanism)
        method = METHODS[name]() if row.named is None else method_from_dict(json.loads(row.named))
        if isinstance(method, NoiseAware):  # nobody is named while answers can still be withdrawn
            method = evolve(method, groups=False)
        before, start = self._earlier.pop(row.id, (None, None))
        if before != (row.withdrawals, row.exclusions, method):
            start = None
        names = sorted(wanted.names, key=reading_order)
        estimates = estimate(stored.independent, wanted.questions, names, wanted.copies)
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
        made = snapshot(
            found,
            rows,
            stored.independent,
            again=Again(stored.again, row.at_least) if marks_reports(row) else None,
            config_hash=config_hash,
            messages=list(messages_of(caught)),
            answers=json.loads(row.config)["answers_per_participant"],
            excluded=left_out.workers,
            open_to_all=row.join_mode == "open",
        )
        return evolve(made, aims=aims, estimates=estimates)

    def _write(self, row: Any, left_out: LeftOut, findings: Findings) -> bool:
        provenance = Provenance(
            campaign=row.id,
            reports=findings.head["reports"] + left_out.reports,
            erasures=row.withdrawals,
            method=row.named,
            exclusions=row.exclusions,
        )
        pages_of = findings.in_pages(self.large.folder)
        with pages_of as pages, self.database.write() as connection:
            written = write_results(connection, provenance, pages)
        if not written:
            self._earlier.pop(row.id, None)
        return written


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

"""Results of an inference as a requester sees them, with privacy, agreement and warnings."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import asdict, frozen

from quietcrowd.accounting.ledger import PrivacyLedger
from quietcrowd.campaign.results.agreement import MOST_ERROR, CrowdJudgement, judge_crowd
from quietcrowd.campaign.results.reports import Inferred, MemoryRows, ReportRows
from quietcrowd.campaign.results.results import Findings
from quietcrowd.campaign.store.result_pages import PAGE_ROWS
from quietcrowd.campaign.terms.plain_text import reading_order
from quietcrowd.campaign.terms.promises import ANYONE
from quietcrowd.formats.jsonl import json_ready
from quietcrowd.mechanisms import Mechanism
from quietcrowd.mechanisms.mixture import Mixture
from quietcrowd.privacy.guarantee import PrivacyGuarantee, finite_loss

_MOST_OF_ONE = 0.2
"""Maximum fraction of all reports from one worker without a warning, unless within `_UNEVEN`."""

_UNEVEN = 1.25  # maximum multiple of an equal fraction without this warning
FEW = 3  # tasks with fewer reports cause a warning
_LOSSES = ("answer_epsilon", "total_epsilon", "answer_tail", "total_tail")
_NAMED = 5  # maximum number of workers named in a warning


@frozen
class Again:
    """Counts of repeated reports per task, rounded down to multiples of a release's minimum."""

    counts: Mapping[str, int]
    step: int

    def of(self, task: str) -> int:
        """Return the count of a task."""
        return self._rounded(self.counts.get(task, 0))

    @property
    def all(self) -> int:
        """Count over all tasks."""
        return self._rounded(sum(self.counts.values()))

    def _rounded(self, count: int) -> int:
        return count - count % self.step


def _rows(frame: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of a frame; the column ``answers`` counts reports here."""
    names = ["reports" if name == "answers" else name for name in frame.column_names]
    for some in frame.rename_columns(names).to_batches(max_chunksize=PAGE_ROWS):
        for row in some.to_pylist():
            yield {name: json_ready(cell) for name, cell in row.items()}


def _in_order(truths: pa.Table) -> pa.Table:
    keys = list(map(reading_order, truths["task"].to_pylist()))
    return truths.take(sorted(range(len(keys)), key=keys.__getitem__))


def snapshot(
    found: Inferred,
    rows: ReportRows,
    independent: ReportRows,
    *,
    again: Again | None = None,
    config_hash: str,
    messages: Sequence[str],
    answers: int,
    excluded: Sequence[str] = (),
    open_to_all: bool = False,
    parts: Sequence[int] = (),
) -> Findings:
    """Return the results of an inference; their rows are generated as they are read.

    `independent` contains the reports with independent noise. `again` is None if devices do not
    mark repeated reports. `messages` are warnings of the library, and `answers` is the maximum per
    worker. `parts` are those of the choices of a menu.
    """
    guarantee = rows.mechanism.guarantee(answers=answers, tasks=rows.tasks)
    judged = judge_crowd(independent)
    return Findings(
        head={
            "config_hash": config_hash,
            "method": found.method.to_dict(),
            "reports": rows.sent,
            "participants": len(rows.per_worker),
            "iterations": found.iterations,
            "converged": found.converged,
            "again": 0 if again is None else again.all,
            "excluded": list(excluded),
            "privacy": _privacy(rows.mechanism, guarantee),
            "agreement": {
                name: json_ready(value) for name, value in asdict(judged.agreement).items()
            },
            "warnings": [
                {"code": code, "message": message}
                for code, message in _cautions(
                    found, rows, independent, judged, again, messages, open_to_all
                )
            ],
        },
        truths=(
            row if again is None else {**row, "again": again.of(row["task"])}
            for row in _rows(_in_order(found.truths))
        ),
        workers=_with_losses(found.workers, independent, guarantee, parts),
    )


def _privacy(mechanism: Mechanism, guarantee: PrivacyGuarantee) -> dict[str, Any]:
    tail = guarantee.tail
    return {
        "mechanism": mechanism.name,
        "answer_epsilon": finite_loss(float(guarantee.epsilon)),
        "worker_epsilon": finite_loss(float(guarantee.total_epsilon)),
        "delta": float(guarantee.delta),
        "tail": None
        if tail is None
        else {
            "probability": float(tail.probability),
            "answer_epsilon": finite_loss(float(tail.epsilon)),
            "worker_epsilon": finite_loss(float(tail.total_epsilon)),
        },
        "participation_protected": guarantee.participation_protected,
    }


def _with_losses(
    workers: pa.Table, rows: ReportRows, guarantee: PrivacyGuarantee, parts: Sequence[int]
) -> Iterator[dict[str, Any]]:
    """Add choices, and losses, which depend on the number of reports only; infinite are null."""
    mechanisms = rows.mechanism.parts if isinstance(rows.mechanism, Mixture) else (rows.mechanism,)
    tasks = rows.tasks

    @cache
    def spent(part: int, count: int) -> dict[str, float | None]:
        ledger = PrivacyLedger().charge("one", mechanisms[part], answers=count or 1, tasks=tasks)
        found = ledger.spent("one", guarantee.delta)
        return {name: finite_loss(float(getattr(found, name))) for name in _LOSSES}

    used = _parts_of_workers(rows) if parts else np.zeros(len(rows.per_worker), np.intp)
    for worker, count, part in zip(_rows(workers), rows.per_worker, used, strict=True):
        choice = {"choice": parts.index(int(part))} if parts else {}
        yield {**worker, **choice, **spent(int(part), int(count))}


def _parts_of_workers(rows: ReportRows) -> npt.NDArray[np.intp]:
    """Return the part of a mixture that each worker uses, shape (workers,)."""
    assert isinstance(rows, MemoryRows)
    used = np.zeros(len(rows.workers), np.intp)
    used[rows.reports.table.worker_codes] = rows.reports.part_codes
    return used


def _cautions(
    found: Inferred,
    rows: ReportRows,
    independent: ReportRows,
    judged: CrowdJudgement,
    again: Again | None,
    messages: Sequence[str],
    open_to_all: bool,
) -> Iterator[tuple[str, str]]:
    """Yield the code and message of each reason why results may be misleading."""
    if open_to_all:
        yield "open-to-all", ANYONE
    if not found.converged:
        yield (
            "not-converged",
            f"the inference stopped after {found.iterations:,} steps, before it converged: truths "
            "may still change",
        )
    for message in dict.fromkeys(messages):
        yield "assumption", message
    share = float(independent.per_worker.max()) / len(independent)
    if share > max(_MOST_OF_ONE, _UNEVEN / len(independent.per_worker)):
        yield (
            "dominant-worker",
            f"one person sent {share:.0%} of all reports: truths depend on this person",
        )
    few = int((independent.per_task < FEW).sum())
    if few:
        yield (
            "few-reports",
            f"{few:,} of {independent.tasks:,} questions have fewer than {FEW} reports",
        )
    if again is not None and again.all:
        yield (
            "sent-again",
            f"at least {again.all:,} of {len(rows):,} reports were sent again: these people had "
            "reported on the question before, and their answers date from then. For new answers "
            "about another day, give a new campaign the day that its questions refer to",
        )
    consistent, workers = judged.too_consistent, independent.workers
    if len(consistent):
        names = [workers[int(place)].as_py() for place in consistent[:_NAMED]]
        named = ", ".join(names) + ", ..." * (len(consistent) > _NAMED)
        yield (
            "too-consistent",
            f"{len(consistent):,} of {len(workers):,} people ({named}) agree with the others more "
            "than randomized reports do: their devices may not randomize",
        )
    if judged.agreement.answers is None:
        yield (
            "agreement-unknown",
            "the agreement of the answers is unknown: the noise hides it, or its standard error "
            f"would exceed {MOST_ERROR:g}. More people, or more questions for each, reduce it.",
        )

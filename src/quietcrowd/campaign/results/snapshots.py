"""What a requester sees of an inference: truths, workers, privacy, agreement, and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import pyarrow as pa
from attrs import asdict

from quietcrowd.accounting.ledger import PrivacyLedger
from quietcrowd.campaign.protocol.schemas import Caution
from quietcrowd.campaign.results.agreement import (
    MOST_ERROR,
    CrowdAgreement,
    agreement,
    too_consistent,
)
from quietcrowd.campaign.results.findings import Findings
from quietcrowd.campaign.store.result_pages import PAGE_ROWS
from quietcrowd.campaign.terms.open_to_all import ANYONE
from quietcrowd.formats.json_files import json_ready
from quietcrowd.frames import positions_by_text
from quietcrowd.inference import TruthEstimate
from quietcrowd.mechanisms import Mechanism, Reports
from quietcrowd.privacy.guarantee import PrivacyGuarantee, finite_loss
from quietcrowd.privacy.tail_bound import TailBound

__all__ = ["count_reports", "snapshot"]

_MOST_OF_ONE = 0.2
"""A worker with a larger share of all reports is warned of, if it is far above an equal one."""

_UNEVEN = 1.25
"""So many times an equal share is far above it."""

FEW = 3
"""Tasks with fewer reports are warned of."""

_LOSSES = ("answer_epsilon", "total_epsilon", "answer_tail", "total_tail")

_NAMED = 5
"""So many workers are named in a warning."""


def _rows(frame: pa.Table) -> Iterator[dict[str, Any]]:
    """Yield the rows of a frame; what the library calls answers are reports here."""
    names = ["reports" if name == "answers" else name for name in frame.column_names]
    for some in frame.rename_columns(names).to_batches(max_chunksize=PAGE_ROWS):
        for row in some.to_pylist():
            yield {name: json_ready(cell) for name, cell in row.items()}


def snapshot(
    estimate: TruthEstimate,
    reports: Reports,
    independent: Reports,
    *,
    config_hash: str,
    messages: Sequence[str],
    answers: int,
    excluded: Sequence[str] = (),
    open_to_all: bool = False,
) -> Findings:
    """Return what an estimate says; rows are made as they are read.

    Parameters
    ----------
    estimate : TruthEstimate
        Of the reports.
    reports : Reports
        From which it was made.
    independent : Reports
        Of these, the ones with noise of their own: what agreement is judged by.
    config_hash : str
        Of the campaign.
    messages : sequence of str
        Warnings of the library.
    answers : int
        Most answers of a worker.
    excluded : sequence of str
        Workers who are left out.
    open_to_all : bool
        Whether nobody needs an invite.
    """
    tasks = len(reports.table.tasks)
    guarantee = reports.mechanism.guarantee(answers=answers, tasks=tasks)
    agreed = agreement(independent)
    cautions = [
        *([Caution(code="open-to-all", message=ANYONE)] if open_to_all else []),
        *_about_the_fit(estimate),
        *(Caution(code="assumption", message=message) for message in dict.fromkeys(messages)),
        *_about_the_reports(reports),
        *_about_the_devices(independent),
        *_about_the_agreement(agreed),
    ]
    return Findings(
        head={
            "config_hash": config_hash,
            "method": estimate.method.to_dict(),
            "reports": count_reports(reports),
            "participants": len(reports.table.workers),
            "iterations": estimate.iterations,
            "converged": estimate.converged,
            "excluded": list(excluded),
            "privacy": _privacy(reports.mechanism, guarantee),
            "agreement": {name: json_ready(value) for name, value in asdict(agreed).items()},
            "warnings": [one.model_dump() for one in cautions],
        },
        truths=_rows(estimate.truths_as("pyarrow")),
        workers=_with_losses(estimate.workers_as("pyarrow"), reports, guarantee),
    )


def count_reports(reports: Reports) -> int:
    """Return how many reports came in: one per worker, where these are sketches."""
    return len(reports.table.workers) if reports.sketches is not None else len(reports)


def _privacy(mechanism: Mechanism, guarantee: PrivacyGuarantee) -> dict[str, Any]:
    return {
        "mechanism": mechanism.name,
        "answer_epsilon": finite_loss(float(guarantee.epsilon)),
        "worker_epsilon": finite_loss(float(guarantee.worker_epsilon)),
        "delta": float(guarantee.delta),
        "tail": _tail(guarantee.tail),
        "participation_protected": guarantee.participation_protected,
    }


def _tail(tail: TailBound | None) -> dict[str, Any] | None:
    """Return what is exceeded with a small probability at most; None where nothing is."""
    if tail is None:
        return None
    return {
        "probability": float(tail.probability),
        "answer_epsilon": finite_loss(float(tail.epsilon)),
        "worker_epsilon": finite_loss(float(tail.worker_epsilon)),
    }


def _with_losses(
    workers: pa.Table, reports: Reports, guarantee: PrivacyGuarantee
) -> Iterator[dict[str, Any]]:
    """Yield the rows of workers with what each has spent; losses that are infinite are null.

    It follows from how many reports somebody made, so it is worked out once for each number.
    """
    mechanism, tasks = reports.mechanism, reports.table.tasks

    @cache
    def spent(count: int) -> dict[str, float | None]:
        ledger = PrivacyLedger().charge("one", mechanism, answers=count or 1, tasks=tasks)
        found = ledger.spent("one", guarantee.delta)
        return {name: finite_loss(float(getattr(found, name))) for name in _LOSSES}

    places = positions_by_text(workers["worker"].combine_chunks(), reports.table.workers)
    counts = reports.table.answers_per_worker[places]
    for worker, count in zip(_rows(workers), counts.tolist(), strict=True):
        yield {**worker, **spent(count)}


def _about_the_fit(estimate: TruthEstimate) -> list[Caution]:
    if estimate.converged:
        return []
    message = (
        f"the method has not come to rest after {estimate.iterations:,} iterations: truths may "
        "still change. Take a larger max_iterations."
    )
    return [Caution(code="not-converged", message=message)]


def _about_the_reports(reports: Reports) -> list[Caution]:
    table = reports.table
    cautions = []
    share = float(table.answers_per_worker.max()) / len(table)
    if share > max(_MOST_OF_ONE, _UNEVEN / len(table.workers)):
        cautions.append(
            Caution(
                code="dominant-worker",
                message=f"one worker gave {share:.0%} of all reports: truths lean on that worker",
            )
        )
    few = int((table.answers_per_task < FEW).sum())
    if few:
        cautions.append(
            Caution(
                code="few-reports",
                message=f"{few:,} of {len(table.tasks):,} tasks have fewer than {FEW} reports",
            )
        )
    return cautions


def _about_the_devices(reports: Reports) -> list[Caution]:
    workers = reports.table.workers
    found = [workers[int(place)].as_py() for place in too_consistent(reports)]
    if not found:
        return []
    named = ", ".join(found[:_NAMED]) + ", ..." * (len(found) > _NAMED)
    message = (
        f"{len(found):,} of {len(workers):,} workers ({named}) agree with the others more than "
        "randomised reports do: their devices may not randomise"
    )
    return [Caution(code="too-consistent", message=message)]


def _about_the_agreement(agreed: CrowdAgreement) -> list[Caution]:
    if agreed.answers is not None:
        return []
    message = (
        "how much answers agree is not told: the noise leaves it open, or its standard error "
        f"would be above {MOST_ERROR:g}. More workers, or more tasks for each, tell more."
    )
    return [Caution(code="agreement-unknown", message=message)]

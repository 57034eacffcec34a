"""Stored results and the state they were computed from, so that later reports make them outdated.

If workers wait for a release, results are of exactly the reports of the last one. A withdrawal
before they are inferred delays results until the next release.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby, islice
from tempfile import SpooledTemporaryFile
from types import MappingProxyType
from typing import Any

from attrs import field, frozen
from sqlalchemy import Connection, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from quietcrowd.campaign.results.estimates import Estimates
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.exclusions import names_in_force
from quietcrowd.campaign.store.releases import (
    as_released,
    erasures_shown,
    method_shown,
    waits_for_others,
)
from quietcrowd.campaign.store.result_pages import (
    AIMS,
    ESTIMATES,
    FOR_OLDER,
    KINDS,
    PAGE_ROWS,
    ResultPage,
    are_paged,
    put_pages,
)

_IN_MEMORY = 16 * 2**20  # bytes of pages in memory; more go to an unnamed temporary file


@frozen(kw_only=True)
class Findings:
    """Results of an inference, JSON-ready; ``method`` in the `head` is None if it failed.

    `truths`, `workers` and `estimates` can be read once. `aims` come from `task_aims`.
    """

    head: Mapping[str, Any]
    truths: Iterable[Mapping[str, Any]]
    workers: Iterable[Mapping[str, Any]]
    estimates: Estimates = field(factory=Estimates)
    aims: Iterable[Mapping[str, Any]] = ()

    @contextmanager
    def in_pages(self, folder: str | None = None) -> Iterator[PagedFindings]:
        """Provide the pages within a context; one is in memory at a time, many in `folder`."""
        head = _as_json({**self.head, "no_estimates": self.estimates.why_none})
        digest, counts = hashlib.sha256(head.encode()), dict.fromkeys(KINDS, 0)
        with SpooledTemporaryFile(_IN_MEMORY, dir=folder) as file:
            of_kinds = {
                **{kind: _pages(iter(getattr(self, kind))) for kind in (*KINDS, AIMS)},
                ESTIMATES: _whole_questions(self.estimates.rows),
            }
            for kind, pages in of_kinds.items():
                number = 0
                while (page := next(pages, [])) or (kind in KINDS and not number):
                    line = f"{kind} {_as_json(page)}\n".encode()
                    if kind != AIMS:  # aims are private, so the ETag must not depend on them
                        digest.update(line)
                    file.write(line)
                    number += len(page)
                    if not page:
                        break
                if kind in KINDS:
                    counts[kind] = number
            yield PagedFindings(
                head=head,
                etag=digest.hexdigest()[:32],
                counts=counts,
                failed=self.head["method"] is None,
                file=file,
            )


def _pages(rows: Iterator[Any]) -> Iterator[list[Any]]:
    while page := list(islice(rows, PAGE_ROWS)):
        yield page


def _whole_questions(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Any]]:
    page: list[Any] = []
    for _, question in groupby(rows, lambda row: row["task"]):
        listed = list(question)
        if page and len(page) + len(listed) > PAGE_ROWS:
            yield page
            page = []
        page += listed
    if page:
        yield page


@frozen(kw_only=True)
class PagedFindings:
    """Results in pages; `etag` changes whenever anything that is shown does."""

    head: str
    etag: str
    counts: Mapping[str, int]
    failed: bool
    file: SpooledTemporaryFile[bytes]

    def pages(self) -> Iterator[ResultPage]:
        """Yield all pages, at least one of truths and one of workers."""
        self.file.seek(0)
        number, before = 0, ""
        for line in self.file:
            kind, content = line.decode().split(" ", 1)
            number = number + 1 if kind == before else 0
            before = kind
            yield ResultPage(kind, number, content.rstrip("\n"))


def _as_json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


@frozen(kw_only=True)
class Provenance:
    """State of a campaign from which results were computed.

    `reports` includes those of excluded workers, and a sketch counts as one. `erasures` counts
    withdrawals, `exclusions` the changes of the excluded workers, and `method` is the configured
    one.
    """

    campaign: bytes
    reports: int
    erasures: int
    method: str | None
    exclusions: int
    round: int | None = None


def write_results(
    connection: Connection,
    provenance: Provenance,
    found: PagedFindings,
    rounds: Mapping[int, PagedFindings] = MappingProxyType({}),
) -> bool:
    """Write results unless the campaign changed meanwhile; return whether they were written.

    After a withdrawal, or a change of the method or the excluded workers, another inference is
    scheduled. Neither can happen until the transaction ends, but uploads can. `found` are those of
    the last of `rounds`, if there are some.
    """
    if not _still_so(connection, provenance):
        return False
    held = tables.inference.c
    mine = held.campaign_id == provenance.campaign
    before = connection.scalar(select(held.pages_etag).where(mine).with_for_update())
    row = {
        "campaign_id": provenance.campaign,
        "reports": provenance.reports,
        "erasures": provenance.erasures,
        "method": provenance.method,
        "exclusions": provenance.exclusions,
        "round": provenance.round,
        "etag": found.etag,
        "snapshot": FOR_OLDER,
        "pages_etag": found.etag,
        "estimates_etag": found.etag,
        "head": found.head,
        **found.counts,
    }
    if not _put(connection, row, failed=found.failed):
        return False
    if before != found.etag:
        put_pages(connection, provenance.campaign, found.pages())
    for number, one in rounds.items():
        _write_round(connection, provenance.campaign, number, one)
    return True


def _write_round(
    connection: Connection, campaign: bytes, number: int, found: PagedFindings
) -> None:
    table = tables.shown_round
    mine = (table.c.campaign_id == campaign) & (table.c.number == number)
    before = connection.scalar(select(table.c.etag).where(mine))
    values = {"etag": found.etag, "head": found.head, **found.counts}
    connection.execute(update(table).where(mine).values(values))
    if before != found.etag:
        put_pages(connection, campaign, found.pages(), number)


def _still_so(connection: Connection, provenance: Provenance) -> bool:
    """Lock the campaign; return whether withdrawals, method and exclusions are unchanged."""
    campaign = tables.campaign.c
    now = connection.execute(
        select(erasures_shown(), method_shown(), campaign.exclusions, campaign.shown_round)
        .where(campaign.id == provenance.campaign, as_released())
        .with_for_update(read=True, key_share=True)
    ).one_or_none()
    then = (
        *(provenance.erasures, provenance.method),
        *(provenance.exclusions, provenance.round),
    )
    return now is not None and tuple(now) == then


def _put(connection: Connection, row: Mapping[str, Any], *, failed: bool) -> bool:
    """Write a row unless another server wrote one of more reports, or as many for a failure."""
    held = tables.inference.c
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    statement = insert(tables.inference).values(row)
    new = statement.excluded
    put = statement.on_conflict_do_update(
        index_elements=[held.campaign_id],
        set_={name: new[name] for name in row},
        where=or_(
            held.reports < new.reports if failed else held.reports <= new.reports,
            held.erasures != new.erasures,
            held.method.is_distinct_from(new.method),
            held.exclusions != new.exclusions,
            held.round.is_distinct_from(new.round),
            held.etag.is_distinct_from(held.pages_etag),
            held.etag.is_distinct_from(held.estimates_etag),
        ),
    )
    return connection.execute(put.returning(held.campaign_id)).one_or_none() is not None


def outdated_campaigns(connection: Connection) -> list[bytes]:
    """Return campaigns with results that are missing or computed from another state."""
    campaign, inference = tables.campaign.c, tables.inference.c
    mine = (inference.campaign_id == campaign.id) & are_paged()
    wanted = (
        select(campaign.id)
        .select_from(tables.campaign.outerjoin(tables.inference, mine))
        .where(campaign.state != "draft", campaign.shown_reports > 0, as_released())
        .where(
            or_(
                inference.reports.is_distinct_from(campaign.shown_reports),
                inference.erasures.is_distinct_from(erasures_shown()),
                inference.method.is_distinct_from(method_shown()),
                inference.exclusions.is_distinct_from(campaign.exclusions),
                inference.round.is_distinct_from(campaign.shown_round),
            )
        )
    )
    return list(connection.scalars(wanted))


def without_reports(connection: Connection, campaigns: Collection[bytes]) -> set[bytes]:
    """Return which of these campaigns are deleted or have no reports."""
    campaign = tables.campaign.c
    wanted = select(campaign.id).where(campaign.id.in_(campaigns), campaign.shown_reports > 0)
    return set(campaigns).difference(connection.scalars(wanted))


def read_provenance(connection: Connection, campaign: bytes) -> Provenance | None:
    """Return the state of a campaign as an inference begins, or None if it has no configuration."""
    table = tables.campaign.c
    row = connection.execute(
        select(
            table.id.label("campaign"),
            table.shown_reports.label("reports"),
            erasures_shown().label("erasures"),
            method_shown().label("method"),
            table.exclusions,
            table.shown_round.label("round"),
        ).where(table.id == campaign, table.config_hash.is_not(None))
    ).one_or_none()
    return None if row is None else Provenance(**row._mapping)


def is_fixed(connection: Connection, campaign: Any) -> bool:
    """Return whether, in this transaction, results cannot change before a release."""
    if not waits_for_others(campaign):
        return False
    if campaign.erasures != campaign.shown_erasures:
        return True
    held = tables.inference
    found = connection.execute(
        select(held).where(held.c.campaign_id == campaign.id, are_paged())
    ).one_or_none()
    now = (
        campaign.shown_reports,
        campaign.shown_erasures,
        campaign.shown_method,
        campaign.exclusions,
        campaign.shown_round,
    )
    return (
        found is not None
        and (found.reports, found.erasures, found.method, found.exclusions, found.round) == now
        and json.loads(found.head)["method"] is not None
    )


def write_failure(connection: Connection, provenance: Provenance, reason: str) -> None:
    """Write the reason of a failure, with today's participants, instead of results."""
    table = tables.campaign
    row = connection.execute(select(table).where(table.c.id == provenance.campaign)).one_or_none()
    if row is None:
        return
    findings = failed_findings(
        config_hash=row.config_hash.hex(),
        reports=provenance.reports,
        participants=_reporting(connection, row),
        excluded=names_in_force(connection, row.id),
        reason=reason,
    )
    with findings.in_pages() as pages:
        write_results(connection, provenance, pages)


def _reporting(connection: Connection, campaign: Any) -> int:
    if waits_for_others(campaign):
        return int(campaign.shown_participants)
    counts = (
        select(func.count(table.c.participant_id.distinct())).where(
            table.c.campaign_id == campaign.id
        )
        for table in tables.SENT
    )
    return sum(connection.scalar(count) or 0 for count in counts)


def failed_findings(
    *,
    config_hash: str,
    reports: int,
    participants: int,
    reason: str,
    excluded: Sequence[str] = (),
    estimates: Estimates | None = None,
) -> Findings:
    """Return the results of a failed inference."""
    return Findings(
        head={
            "config_hash": config_hash,
            "method": None,
            "reports": reports,
            "participants": participants,
            "iterations": 0,
            "converged": False,
            "excluded": list(excluded),
            "privacy": None,
            "agreement": None,
            "warnings": [{"code": "failed", "message": reason}],
        },
        truths=(),
        workers=(),
        estimates=Estimates(why_none=reason) if estimates is None else estimates,
    )

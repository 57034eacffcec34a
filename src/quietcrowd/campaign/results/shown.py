"""Results that a requester may see: single pages, or all pages of one consistent state."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import Any

from attrs import evolve, frozen
from sqlalchemy import Connection, Select, select

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.releases import waits_for_others
from quietcrowd.campaign.store.result_pages import (
    KINDS,
    PAGE_ROWS,
    ResultPage,
    are_paged,
    read_page,
    read_pages,
)
from quietcrowd.campaign.terms.settings import DECIDED_FROM
from quietcrowd.campaign.terms.tokens import hide_pseudonyms

_FIRST = ("", 0)  # position before the first page

_AT_ONCE = 8
"""Pages read per transaction; results of at most this many cannot change while they are read."""


@frozen(kw_only=True)
class ShownResults:
    """Latest results of a campaign: JSON `head`, and pages of `kinds`, the `first` of them read."""

    database: Database
    campaign: bytes
    etag: str
    head: str
    counts: dict[str, int]
    kinds: Collection[str]
    first: Sequence[ResultPage]
    of_round: int | None = None
    has_estimates: bool = False
    names_workers: bool = True

    @classmethod
    def read(
        cls,
        database: Database,
        connection: Connection,
        campaign: Any,
        kinds: Collection[str] = (),
        of_round: int | None = None,
    ) -> ShownResults:
        """Return the latest results, or those of a round, with pages of `kinds`.

        Raises ProblemError without any.
        """
        found = connection.execute(_head(campaign.id, of_round)).one_or_none()
        if found is None:
            reason = why_none(campaign) if of_round is None else _NOT_SHOWN
            raise ProblemError("no-results", reason)
        return cls(
            database=database,
            campaign=campaign.id,
            etag=found.etag,
            head=f'{found.head[:-1]},"decided_from":{DECIDED_FROM}}}',
            of_round=of_round,
            has_estimates=of_round is not None or found.estimates_etag == found.etag,
            counts={kind: getattr(found, kind) for kind in KINDS},
            kinds=kinds,
            first=_read_pages(connection, campaign.id, kinds, _FIRST, of_round),
        )

    def without_workers(self) -> ShownResults:
        """Return these results without pages of workers or pseudonyms."""
        head = json.loads(self.head)
        for warning in head["warnings"]:
            warning["message"] = hide_pseudonyms(warning["message"])
        return evolve(
            self,
            head=json.dumps({**head, "excluded": []}),
            counts={**self.counts, "workers": 0},
            names_workers=False,
        )

    @property
    def tag(self) -> str:
        """ETag header, which differs without workers."""
        return f'"{self.etag}"' if self.names_workers else f'"{self.etag}-0"'

    def page(self, connection: Connection, kind: str, number: int) -> tuple[str, bool]:
        """Return a page as a JSON array, in the head's transaction, and whether one follows."""
        more = self.counts[kind] > (number + 1) * PAGE_ROWS
        content = read_page(connection, self.campaign, kind, number, self.of_round)
        return _as_shown(kind, content), more

    def document(self) -> Iterator[str]:
        """Yield one JSON document page by page; raise ProblemError if other results replaced it."""
        yield self.head.removesuffix("}")
        for kind, pages in groupby(self._pages(), key=lambda page: page.kind):
            yield f',"{kind}":['
            for page in pages:
                yield "," * (page.number > 0) + page.content[1:-1]
            yield "]"
        for kind in KINDS:
            if kind not in self.kinds:
                yield f',"{kind}":[]'
        yield "}"

    def rows(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the rows of each page; errors as in `document`."""
        for page in self._pages():
            yield json.loads(page.content)

    def _pages(self) -> Iterator[ResultPage]:
        """Yield pages without a transaction open in between, so a slow reader blocks nothing."""
        block = self.first
        while block:
            yield from block
            if len(block) < _AT_ONCE:
                return
            last = block[-1]
            with self.database.read() as connection:
                self._require_same(connection)
                after = last.kind, last.number
                block = _read_pages(connection, self.campaign, self.kinds, after, self.of_round)

    def _require_same(self, connection: Connection) -> None:
        found = connection.execute(_head(self.campaign, self.of_round)).one_or_none()
        if found is None or found.etag != self.etag:
            raise ProblemError("results-changed", "Read the new results from the start.")


def _head(campaign: bytes, of_round: int | None) -> Select[Any]:
    if of_round is None:
        held = tables.inference
        return select(held).where(held.c.campaign_id == campaign, are_paged())
    shown = tables.shown_round
    mine = (shown.c.campaign_id == campaign) & (shown.c.number == of_round)
    return select(shown).where(mine, shown.c.head.is_not(None))


_NOT_SHOWN = "The round has no results yet, or was shown together with a later one: see rounds."


def _read_pages(
    connection: Connection,
    campaign: bytes,
    kinds: Collection[str],
    after: tuple[str, int],
    of_round: int | None,
) -> list[ResultPage]:
    pages = read_pages(connection, campaign, kinds, after, _AT_ONCE, of_round)
    return [page._replace(content=_as_shown(page.kind, page.content)) for page in pages]


def rows_of_page(
    connection: Connection, campaign: bytes, kind: str, number: int, of_round: int
) -> list[dict[str, Any]]:
    """Return the rows of a page of a round, as `ShownResults` shows them."""
    content = read_page(connection, campaign, kind, number, of_round)
    found: list[dict[str, Any]] = json.loads(_as_shown(kind, content))
    return found


def _as_shown(kind: str, content: str) -> str:
    """Mark whether each truth that is a label is decided, next to its confidence."""
    if kind != "truths" or '"confidence"' not in content:
        return content
    return json.dumps([_marked(row) for row in json.loads(content)], separators=(",", ":"))


def _marked(row: dict[str, Any]) -> dict[str, Any]:
    named = {name: row.pop(name) for name in ("task", "truth", "confidence")}
    is_sure = named["truth"] is not None and (named["confidence"] or 0.0) >= DECIDED_FROM
    return {**named, "decided": is_sure and not row.get("tied"), **row}


def why_none(campaign: Any) -> str:
    """Explain why a campaign has no results, using only what its requester knows anyway."""
    if campaign.state == "closed" and campaign.retention_days and campaign.delete_at is None:
        return (
            f"All data of workers, and the results, were deleted {campaign.retention_days:,} days "
            "after the campaign closed."
        )
    if campaign.rounds is not None:
        return (
            f"Results of a round appear shortly after it accepts no more reports, if at least "
            f"{campaign.at_least:,} workers have sent some; otherwise with the next rounds."
        )
    if not waits_for_others(campaign):
        return "Results appear shortly after the first reports."
    if campaign.state == "closed":
        return (
            f"The campaign is closed. Reports of fewer than {campaign.at_least:,} workers are "
            "never shown, nor are results from them. Results of more appear shortly after closing."
        )
    return (
        f"Results appear shortly after {campaign.at_least:,} more workers have sent reports, or "
        "after closing. Results of fewer workers are never shown."
    )

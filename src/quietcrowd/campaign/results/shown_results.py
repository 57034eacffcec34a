"""Results as a requester is shown them: read page by page, and all pages of one state."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import Any

from attrs import evolve, frozen
from sqlalchemy import Connection, select

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
from quietcrowd.campaign.terms.tokens import hide_pseudonyms

__all__ = ["ShownResults"]

_FIRST = ("", 0)
"""Before the first page of all."""

_AT_ONCE = 8
"""Pages that are read in one transaction: results of so many are never broken off."""


@frozen(kw_only=True)
class ShownResults:
    """The latest results of a campaign.

    Attributes
    ----------
    database : Database
        Where they are.
    campaign : bytes
        Its id.
    etag : str
        Of these results: others have another one.
    head : str
        All but truths and workers, as JSON.
    counts : dict of str to int
        How many truths and workers there are.
    kinds : collection of str
        Which pages are read.
    first : sequence of ResultPage
        Those that were read with the head.
    names_workers : bool
        Whether workers are shown, by their pseudonyms.
    """

    database: Database
    campaign: bytes
    etag: str
    head: str
    counts: dict[str, int]
    kinds: Collection[str]
    first: Sequence[ResultPage]
    names_workers: bool = True

    @classmethod
    def read(
        cls,
        database: Database,
        connection: Connection,
        campaign: Any,
        kinds: Collection[str] = (),
    ) -> ShownResults:
        """Return the latest results of a campaign.

        Parameters
        ----------
        database : Database
            Where they are.
        connection : Connection
            To it, in a transaction.
        campaign : Row
            Of the table of campaigns.
        kinds : collection of str
            Which pages are read; none by default.

        Raises
        ------
        ProblemError
            Where there are none.
        """
        table = tables.inference
        found = connection.execute(
            select(table).where(table.c.campaign_id == campaign.id, are_paged())
        ).one_or_none()
        if found is None:
            raise ProblemError("no-results", _why_none(campaign))
        return cls(
            database=database,
            campaign=campaign.id,
            etag=found.etag,
            head=found.head,
            counts={kind: getattr(found, kind) for kind in KINDS},
            kinds=kinds,
            first=read_pages(connection, campaign.id, kinds, _FIRST, _AT_ONCE),
        )

    def without_workers(self) -> ShownResults:
        """Return these, read without pages of workers, in which no worker has a pseudonym."""
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
        """The ETag as it is sent: another one where no worker is shown."""
        return f'"{self.etag}"' if self.names_workers else f'"{self.etag}-0"'

    def page(self, connection: Connection, kind: str, number: int) -> tuple[str, bool]:
        """Return the rows of a page as a JSON array, and whether a page follows.

        Parameters
        ----------
        connection : Connection
            In the transaction in which the head was read.
        kind : str
            Truths or workers.
        number : int
            Of the page, from 0. Beyond the last one there are no rows.
        """
        more = self.counts[kind] > (number + 1) * PAGE_ROWS
        return read_page(connection, self.campaign, kind, number), more

    def document(self) -> Iterator[str]:
        """Give all of it as one JSON document, page by page; kinds that are not read are empty.

        Raises
        ------
        ProblemError
            Where other results have replaced them: half of these is none.
        """
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
        """Give the rows of each page; errors as of `document`."""
        for page in self._pages():
            yield json.loads(page.content)

    def _pages(self) -> Iterator[ResultPage]:
        """Give pages; nothing is being read in between, so who takes them slowly keeps nothing."""
        block = self.first
        while block:
            yield from block
            if len(block) < _AT_ONCE:
                return
            last = block[-1]
            with self.database.read() as connection:
                self._require_same(connection)
                block = read_pages(
                    connection, self.campaign, self.kinds, (last.kind, last.number), _AT_ONCE
                )

    def _require_same(self, connection: Connection) -> None:
        """Raise ProblemError where there are others now, or none."""
        held = tables.inference.c
        mine = (held.campaign_id == self.campaign) & are_paged()
        etag = connection.scalar(select(held.etag).where(mine))
        if etag != self.etag:
            raise ProblemError("results-changed", "Begin again: there are other results now.")


def _why_none(campaign: Any) -> str:
    """Return why a campaign has no results, by what its requester knows anyway."""
    if campaign.state == "closed" and campaign.retention_days and campaign.delete_at is None:
        return (
            f"All of workers was deleted {campaign.retention_days:,} days after the campaign "
            "closed, and the results with it."
        )
    if not waits_for_others(campaign):
        return "Results follow a moment after the first reports."
    if campaign.state == "closed":
        return (
            f"The campaign is closed. Reports of fewer than {campaign.at_least:,} workers are "
            "never shown, nor what is inferred from them. Those of more follow a moment after it."
        )
    return (
        f"Results follow a moment after {campaign.at_least:,} workers more have sent reports, or "
        "the campaign has closed; those of fewer are never shown."
    )

"""Pages of results: truths and workers, so many rows each, whatever the number of all.

A database holds no value above a gigabyte, and a server no results of a million workers at once.
There is one set of pages of a campaign, and they are replaced in the transaction that replaces the
head: who reads page by page looks at the ETag in the same transaction, and finds pages of one set.

Servers before revision 0006 may go on beside newer ones while these are upgraded. They write the
text of results as a whole and another ETag, and neither head nor pages: what they wrote is no
results to newer servers, which infer again (`are_paged`). `FOR_OLDER` is what these find instead.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, delete, select

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import insert_rows

__all__ = [
    "AIMS",
    "FOR_OLDER",
    "KINDS",
    "PAGE_ROWS",
    "ResultPage",
    "are_paged",
    "put_pages",
    "read_page",
    "read_pages",
]

KINDS = ("truths", "workers")
"""What pages hold, in the order in which all are read."""

AIMS = "aims"
"""Of another kind, which nobody is shown: how often each task is to be asked, as these results have
it. They come and go with the results; there are none where a campaign does not hand tasks out so,
nor with results of a server that does not know of them."""

PAGE_ROWS = 1_000
"""Most rows of a page."""

FOR_OLDER = json.dumps(
    {
        "config_hash": "0" * 64,
        "method": None,
        "reports": 0,
        "participants": 0,
        "iterations": 0,
        "converged": False,
        "truths": [],
        "workers": [],
        "privacy": None,
        "agreement": None,
        "warnings": [
            {
                "code": "failed",
                "message": "The results are stored for a newer version: ask a server of that one.",
            }
        ],
    }
)
"""What servers before revision 0006 say of results in pages."""

_AT_ONCE = 16
"""Pages of one statement."""


class ResultPage(NamedTuple):
    """A page: its number counts from 0, its content is a JSON array of rows."""

    kind: str
    number: int
    content: str


def are_paged() -> ColumnElement[bool]:
    """Return the condition that the pages of a row of `tables.inference` are those of its ETag."""
    held = tables.inference.c
    return held.etag == held.pages_etag


def put_pages(connection: Connection, campaign: bytes, pages: Iterable[ResultPage]) -> None:
    """Replace all pages of a campaign.

    Parameters
    ----------
    connection : Connection
        In the transaction that has written the head.
    campaign : bytes
        Its id.
    pages : iterable of ResultPage
        At least one of each kind, and without gaps; some are held at a time.
    """
    table = tables.result_page
    connection.execute(delete(table).where(table.c.campaign_id == campaign))
    rows: list[tuple[bytes, str, int, str]] = []
    for page in pages:
        rows.append((campaign, *page))
        if len(rows) == _AT_ONCE:
            insert_rows(connection, table, rows)
            rows.clear()
    insert_rows(connection, table, rows)


def read_page(connection: Connection, campaign: bytes, kind: str, number: int) -> str:
    """Return the content of a page; of one beyond the last, an array without rows."""
    page = tables.result_page.c
    wanted = select(page.content).where(
        page.campaign_id == campaign, page.kind == kind, page.number == number
    )
    return connection.scalar(wanted) or "[]"


def read_pages(
    connection: Connection,
    campaign: bytes,
    kinds: Collection[str],
    after: tuple[str, int],
    most: int,
) -> Sequence[ResultPage]:
    """Return pages in the order of kinds and numbers.

    Parameters
    ----------
    connection : Connection
        In a transaction.
    campaign : bytes
        Its id.
    kinds : collection of str
        Of which kinds.
    after : (str, int)
        Kind and number of the page before; ("", 0) for the first.
    most : int
        How many are read.
    """
    page = tables.result_page.c
    found: list[ResultPage] = []
    for kind in sorted(kinds):
        if kind < after[0] or len(found) == most:
            continue
        wanted = (
            select(page.kind, page.number, page.content)
            .where(
                page.campaign_id == campaign,
                page.kind == kind,
                page.number > (after[1] if kind == after[0] else -1),
            )
            .order_by(page.number)
            .limit(most - len(found))
        )
        found += [ResultPage(*row) for row in connection.execute(wanted)]
    return found

"""Result pages: truths, workers and estimates, in a limited number of rows per page.

A campaign has one set of pages, and a campaign in rounds another one per round. A set is replaced
in the transaction that replaces its head. Readers check the ETag in the transaction that reads a
page, so all pages are of one set. Servers before revision 0006 write the results as one text with
another ETag, and no pages. Newer servers ignore these and infer again: `are_paged`. Older servers
find `FOR_OLDER` instead of results in pages.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, delete, select

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import insert_rows

KINDS = ("truths", "workers")  # kinds of pages, in the order in which all are read

ESTIMATES = "estimates"
"""A kind of page: shares of answers, or means. Older servers do not write it."""

AIMS = "aims"
"""An internal kind of page: target counts for the assignment of tasks, computed with the results.

There are none if the campaign does not assign by results, or an older server computed them."""

PAGE_ROWS = 1_000  # most rows of a page

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
                "message": "The results are stored for a newer version: use its server.",
            }
        ],
    }
)
"""The results that servers before revision 0006 return instead of results in pages."""

_AT_ONCE = 16


class ResultPage(NamedTuple):
    """A page: its number counts from 0, its content is a JSON array of rows."""

    kind: str
    number: int
    content: str


def are_paged() -> ColumnElement[bool]:
    """Return the SQL condition that the pages of a row of `tables.inference` belong to its ETag."""
    held = tables.inference.c
    return held.etag == held.pages_etag


def pages_of(campaign: bytes, of_round: int | None) -> tuple[Table, ColumnElement[bool]]:
    """Return the table of the latest pages of a campaign, or of a round, and the condition."""
    if of_round is None:
        return tables.result_page, tables.result_page.c.campaign_id == campaign
    page = tables.round_page
    return page, (page.c.campaign_id == campaign) & (page.c.round == of_round)


def put_pages(
    connection: Connection,
    campaign: bytes,
    pages: Iterable[ResultPage],
    of_round: int | None = None,
) -> None:
    """Replace all pages of a campaign or round, in the transaction that writes the head."""
    table, mine = pages_of(campaign, of_round)
    connection.execute(delete(table).where(mine))
    rows: list[tuple[bytes | str | int, ...]] = []
    for page in pages:
        rows.append((campaign, *(() if of_round is None else (of_round,)), *page))
        if len(rows) == _AT_ONCE:
            insert_rows(connection, table, rows)
            rows.clear()
    insert_rows(connection, table, rows)


def read_page(
    connection: Connection, campaign: bytes, kind: str, number: int, of_round: int | None = None
) -> str:
    """Return the content of a page; an empty array beyond the last page."""
    table, mine = pages_of(campaign, of_round)
    page = table.c
    wanted = select(page.content).where(mine, page.kind == kind, page.number == number)
    return connection.scalar(wanted) or "[]"


def has_page(
    connection: Connection, campaign: bytes, kind: str, number: int, of_round: int | None = None
) -> bool:
    """Return whether there is a page."""
    table, mine = pages_of(campaign, of_round)
    page = table.c
    wanted = select(page.number).where(mine, page.kind == kind, page.number == number)
    return connection.scalar(wanted) is not None


def read_pages(
    connection: Connection,
    campaign: bytes,
    kinds: Collection[str],
    after: tuple[str, int],
    most: int,
    of_round: int | None = None,
) -> Sequence[ResultPage]:
    """Return up to `most` pages by kind and number, after the kind and number of `after`."""
    table, mine = pages_of(campaign, of_round)
    page = table.c
    found: list[ResultPage] = []
    for kind in sorted(kinds):
        if kind < after[0] or len(found) == most:
            continue
        wanted = (
            select(page.kind, page.number, page.content)
            .where(
                mine,
                page.kind == kind,
                page.number > (after[1] if kind == after[0] else -1),
            )
            .order_by(page.number)
            .limit(most - len(found))
        )
        found += [ResultPage(*row) for row in connection.execute(wanted)]
    return found

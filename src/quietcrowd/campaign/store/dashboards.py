"""What lets a page read the results of one campaign for a while, in place of a requester's key.

A code stands in a link, and is good once and for ten minutes; it is exchanged for a token, which
the page keeps in memory. Of both a hash is stored. They end with the key that they were made by.
"""

from __future__ import annotations

from typing import Any

from attrs import frozen
from sqlalchemy import Connection, Table, delete, insert, select

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.requesters import KeyHolder, owned_campaign
from quietcrowd.campaign.store.shown_tokens import find_shown
from quietcrowd.campaign.terms.tokens import new_token, same_hash, token_hash

__all__ = [
    "CODE_SECONDS",
    "TOKEN_SECONDS",
    "Reader",
    "delete_ended",
    "exchange_code",
    "issue_code",
    "reader_of",
    "some_ended",
]

CODE_SECONDS = 600
"""For which a code is good."""

TOKEN_SECONDS = 12 * 3_600
"""For which a token is good: a day at work."""

_ANOTHER = "quietcrowd campaign dashboard makes another, which works once, for ten minutes."

_PASSES = (tables.dashboard_code, tables.dashboard_token)


@frozen(kw_only=True)
class Reader:
    """Somebody who may read results.

    Attributes
    ----------
    requester : bytes
        Whose campaigns these are.
    only : bytes, optional
        The one campaign that a token reads; None: all, with a key.
    """

    requester: bytes
    only: bytes | None = None

    @property
    def sees_workers(self) -> bool:
        """Whether pseudonyms, and what only the requester is to know, are shown."""
        return self.only is None

    def campaign(self, connection: Connection, campaign: str) -> Any:
        """Return a campaign that may be read.

        Raises
        ------
        ProblemError
            Where there is no campaign of this id that may be read: no difference shows.
        """
        if self.only is not None and self.only != bytes.fromhex(campaign):
            raise ProblemError("not-found", "This link shows another campaign.")
        return owned_campaign(connection, self.requester, campaign)


def issue_code(connection: Connection, holder: KeyHolder, campaign: bytes, now: float) -> str:
    """Return a new code for a campaign.

    Parameters
    ----------
    connection : Connection
        In a transaction that writes.
    holder : KeyHolder
        Of the key that it is made by.
    campaign : bytes
        Of the requester.
    now : float
        Seconds since 1970.
    """
    code = new_token("qcd_")
    row = {"campaign_id": campaign, "key_sha256": holder.key_hash}
    _store(connection, tables.dashboard_code, code, row, _end(now + CODE_SECONDS, holder))
    return code


def exchange_code(database: Database, campaign: str, code: str, now: float) -> tuple[str, int]:
    """Return a token, and the seconds that it is good for, in exchange for a code, which ends.

    Parameters
    ----------
    database : Database
        Where codes are.
    campaign : str
        Its id: a code of another one is unknown here.
    code : str
        As the link has it.
    now : float
        Seconds since 1970.

    Raises
    ------
    ProblemError
        Where there is no such code, or not any more.
    """
    with database.write() as connection:  # an expired one stays deleted
        row = _take(connection, campaign, code)
        if row is not None and now < row.expires_at:
            return _exchanged(connection, row, now)
    raise ProblemError("code-invalid", _ANOTHER)


def _take(connection: Connection, campaign: str, code: str) -> Any:
    """Return the row of a code, and delete it; None where there is none."""
    table, hashed = tables.dashboard_code, token_hash(code)
    row = connection.execute(
        delete(table)
        .where(table.c.token_sha256 == hashed, table.c.campaign_id == bytes.fromhex(campaign))
        .returning(table)
    ).one_or_none()
    return row if row is not None and same_hash(row.token_sha256, hashed) else None


def _exchanged(connection: Connection, code: Any, now: float) -> tuple[str, int]:
    """Return a token in the place of a code, and for how long it is good."""
    keys = tables.api_key.c
    holder = connection.execute(
        select(keys.expires_at).where(keys.token_sha256 == code.key_sha256)
    ).one()
    token, end = new_token("qcr_"), _end(now + TOKEN_SECONDS, holder)
    row = {"campaign_id": code.campaign_id, "key_sha256": code.key_sha256}
    _store(connection, tables.dashboard_token, token, row, end)
    return token, end - int(now)


def _end(wanted: float, key: Any) -> int:
    """Return when what was made by a key ends: not after the key."""
    return int(wanted) if key.expires_at is None else min(int(wanted), key.expires_at)


def _store(connection: Connection, table: Table, token: str, row: dict[str, Any], end: int) -> None:
    connection.execute(insert(table), {"token_sha256": token_hash(token), "expires_at": end, **row})


def reader_of(database: Database, token: str, now: float) -> Reader:
    """Return what a token lets read; a text that is none is not looked up.

    Parameters
    ----------
    database : Database
        Where tokens are.
    token : str
        What is shown.
    now : float
        Seconds since 1970.

    Raises
    ------
    ProblemError
        Where it is no token, or not any more.
    """
    table, key = tables.dashboard_token, tables.api_key.c
    wanted = (
        select(table, tables.campaign.c.requester_id)
        .join_from(table, tables.campaign)
        .join(tables.api_key, key.token_sha256 == table.c.key_sha256)
        .where(key.revoked == 0)
    )
    found = find_shown(database, table, wanted, token, "qcr_")
    if found is None or now >= found.expires_at:
        raise ProblemError("code-invalid", _ANOTHER)
    return Reader(requester=found.requester_id, only=found.campaign_id)


def some_ended(connection: Connection, now: float) -> bool:
    """Return whether there are codes or tokens whose time is over."""
    return any(
        connection.scalar(select(table.c.expires_at).where(table.c.expires_at <= int(now)).limit(1))
        is not None
        for table in _PASSES
    )


def delete_ended(connection: Connection, now: float) -> None:
    """Delete all codes and tokens whose time is over, by the seconds since 1970."""
    for table in _PASSES:
        connection.execute(delete(table).where(table.c.expires_at <= int(now)))

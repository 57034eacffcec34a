"""Codes, valid once for ten minutes, and tokens with which a page reads one campaign's results."""

from typing import Any

from attrs import frozen
from sqlalchemy import Connection, Table, delete, insert, select

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.requesters import KeyHolder, find_shown, owned_campaign
from quietcrowd.campaign.terms.tokens import new_token, same_hash, token_hash

CODE_SECONDS = 600
TOKEN_SECONDS = 12 * 3_600  # validity of a token: a day at work
_ANOTHER = "Create another with quietcrowd campaign dashboard; it works once, within ten minutes."
_PASSES = (tables.dashboard_code, tables.dashboard_token)


@frozen(kw_only=True)
class Reader:
    """A client that may read results: with a token those of `only` one campaign."""

    requester: bytes
    only: bytes | None = None

    @property
    def sees_workers(self) -> bool:
        """Whether the reader may see pseudonyms and other data meant only for the requester."""
        return self.only is None

    def campaign(self, connection: Connection, campaign: str) -> Any:
        """Return a campaign; the `ProblemError` otherwise does not reveal whether it exists."""
        if self.only is not None and self.only != bytes.fromhex(campaign):
            raise ProblemError("not-found", "This link shows another campaign.")
        return owned_campaign(connection, self.requester, campaign)


def issue_code(connection: Connection, holder: KeyHolder, campaign: bytes, now: float) -> str:
    """Return a new code for a campaign of the key's requester, in a write transaction."""
    code = new_token("qcd_")
    row = {"campaign_id": campaign, "key_sha256": holder.key_hash}
    _store(connection, tables.dashboard_code, code, row, _end(now + CODE_SECONDS, holder))
    return code


def exchange_code(database: Database, campaign: str, code: str, now: float) -> tuple[str, int]:
    """Exchange a code for a token and its validity in seconds, or raise `ProblemError`."""
    with database.write() as connection:  # commit even if the code expired
        row = _take(connection, campaign, code)
        if row is not None and now < row.expires_at:
            return _exchanged(connection, row, now)
    raise ProblemError("code-invalid", _ANOTHER)


def _take(connection: Connection, campaign: str, code: str) -> Any:
    table, hashed = tables.dashboard_code, token_hash(code)
    row = connection.execute(
        delete(table)
        .where(table.c.token_sha256 == hashed, table.c.campaign_id == bytes.fromhex(campaign))
        .returning(table)
    ).one_or_none()
    return row if row is not None and same_hash(row.token_sha256, hashed) else None


def _exchanged(connection: Connection, code: Any, now: float) -> tuple[str, int]:
    keys = tables.api_key.c
    holder = connection.execute(
        select(keys.expires_at).where(keys.token_sha256 == code.key_sha256)
    ).one()
    token, end = new_token("qcr_"), _end(now + TOKEN_SECONDS, holder)
    row = {"campaign_id": code.campaign_id, "key_sha256": code.key_sha256}
    _store(connection, tables.dashboard_token, token, row, end)
    return token, end - int(now)


def _end(wanted: float, key: Any) -> int:
    return int(wanted) if key.expires_at is None else min(int(wanted), key.expires_at)


def _store(connection: Connection, table: Table, token: str, row: dict[str, Any], end: int) -> None:
    connection.execute(insert(table), {"token_sha256": token_hash(token), "expires_at": end, **row})


def reader_of(database: Database, token: str, now: float) -> Reader:
    """Return the reader that a token authorizes, or raise `ProblemError`."""
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
    """Return whether there are expired codes or tokens."""
    return any(
        connection.scalar(select(table.c.expires_at).where(table.c.expires_at <= int(now)).limit(1))
        is not None
        for table in _PASSES
    )


def delete_ended(connection: Connection, now: float) -> None:
    """Delete all expired codes and tokens."""
    for table in _PASSES:
        connection.execute(delete(table).where(table.c.expires_at <= int(now)))

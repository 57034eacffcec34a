"""Who may make campaigns: requesters, their keys, and what is theirs."""

from __future__ import annotations

from typing import Any, Literal

from attrs import frozen
from sqlalchemy import Connection, delete, insert, select, update

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.shown_tokens import find_shown
from quietcrowd.campaign.terms.tokens import (
    new_id,
    new_token,
    token_hash,
)
from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_text

__all__ = [
    "KeyHolder",
    "issue_key",
    "key_state",
    "keys_of",
    "owned_campaign",
    "requester_of",
    "revoke_keys",
]

_LAST = 4
"""So many characters of a key are stored, for people to tell keys apart: 24 of its 256 bits."""


@frozen(kw_only=True)
class KeyHolder:
    """A requester who shows a key.

    Attributes
    ----------
    requester : bytes
        Whose key it is.
    key_hash : bytes
        Of the key.
    expires_at : int, optional
        When the key ends, in seconds since 1970.
    """

    requester: bytes
    key_hash: bytes
    expires_at: int | None


def issue_key(
    database: Database, name: str, *, replace: bool = False, expires_at: int | None = None
) -> str:
    """Return a new key of a requester, who is added where there is no requester of that name.

    Parameters
    ----------
    database : Database
        Migrated.
    name : str
        Of the requester; not empty.
    replace : bool
        Whether all earlier keys of the requester end.
    expires_at : int, optional
        When the key ends, in seconds since 1970; default: never.

    Raises
    ------
    ParameterError
        Where the name is empty or no text that a database holds.
    """
    check_text("name", name)
    if not name.strip() or "\0" in name:
        raise ParameterError("name must not be empty, and have no NUL in it")
    key = new_token("qck_")
    with database.write() as connection:
        requester = connection.scalar(
            select(tables.requester.c.id).where(tables.requester.c.name == name)
        )
        if requester is None:
            requester = new_id()
            connection.execute(insert(tables.requester), {"id": requester, "name": name})
        if replace:
            held = keys_of(connection, requester)
            revoke_keys(connection, [row.token_sha256 for row in held])
        row = {
            "token_sha256": token_hash(key),
            "requester_id": requester,
            "expires_at": expires_at,
            "last4": key[-_LAST:],
        }
        connection.execute(insert(tables.api_key), row)
    return key


def keys_of(connection: Connection, requester: bytes) -> list[Any]:
    """Return the rows of a requester's keys, also of those that have ended."""
    keys = tables.api_key
    wanted = select(keys).where(keys.c.requester_id == requester).order_by(keys.c.token_sha256)
    return list(connection.execute(wanted))


def revoke_keys(connection: Connection, hashes: list[bytes]) -> None:
    """End keys, and all that they have let a dashboard read.

    Their hashes stay, so that whoever shows such a key is told what became of it.
    """
    for table in (tables.dashboard_code, tables.dashboard_token):
        connection.execute(delete(table).where(table.c.key_sha256.in_(hashes)))
    keys = tables.api_key
    connection.execute(update(keys).where(keys.c.token_sha256.in_(hashes)).values(revoked=1))


def key_state(row: Any, now: float) -> Literal["valid", "expired", "revoked"]:
    """Return what became of a key, a row of its table, by the seconds since 1970."""
    if row.revoked:
        return "revoked"
    return "valid" if row.expires_at is None or now < row.expires_at else "expired"


def requester_of(database: Database, key: str, now: float) -> KeyHolder:
    """Return whose key it is; a text that is none is not looked up.

    Parameters
    ----------
    database : Database
        Where keys are.
    key : str
        What is shown.
    now : float
        Seconds since 1970.

    Raises
    ------
    ProblemError
        Where it is nobody's, has expired or was revoked: only who shows the very key is told of
        these two.
    """
    found = find_shown(database, tables.api_key, select(tables.api_key), key, "qck_")
    if found is None:
        raise ProblemError("credential", "Show a requester's key: Authorization: Bearer qck_...")
    state = key_state(found, now)
    if state != "valid":
        raise ProblemError(
            f"key-{state}", "Ask the operator of the server for another key: campaign key."
        )
    return KeyHolder(
        requester=found.requester_id, key_hash=found.token_sha256, expires_at=found.expires_at
    )


def owned_campaign(
    connection: Connection, requester: bytes, campaign: str, *, lock: bool = False
) -> Any:
    """Return a campaign of a requester.

    Raises
    ------
    ProblemError
        Where there is no campaign of this id, or it is another requester's: no difference shows.
    """
    wanted = select(tables.campaign).where(
        tables.campaign.c.id == bytes.fromhex(campaign),
        tables.campaign.c.requester_id == requester,
    )
    found = connection.execute(wanted.with_for_update() if lock else wanted).one_or_none()
    if found is None:
        raise ProblemError("not-found", "You have no such campaign.")
    return found

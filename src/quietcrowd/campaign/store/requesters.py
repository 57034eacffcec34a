"""Who may make campaigns: requesters, their keys, and what is theirs."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, delete, insert, select

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.terms.tokens import has_prefix, new_id, new_token, same_hash, token_hash
from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_text

__all__ = ["issue_key", "owned_campaign", "requester_of"]


def issue_key(database: Database, name: str, *, replace: bool = False) -> str:
    """Return a new key of a requester, who is added where there is none of that name.

    Parameters
    ----------
    database : Database
        Migrated.
    name : str
        Of the requester; not empty.
    replace : bool
        Whether all earlier keys of the requester end.

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
            connection.execute(
                delete(tables.api_key).where(tables.api_key.c.requester_id == requester)
            )
        connection.execute(
            insert(tables.api_key),
            {"token_sha256": token_hash(key), "requester_id": requester},
        )
    return key


def requester_of(database: Database, key: str) -> bytes:
    """Return whose key it is; a text that is none is not looked up.

    Raises
    ------
    ProblemError
        Where it is nobody's.
    """
    if has_prefix(key, "qck_"):
        hashed = token_hash(key)
        with database.read() as connection:
            found = connection.execute(
                select(tables.api_key).where(tables.api_key.c.token_sha256 == hashed)
            ).one_or_none()
        if found is not None and same_hash(found.token_sha256, hashed):
            requester: bytes = found.requester_id
            return requester
    raise ProblemError("credential", "Show a requester's key: Authorization: Bearer qck_...")


def owned_campaign(
    connection: Connection, requester: bytes, campaign: str, *, lock: bool = False
) -> Any:
    """Return a campaign of a requester.

    Raises
    ------
    ProblemError
        Where there is none of this id, or it is another requester's: no difference can be seen.
    """
    wanted = select(tables.campaign).where(
        tables.campaign.c.id == bytes.fromhex(campaign),
        tables.campaign.c.requester_id == requester,
    )
    found = connection.execute(wanted.with_for_update() if lock else wanted).one_or_none()
    if found is None:
        raise ProblemError("not-found", "You have no such campaign.")
    return found

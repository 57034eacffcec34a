"""Who may make campaigns: requesters and their keys; by whoever can open the database."""

from __future__ import annotations

from sqlalchemy import delete, insert, select

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.terms.tokens import new_id, new_token, token_hash
from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_text

__all__ = ["issue_key"]


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

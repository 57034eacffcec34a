"""Lookup of the keys, codes, tokens and credentials that requests present."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, TypeAlias, get_args

from attrs import frozen
from sqlalchemy import ColumnElement, Connection, Select, Table, select

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.terms.tokens import Prefix, has_prefix, same_hash, token_hash

__all__ = ["Kind", "Shown", "find_shown", "known_among"]

Kind: TypeAlias = Literal["key", "code", "token", "credential", "campaign", "open-campaign"]


@frozen
class Shown:
    """A secret or a campaign link that a request presents.

    `hash` is its SHA-256, or the campaign's id for a link ("campaign" or "open-campaign").
    """

    kind: Kind
    hash: bytes


def known_among(connection: Connection, shown: Collection[Shown]) -> set[Shown]:
    """Return which of these exist, including expired keys, codes and tokens.

    A "campaign" must not be a draft; an "open-campaign" must be open to anyone.
    """
    of = {kind: [one for one in shown if one.kind == kind] for kind in get_args(Kind)}
    return {
        *_credentials(connection, of["credential"]),
        *_of_requesters(connection, tables.api_key, of["key"]),
        *_of_requesters(connection, tables.dashboard_code, of["code"]),
        *_of_requesters(connection, tables.dashboard_token, of["token"]),
        *_campaigns(connection, of["campaign"], tables.campaign.c.state != "draft"),
        *_campaigns(connection, of["open-campaign"], tables.campaign.c.join_mode == "open"),
    }


def _credentials(connection: Connection, shown: Collection[Shown]) -> set[Shown]:
    if not shown:
        return set()
    table = tables.participant.c
    wanted = select(table.token_sha256).where(table.id.in_([one.hash[:16] for one in shown]))
    found = set(connection.scalars(wanted))
    return {one for one in shown if one.hash in found}


def _of_requesters(connection: Connection, table: Table, shown: Collection[Shown]) -> set[Shown]:
    if not shown:
        return set()
    hashed = table.c.token_sha256
    wanted = select(hashed).where(hashed.in_([one.hash for one in shown]))
    found = set(connection.scalars(wanted))
    return {one for one in shown if one.hash in found}


def _campaigns(
    connection: Connection, shown: Collection[Shown], condition: ColumnElement[bool]
) -> set[Shown]:
    if not shown:
        return set()
    campaign = tables.campaign.c.id
    wanted = select(campaign).where(campaign.in_([one.hash for one in shown]), condition)
    found = set(connection.scalars(wanted))
    return {one for one in shown if one.hash in found}


def find_shown(
    database: Database, table: Table, wanted: Select[Any], token: str, prefix: Prefix
) -> Any:
    """Return the row of a presented token, or None; a string of another form is not looked up.

    `table` contains the hashes of such tokens, and `wanted` selects from it with any further
    conditions.
    """
    if not has_prefix(token, prefix):
        return None
    hashed = token_hash(token)
    with database.read() as connection:
        found = connection.execute(wanted.where(table.c.token_sha256 == hashed)).one_or_none()
    return found if found is not None and same_hash(found.token_sha256, hashed) else None

"""Lookup of the keys, codes, tokens and credentials that requests present."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, TypeAlias

from attrs import frozen
from sqlalchemy import ColumnElement, Connection, Select, Table, select, true

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.terms.tokens import Prefix, has_prefix, same_hash, token_hash

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
    person, campaign = tables.participant.c, tables.campaign.c
    ids = [one.hash[:16] for one in shown if one.kind == "credential"]
    wanted: dict[Kind, tuple[Any, ColumnElement[bool]]] = {
        "key": (tables.api_key.c.token_sha256, true()),
        "code": (tables.dashboard_code.c.token_sha256, true()),
        "token": (tables.dashboard_token.c.token_sha256, true()),
        "credential": (person.token_sha256, person.id.in_(ids)),  # ids have an index
        "campaign": (campaign.id, campaign.state != "draft"),
        "open-campaign": (campaign.id, campaign.join_mode == "open"),
    }
    known: set[Shown] = set()
    for kind, (column, condition) in wanted.items():
        hashes = [one.hash for one in shown if one.kind == kind]
        if hashes:
            found = connection.scalars(select(column).where(column.in_(hashes), condition))
            known.update(Shown(kind, one) for one in found)
    return known


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

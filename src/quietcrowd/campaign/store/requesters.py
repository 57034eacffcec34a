"""Requesters and their campaigns, and the keys, codes, tokens and credentials of requests."""

from collections.abc import Collection
from typing import Any, Literal, TypeAlias

from attrs import frozen
from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    delete,
    insert,
    select,
    true,
    update,
)

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.terms.tokens import (
    Prefix,
    has_prefix,
    new_id,
    new_token,
    same_hash,
    token_hash,
)
from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import check_text

Kind: TypeAlias = Literal["key", "code", "token", "credential", "campaign"]


@frozen
class Shown:
    """A secret, by its SHA-256, or a link, by its campaign's id, that a request presents."""

    kind: Kind
    hash: bytes


def known_among(connection: Connection, shown: Collection[Shown]) -> set[Shown]:
    """Return which exist; a campaign must not be a draft."""
    person, campaign = tables.participant.c, tables.campaign.c
    ids = [one.hash[:16] for one in shown if one.kind == "credential"]
    wanted: dict[Kind, tuple[Any, ColumnElement[bool]]] = {
        "key": (tables.api_key.c.token_sha256, true()),
        "code": (tables.dashboard_code.c.token_sha256, true()),
        "token": (tables.dashboard_token.c.token_sha256, true()),
        "credential": (person.token_sha256, person.id.in_(ids)),  # ids have an index
        "campaign": (campaign.id, campaign.state != "draft"),
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
    """Return the row of a token from `wanted`, or None; `table` contains the hashes."""
    if not has_prefix(token, prefix):
        return None
    hashed = token_hash(token)
    with database.read() as connection:
        found = connection.execute(wanted.where(table.c.token_sha256 == hashed)).one_or_none()
    return found if found is not None and same_hash(found.token_sha256, hashed) else None


_LAST = 4
"""Characters of a key that are stored, so that people can distinguish keys: 24 of its 256 bits."""


@frozen(kw_only=True)
class KeyHolder:
    """A requester authenticated by a key; `expires_at` is in seconds since 1970."""

    requester: bytes
    key_hash: bytes
    expires_at: int | None


def issue_key(
    database: Database, name: str, *, replace: bool = False, expires_at: int | None = None
) -> str:
    """Create a key of a requester, who may be new; `replace` revokes all earlier keys."""
    check_text("name", name)
    if not name.strip() or "\0" in name:
        raise ParameterError("campaign.name-invalid")
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
    """Return the rows of a requester's keys, including expired and revoked ones."""
    keys = tables.api_key
    wanted = select(keys).where(keys.c.requester_id == requester).order_by(keys.c.token_sha256)
    return list(connection.execute(wanted))


def revoke_keys(connection: Connection, hashes: list[bytes]) -> None:
    """Revoke keys, whose hashes stay, and delete dashboard codes and tokens made with them."""
    for table in (tables.dashboard_code, tables.dashboard_token):
        connection.execute(delete(table).where(table.c.key_sha256.in_(hashes)))
    keys = tables.api_key
    connection.execute(update(keys).where(keys.c.token_sha256.in_(hashes)).values(revoked=1))


def key_state(row: Any, now: float) -> Literal["valid", "expired", "revoked"]:
    """Return the state of a key (a row of its table) at `now`, in seconds since 1970."""
    if row.revoked:
        return "revoked"
    return "valid" if row.expires_at is None or now < row.expires_at else "expired"


def requester_of(database: Database, key: str, now: float) -> KeyHolder:
    """Return the holder of a key, or raise `ProblemError` with the reason if it was valid."""
    found = find_shown(database, tables.api_key, select(tables.api_key), key, "qck_")
    if found is None:
        raise ProblemError("credential", "Send a requester's key: Authorization: Bearer qck_...")
    state = key_state(found, now)
    if state != "valid":
        raise ProblemError(
            f"key-{state}", "Ask the operator of the server for a new key (admin create-key)."
        )
    return KeyHolder(
        requester=found.requester_id, key_hash=found.token_sha256, expires_at=found.expires_at
    )


def owned_campaign(
    connection: Connection, requester: bytes, campaign: str, *, lock: bool = False
) -> Any:
    """Return a campaign of a requester; any other raises the same `ProblemError`."""
    wanted = select(tables.campaign).where(
        tables.campaign.c.id == bytes.fromhex(campaign), tables.campaign.c.requester_id == requester
    )
    found = connection.execute(wanted.with_for_update() if lock else wanted).one_or_none()
    if found is None:
        raise ProblemError("not-found", "You have no such campaign.")
    return found

"""Which keys, credentials, invites and the like there are, of those that requests show, at once."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, TypeAlias, get_args

from attrs import frozen
from sqlalchemy import Connection, Table, select

from quietcrowd.campaign.store import tables

__all__ = ["Kind", "Shown", "known_among"]

Kind: TypeAlias = Literal["key", "code", "token", "credential", "invite"]


@frozen
class Shown:
    """What a request shows for itself.

    Attributes
    ----------
    kind : {"key", "code", "token", "credential", "invite"}
        A requester's key, the code of a link to a dashboard, a token that reads results, a worker's
        credential, or an invite; a campaign that is open to all needs none.
    hash : bytes
        SHA-256 of it.
    campaign : bytes
        Whose invite it is.
    """

    kind: Kind
    hash: bytes
    campaign: bytes = b""


def known_among(connection: Connection, shown: Collection[Shown]) -> set[Shown]:
    """Return which of these there are; of keys, codes and tokens also what has ended."""
    of = {kind: [one for one in shown if one.kind == kind] for kind in get_args(Kind)}
    return {
        *_credentials(connection, of["credential"]),
        *_of_requesters(connection, tables.api_key, of["key"]),
        *_of_requesters(connection, tables.dashboard_code, of["code"]),
        *_of_requesters(connection, tables.dashboard_token, of["token"]),
        *_invites(connection, of["invite"]),
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


def _invites(connection: Connection, shown: Collection[Shown]) -> set[Shown]:
    if not shown:
        return set()
    campaign, invite = tables.campaign.c, tables.invite.c
    campaigns = {one.campaign for one in shown}
    open_to_all = set(
        connection.scalars(
            select(campaign.id).where(campaign.id.in_(campaigns), campaign.join_mode == "open")
        )
    )
    found = {
        tuple(row)
        for row in connection.execute(
            select(invite.campaign_id, invite.token_sha256).where(
                invite.campaign_id.in_(campaigns),
                invite.token_sha256.in_([one.hash for one in shown]),
            )
        )
    }
    return {
        one for one in shown if one.campaign in open_to_all or (one.campaign, one.hash) in found
    }

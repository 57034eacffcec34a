"""Which keys, credentials and invites there are, of those that requests show: many at once."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from attrs import frozen
from sqlalchemy import Connection, select

from quietcrowd.campaign.store import tables

__all__ = ["Shown", "known_among"]


@frozen
class Shown:
    """What a request shows for itself.

    Attributes
    ----------
    kind : {"key", "credential", "invite"}
        A requester's key, a worker's credential, or an invite; a campaign that is open to all needs
        none.
    hash : bytes
        SHA-256 of it.
    campaign : bytes
        Whose invite it is.
    """

    kind: Literal["key", "credential", "invite"]
    hash: bytes
    campaign: bytes = b""


def known_among(connection: Connection, shown: Collection[Shown]) -> set[Shown]:
    """Return which of these there are."""
    return {
        *_credentials(connection, [one for one in shown if one.kind == "credential"]),
        *_keys(connection, [one for one in shown if one.kind == "key"]),
        *_invites(connection, [one for one in shown if one.kind == "invite"]),
    }


def _credentials(connection: Connection, shown: Collection[Shown]) -> set[Shown]:
    if not shown:
        return set()
    table = tables.participant.c
    wanted = select(table.token_sha256).where(table.id.in_([one.hash[:16] for one in shown]))
    found = set(connection.scalars(wanted))
    return {one for one in shown if one.hash in found}


def _keys(connection: Connection, shown: Collection[Shown]) -> set[Shown]:
    if not shown:
        return set()
    table = tables.api_key.c
    wanted = select(table.token_sha256).where(table.token_sha256.in_([one.hash for one in shown]))
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

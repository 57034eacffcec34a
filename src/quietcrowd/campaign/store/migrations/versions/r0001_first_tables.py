"""The first tables: requesters, campaigns, tasks, invites, participants, reports, results."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.schema import SchemaItem

from quietcrowd.campaign.store.tables import STRICT, WHOLE

revision = "0001"
down_revision = None

_BYTES, _TEXT = sa.LargeBinary(), sa.Text()


def upgrade() -> None:
    """Create the tables."""
    _create("requester", *_needed(_BYTES, "id"), *_needed(_TEXT, "name"), _key("id"), _one("name"))
    _create(
        "api_key",
        *_needed(_BYTES, "token_sha256", "requester_id"),
        _owner("requester"),
        _key("token_sha256"),
    )
    _create(
        "campaign",
        *_needed(_BYTES, "id", "requester_id"),
        *_needed(_TEXT, "state"),
        *_needed(WHOLE, "version"),
        *_needed(_TEXT, "title", "description", "mechanism"),
        *_optional(_TEXT, "method"),
        *_needed(_TEXT, "join_mode"),
        *_optional(WHOLE, "answers_per_participant", "max_participants"),
        *_optional(_TEXT, "config"),
        *_optional(_BYTES, "config_hash"),
        *_needed(WHOLE, "erasures", "invites_used"),
        _owner("requester"),
        _key("id"),
    )
    op.create_index("ix_campaign_requester_id", "campaign", ["requester_id"], unique=False)
    _create(
        "task",
        *_needed(_BYTES, "id", "campaign_id"),
        *_needed(WHOLE, "position"),
        *_needed(_TEXT, "name", "data"),
        *_optional(_TEXT, "gold"),
        _owner("campaign"),
        _key("id"),
        _one("campaign_id", "name"),
        _one("campaign_id", "position"),
    )
    _create(
        "inference",
        *_needed(_BYTES, "campaign_id"),
        *_needed(WHOLE, "reports", "erasures"),
        *_optional(_TEXT, "method"),
        *_needed(_TEXT, "etag", "snapshot"),
        _owner("campaign"),
        _key("campaign_id"),
    )
    _create_pairs("invite", "token_sha256")
    _create(
        "participant",
        *_needed(_BYTES, "id", "campaign_id", "token_sha256"),
        *_needed(_TEXT, "pseudonym"),
        *_needed(_BYTES, "consent_hash"),
        _owner("campaign"),
        _key("id"),
        _one("campaign_id", "id"),
        _one("campaign_id", "pseudonym"),
    )
    _create_pairs("withdrawn", "credential_hash")
    _create(
        "report",
        *_needed(_BYTES, "campaign_id", "participant_id", "task_id", "report_id"),
        *_needed(WHOLE, "value"),
        *_optional(WHOLE, "bit"),
        _sender(),
        _key("campaign_id", "participant_id", "task_id"),
        _one("campaign_id", "report_id"),
    )
    _create(
        "sketch",
        *_needed(_BYTES, "campaign_id", "participant_id", "report_id", "numbers"),
        _sender(),
        _key("campaign_id", "participant_id"),
        _one("campaign_id", "report_id"),
    )


def _create(name: str, *parts: SchemaItem) -> None:
    op.create_table(name, *parts, **STRICT)


def _create_pairs(name: str, secret: str) -> None:
    columns = ("campaign_id", secret)
    _create(name, *_needed(_BYTES, *columns), _owner("campaign"), _key(*columns))


def _needed(kind: Any, *names: str) -> list[SchemaItem]:
    return [sa.Column(name, kind, nullable=False) for name in names]


def _optional(kind: Any, *names: str) -> list[SchemaItem]:
    return [sa.Column(name, kind, nullable=True) for name in names]


def _owner(table: str) -> SchemaItem:
    return sa.ForeignKeyConstraint([f"{table}_id"], [f"{table}.id"], ondelete="CASCADE")


def _sender() -> SchemaItem:
    return sa.ForeignKeyConstraint(
        ["campaign_id", "participant_id"],
        ["participant.campaign_id", "participant.id"],
        ondelete="CASCADE",
    )


def _key(*columns: str) -> SchemaItem:
    return sa.PrimaryKeyConstraint(*columns)


def _one(*columns: str) -> SchemaItem:
    return sa.UniqueConstraint(*columns)

"""The first tables: requesters, campaigns, tasks, invites, participants, reports, results."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_STRICT = {"sqlite_strict": True, "sqlite_with_rowid": False}


def upgrade() -> None:
    """Create the tables."""
    _create_requesters()
    _create_campaigns()
    _create_participants()
    _create_reports()


def _create_requesters() -> None:
    op.create_table(
        "requester",
        sa.Column("id", sa.LargeBinary(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
        **_STRICT,
    )
    op.create_table(
        "api_key",
        sa.Column("token_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("requester_id", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["requester_id"], ["requester.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("token_sha256"),
        **_STRICT,
    )


def _create_campaigns() -> None:
    op.create_table(
        "campaign",
        sa.Column("id", sa.LargeBinary(), nullable=False),
        sa.Column("requester_id", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("version", _WHOLE, nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("mechanism", sa.Text(), nullable=False),
        sa.Column("method", sa.Text(), nullable=True),
        sa.Column("join_mode", sa.Text(), nullable=False),
        sa.Column("answers_per_participant", _WHOLE, nullable=True),
        sa.Column("max_participants", _WHOLE, nullable=True),
        sa.Column("config", sa.Text(), nullable=True),
        sa.Column("config_hash", sa.LargeBinary(), nullable=True),
        sa.Column("erasures", _WHOLE, nullable=False),
        sa.Column("invites_used", _WHOLE, nullable=False),
        sa.ForeignKeyConstraint(["requester_id"], ["requester.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        **_STRICT,
    )
    op.create_index("ix_campaign_requester_id", "campaign", ["requester_id"], unique=False)
    op.create_table(
        "task",
        sa.Column("id", sa.LargeBinary(), nullable=False),
        sa.Column("campaign_id", sa.LargeBinary(), nullable=False),
        sa.Column("position", _WHOLE, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("gold", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("campaign_id", "name"),
        sa.UniqueConstraint("campaign_id", "position"),
        **_STRICT,
    )
    op.create_table(
        "inference",
        sa.Column("campaign_id", sa.LargeBinary(), nullable=False),
        sa.Column("reports", _WHOLE, nullable=False),
        sa.Column("erasures", _WHOLE, nullable=False),
        sa.Column("method", sa.Text(), nullable=True),
        sa.Column("etag", sa.Text(), nullable=False),
        sa.Column("snapshot", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("campaign_id"),
        **_STRICT,
    )


def _create_participants() -> None:
    op.create_table(
        "invite",
        sa.Column("campaign_id", sa.LargeBinary(), nullable=False),
        sa.Column("token_sha256", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("campaign_id", "token_sha256"),
        **_STRICT,
    )
    op.create_table(
        "participant",
        sa.Column("id", sa.LargeBinary(), nullable=False),
        sa.Column("campaign_id", sa.LargeBinary(), nullable=False),
        sa.Column("token_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("pseudonym", sa.Text(), nullable=False),
        sa.Column("consent_hash", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("campaign_id", "id"),
        sa.UniqueConstraint("campaign_id", "pseudonym"),
        **_STRICT,
    )
    op.create_table(
        "withdrawn",
        sa.Column("campaign_id", sa.LargeBinary(), nullable=False),
        sa.Column("credential_hash", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("campaign_id", "credential_hash"),
        **_STRICT,
    )


def _create_reports() -> None:
    op.create_table(
        "report",
        sa.Column("campaign_id", sa.LargeBinary(), nullable=False),
        sa.Column("participant_id", sa.LargeBinary(), nullable=False),
        sa.Column("task_id", sa.LargeBinary(), nullable=False),
        sa.Column("report_id", sa.LargeBinary(), nullable=False),
        sa.Column("value", _WHOLE, nullable=False),
        sa.Column("bit", _WHOLE, nullable=True),
        sa.ForeignKeyConstraint(
            ["campaign_id", "participant_id"],
            ["participant.campaign_id", "participant.id"],
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("campaign_id", "participant_id", "task_id"),
        sa.UniqueConstraint("campaign_id", "report_id"),
        **_STRICT,
    )
    op.create_table(
        "sketch",
        sa.Column("campaign_id", sa.LargeBinary(), nullable=False),
        sa.Column("participant_id", sa.LargeBinary(), nullable=False),
        sa.Column("report_id", sa.LargeBinary(), nullable=False),
        sa.Column("numbers", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["campaign_id", "participant_id"],
            ["participant.campaign_id", "participant.id"],
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("campaign_id", "participant_id"),
        sa.UniqueConstraint("campaign_id", "report_id"),
        **_STRICT,
    )

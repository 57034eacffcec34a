"""Menus and rounds of campaigns, what workers chose, and reports and results by round."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from quietcrowd.campaign.store.tables import STRICT, WHOLE

revision = "0016"
down_revision = "0015"

_ADDED: dict[str, dict[str, Any]] = {
    "campaign": {"menu": sa.Text, "rounds": sa.Text, "shown_round": WHOLE},
    "invite": {"after": WHOLE},
    "participant": {"choice": WHOLE, "slot": WHOLE, "after": WHOLE},
    "inference": {"round": WHOLE},
}


def _count(name: str, default: str = "0") -> sa.Column[Any]:
    return sa.Column(name, WHOLE, nullable=False, server_default=default)


def upgrade() -> None:
    """Add the columns and tables."""
    for table, columns in _ADDED.items():
        for name, kind in columns.items():
            op.add_column(table, sa.Column(name, kind, nullable=True))
    op.create_table(
        "round_report",
        sa.Column("campaign_id", sa.LargeBinary(), nullable=False),
        sa.Column("participant_id", sa.LargeBinary(), nullable=False),
        sa.Column("round", WHOLE, nullable=False),
        sa.Column("task_id", sa.LargeBinary(), nullable=False),
        sa.Column("report_id", sa.LargeBinary(), nullable=False),
        sa.Column("value", WHOLE, nullable=False),
        sa.Column("bit", WHOLE, nullable=True),
        _count("again"),
        sa.PrimaryKeyConstraint("campaign_id", "participant_id", "round", "task_id"),
        sa.UniqueConstraint("campaign_id", "report_id"),
        sa.ForeignKeyConstraint(
            ["campaign_id", "participant_id"],
            ["participant.campaign_id", "participant.id"],
            ondelete="CASCADE",
        ),
        **STRICT,
    )
    op.create_index("ix_round_report_campaign_id_round", "round_report", ["campaign_id", "round"])
    op.create_table(
        "shown_round",
        sa.Column("campaign_id", sa.LargeBinary(), nullable=False),
        sa.Column("number", WHOLE, nullable=False),
        sa.Column("etag", sa.Text(), nullable=True),
        sa.Column("head", sa.Text(), nullable=True),
        _count("truths"),
        _count("workers"),
        _count("kept", "1"),
        sa.PrimaryKeyConstraint("campaign_id", "number"),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], ondelete="CASCADE"),
        **STRICT,
    )
    op.create_table(
        "round_page",
        sa.Column("campaign_id", sa.LargeBinary(), nullable=False),
        sa.Column("round", WHOLE, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("number", WHOLE, nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("campaign_id", "round", "kind", "number"),
        sa.ForeignKeyConstraint(
            ["campaign_id", "round"],
            ["shown_round.campaign_id", "shown_round.number"],
            ondelete="CASCADE",
        ),
        **STRICT,
    )

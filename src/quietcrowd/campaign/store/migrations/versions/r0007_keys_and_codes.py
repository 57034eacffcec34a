"""Expiry of keys, and codes and tokens for dashboards; existing keys do not expire."""

import sqlalchemy as sa
from alembic import op

from quietcrowd.campaign.store.tables import STRICT, WHOLE

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the columns and create the tables."""
    op.add_column("api_key", sa.Column("expires_at", WHOLE, nullable=True))
    op.add_column("api_key", sa.Column("last4", sa.Text(), nullable=True))
    op.add_column("api_key", sa.Column("revoked", WHOLE, nullable=False, server_default="0"))
    for name in ("dashboard_code", "dashboard_token"):
        _create_passes(name)


def _create_passes(name: str) -> None:
    op.create_table(
        name,
        sa.Column("token_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("campaign_id", sa.LargeBinary(), nullable=False),
        sa.Column("key_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("expires_at", WHOLE, nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["key_sha256"], ["api_key.token_sha256"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("token_sha256"),
        **STRICT,
    )
    for column in ("campaign_id", "key_sha256"):
        op.create_index(f"ix_{name}_{column}", name, [column], unique=False)

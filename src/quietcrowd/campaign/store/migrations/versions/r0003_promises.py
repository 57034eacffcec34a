"""Promises to workers, the requester's view since the last release, and the end of retention.

Existing campaigns have promised nothing: they show reports at once, and delete nothing by date.
"""

import sqlalchemy as sa
from alembic import op

from quietcrowd.campaign.store.tables import WHOLE

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the columns."""
    for name in ("requester_name", "contact", "purpose"):
        op.add_column("campaign", sa.Column(name, sa.Text(), nullable=False, server_default=""))
    for name in ("retention_days", "delete_at"):
        op.add_column("campaign", sa.Column(name, WHOLE, nullable=True))
    op.add_column("campaign", sa.Column("at_least", WHOLE, nullable=False, server_default="1"))
    for name in ("invites_made", "shown_participants", "shown_reports", "shown_erasures"):
        op.add_column("campaign", sa.Column(name, WHOLE, nullable=False, server_default="0"))
    op.add_column("campaign", sa.Column("shown_method", sa.Text(), nullable=True))
    op.add_column(
        "participant", sa.Column("standing", sa.Text(), nullable=False, server_default="joined")
    )
    op.create_index(
        "ix_participant_campaign_id_standing", "participant", ["campaign_id", "standing"]
    )

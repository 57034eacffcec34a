"""Assignment of tasks to workers; existing campaigns assign none."""

import sqlalchemy as sa
from alembic import op

from quietcrowd.campaign.store.tables import WHOLE

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the columns, and an index to find the tasks assigned least often."""
    op.add_column("campaign", sa.Column("allotment", sa.Text(), nullable=True))
    op.add_column("task", sa.Column("asked", WHOLE, nullable=False, server_default="0"))
    op.create_index(
        "ix_task_campaign_id_asked", "task", ["campaign_id", "asked", "id"], unique=False
    )
    op.add_column("participant", sa.Column("allotment", sa.LargeBinary(), nullable=True))

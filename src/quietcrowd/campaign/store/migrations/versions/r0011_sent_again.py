"""Mark of repeated reports, and the day that a campaign's questions refer to."""

import sqlalchemy as sa
from alembic import op

from quietcrowd.campaign.store.tables import WHOLE

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add the columns; existing reports are not marked."""
    op.add_column("report", sa.Column("again", WHOLE, nullable=False, server_default="0"))
    op.add_column("campaign", sa.Column("as_of", sa.Text(), nullable=True))

"""Goal and chosen loss of campaigns, names of images, counts of workers, and estimates."""

import sqlalchemy as sa
from alembic import op

from quietcrowd.campaign.store.tables import WHOLE

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the columns."""
    op.add_column("campaign", sa.Column("goal", sa.Text(), nullable=False, server_default="truths"))
    op.add_column("campaign", sa.Column("chosen", sa.Text(), nullable=True))
    for name in ("withdrew", "shown_joined", "shown_left"):
        op.add_column("campaign", sa.Column(name, WHOLE, nullable=False, server_default="0"))
    op.add_column("inference", sa.Column("estimates_etag", sa.Text(), nullable=True))
    op.add_column("image", sa.Column("names", sa.Text(), nullable=True))

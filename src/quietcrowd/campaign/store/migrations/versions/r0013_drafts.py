"""Whether devices may keep unsent answers; null in existing campaigns."""

import sqlalchemy as sa
from alembic import op

from quietcrowd.campaign.store.tables import WHOLE

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Add the column."""
    op.add_column("campaign", sa.Column("drafts", WHOLE, nullable=True))

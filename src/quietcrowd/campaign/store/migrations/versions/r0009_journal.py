"""Random id shared with the journal of withdrawals."""

import sqlalchemy as sa
from alembic import op

from quietcrowd.campaign.store.tables import STRICT

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Create the table; the next server that starts fills it."""
    op.create_table(
        "journal",
        sa.Column("line", sa.Text(), primary_key=True),
        sa.Column("id", sa.LargeBinary(), nullable=False),
        **STRICT,
    )

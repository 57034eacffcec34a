"""Random id shared with the journal of withdrawals."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table; the next server that starts fills it."""
    op.create_table(
        "journal",
        sa.Column("line", sa.Text(), primary_key=True),
        sa.Column("id", sa.LargeBinary(), nullable=False),
        sqlite_strict=True,
        sqlite_with_rowid=False,
    )

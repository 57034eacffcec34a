"""Completion codes that campaigns give to workers with stored reports."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column."""
    op.add_column("campaign", sa.Column("completion_code", sa.Text(), nullable=True))

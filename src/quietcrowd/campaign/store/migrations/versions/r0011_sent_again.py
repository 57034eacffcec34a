"""Mark of repeated reports, and the day that a campaign's questions refer to."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the columns; existing reports are not marked."""
    op.add_column("report", sa.Column("again", _WHOLE, nullable=False, server_default="0"))
    op.add_column("campaign", sa.Column("as_of", sa.Text(), nullable=True))

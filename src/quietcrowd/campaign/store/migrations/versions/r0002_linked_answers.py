"""How many of a worker's answers share one fact, as the requester declares it."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; campaigns that there are have declared nothing."""
    whole = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.add_column("campaign", sa.Column("linked", whole, nullable=True))

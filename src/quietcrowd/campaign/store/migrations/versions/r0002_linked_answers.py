"""Number of a worker's answers about one fact, as the requester declares it."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column; existing campaigns have declared nothing."""
    whole = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.add_column("campaign", sa.Column("linked", whole, nullable=True))

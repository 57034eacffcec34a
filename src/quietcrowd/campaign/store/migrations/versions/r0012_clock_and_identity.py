"""Latest day on the server's clock, and the database's random id."""

import secrets

import sqlalchemy as sa
from alembic import op

from quietcrowd.campaign.store.tables import STRICT, WHOLE

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Create both tables. The id is created here, because all copies of a database share it."""
    for name, column in (
        ("clock", sa.Column("day", WHOLE, nullable=False)),
        ("identity", sa.Column("id", sa.LargeBinary(), nullable=False)),
    ):
        op.create_table(name, sa.Column("line", sa.Text(), primary_key=True), column, **STRICT)
    insert = sa.text("INSERT INTO identity (line, id) VALUES ('', :id)")
    op.execute(insert.bindparams(id=secrets.token_bytes(16)))

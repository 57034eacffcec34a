"""Latest day on the server's clock, and the database's random id."""

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create both tables. The id is created here, because all copies of a database share it."""
    for name, column in (
        ("clock", sa.Column("day", _WHOLE, nullable=False)),
        ("identity", sa.Column("id", sa.LargeBinary(), nullable=False)),
    ):
        op.create_table(
            name,
            sa.Column("line", sa.Text(), primary_key=True),
            column,
            sqlite_strict=True,
            sqlite_with_rowid=False,
        )
    insert = sa.text("INSERT INTO identity (line, id) VALUES ('', :id)")
    op.execute(insert.bindparams(id=secrets.token_bytes(16)))

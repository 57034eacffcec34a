"""Excluded workers, closing dates, revoked invites, and the number of joined workers.

Open campaigns that anyone can join get the limit on joined workers that newer ones get on opening.
"""

import sqlalchemy as sa
from alembic import op

from quietcrowd.campaign.store.tables import STRICT, WHOLE

revision = "0008"
down_revision = "0007"


_OF_IT = "WHERE campaign_id = campaign.id)"


def _counted(table: str, name: str) -> None:
    op.add_column(table, sa.Column(name, WHOLE, nullable=False, server_default="0"))


def upgrade() -> None:
    """Add the columns and the table, and count the workers."""
    op.add_column("campaign", sa.Column("closes_on", sa.Text(), nullable=True))
    op.add_column("campaign", sa.Column("max_joined", WHOLE, nullable=True))
    for name in ("joined", "crowded", "exclusions"):
        _counted("campaign", name)
    _counted("inference", "exclusions")
    _counted("invite", "revoked")
    op.create_table(
        "exclusion",
        sa.Column(
            "campaign_id",
            sa.LargeBinary(),
            sa.ForeignKey("campaign.id", ondelete="CASCADE"),
            primary_key=True,
        ),
        sa.Column("pseudonym", sa.Text(), primary_key=True),
        sa.Column("wanted", WHOLE, nullable=False),
        sa.Column("in_force", WHOLE, nullable=False),
        **STRICT,
    )
    op.execute(f"UPDATE campaign SET joined = (SELECT count(*) FROM participant {_OF_IT}")
    op.execute(
        "UPDATE campaign SET max_joined = "
        "CASE WHEN max_participants > 1000 THEN 10 * max_participants ELSE 10000 END "
        "WHERE join_mode = 'open' AND state = 'open'"
    )

"""Reserved invites; existing workers, whose invites were spent at joining, may send."""

import sqlalchemy as sa
from alembic import op

from quietcrowd.campaign.store.tables import WHOLE

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the columns, and an index to find the workers of an invite."""
    op.add_column("invite", sa.Column("allotment", sa.LargeBinary(), nullable=True))
    for name in ("invite_sha256", "code_sha256"):
        op.add_column("participant", sa.Column(name, sa.LargeBinary(), nullable=True))
    op.add_column("participant", sa.Column("placed", WHOLE, nullable=False, server_default="1"))
    op.create_index(
        "ix_participant_campaign_id_invite_sha256",
        "participant",
        ["campaign_id", "invite_sha256"],
        unique=False,
    )

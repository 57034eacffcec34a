"""Tables of the database. No column reveals time, origin or order of workers' data.

Times, in seconds since 1970, depend only on requesters: `campaign.delete_at` on when the campaign
was closed, and `expires_at` on when a key, code or token was created. `campaign.closes_on` and
`campaign.as_of` are days that the requester named. `clock.day` is stored daily, whether or not
workers are active: see `clock`.

`requester.id` is public, as part of the configurations of the requester's campaigns. `report.again`
is 1 if the device marks the report as sent before. `participant.standing` is joined, waiting or
shown: see `releases`. For `exclusion` see `exclusions`.

`campaign.chosen` is JSON from which the mechanism of a draft follows, see `terms.chosen_mechanism`;
null if the requester described a mechanism.

`campaign.allotment` is the kind of task assignment, `invite.allotment` and `participant.allotment`
contain a worker's tasks, and `task.asked` counts the workers of a task: see `allotments`.

`participant.placed` is 1 once a worker may send. Until a campaign closes, `invite_sha256` links a
worker with an invite; `code_sha256` identifies the code that moves an unplaced worker to another
browser. See `invites`.

`campaign.menu` and `campaign.rounds` are JSON of a draft, see `terms.menu` and `terms.rounds`;
`campaign.shown_round` is the last round whose results the requester sees: see `rounds`. Reports of
a campaign in rounds are in `round_report`, and results of each round in `shown_round` and
`round_page`.

`participant.choice` and `participant.slot` are what the worker chose from a menu and the residue of
the worker's rounds. No report is accepted for rounds up to `after`, if the invite replaced another.

`campaign.withdrew` counts the workers who withdrew, without those that the requester deleted.

Counts shown to the requester are stored in the campaign's row, because counting many millions of
rows takes long.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.schema import SchemaItem

WHOLE = BigInteger().with_variant(Integer(), "sqlite")
"""64-bit integers, in a type that SQLite's strict tables accept."""

STRICT: dict[str, Any] = {"sqlite_strict": True, "sqlite_with_rowid": False}
"""Pages are ordered by random keys; rows in a page by arrival: see `Database.write_anew`."""

metadata = MetaData()


def _table(name: str, *parts: SchemaItem) -> Table:
    return Table(name, metadata, *parts, **STRICT)


def _owner(table: str, *, primary_key: bool = False, index: bool | None = None) -> Column[Any]:
    return Column(
        f"{table}_id",
        LargeBinary,
        ForeignKey(f"{table}.id", ondelete="CASCADE"),
        primary_key=primary_key,
        nullable=False,
        index=index,
    )


def _text(name: str) -> Column[Any]:
    return Column(name, Text, nullable=False, server_default="")


def _counted(name: str, first: int) -> Column[Any]:
    return Column(name, WHOLE, nullable=False, server_default=str(first))


def _sent(name: str, *columns: SchemaItem) -> Table:
    """Table of uploads, with report ids unique within a campaign."""
    return _table(
        name,
        Column("campaign_id", LargeBinary, primary_key=True),
        Column("participant_id", LargeBinary, primary_key=True),
        *columns,
        UniqueConstraint("campaign_id", "report_id"),
        ForeignKeyConstraint(
            ["campaign_id", "participant_id"],
            ["participant.campaign_id", "participant.id"],
            ondelete="CASCADE",
        ),
    )


requester = _table(
    "requester",
    Column("id", LargeBinary, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
)

api_key = _table(
    "api_key",
    Column("token_sha256", LargeBinary, primary_key=True),
    _owner("requester"),
    Column("expires_at", WHOLE),
    Column("last4", Text),
    _counted("revoked", 0),
)

campaign = _table(
    "campaign",
    Column("id", LargeBinary, primary_key=True),
    _owner("requester", index=True),
    Column("state", Text, nullable=False),
    Column("version", WHOLE, nullable=False),
    Column("title", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("mechanism", Text, nullable=False),
    Column("method", Text),
    Column("join_mode", Text, nullable=False),
    Column("answers_per_participant", WHOLE),
    Column("linked", WHOLE),
    Column("max_participants", WHOLE),
    Column("config", Text),
    Column("config_hash", LargeBinary),
    Column("erasures", WHOLE, nullable=False),
    Column("invites_used", WHOLE, nullable=False),
    *(_text(name) for name in ("requester_name", "contact", "purpose")),
    Column("retention_days", WHOLE),
    Column("delete_at", WHOLE),
    _counted("at_least", 1),
    *(
        _counted(name, 0)
        for name in ("invites_made", "shown_participants", "shown_reports", "shown_erasures")
    ),
    Column("shown_method", Text),
    Column("completion_code", Text),
    Column("closes_on", Text),
    Column("max_joined", WHOLE),  # this and `crowded`: read by older servers only
    *(_counted(name, 0) for name in ("tasks", "joined", "crowded", "exclusions")),
    Column("allotment", Text),
    Column("as_of", Text),
    Column("drafts", WHOLE),
    Column("goal", Text, nullable=False, server_default="truths"),
    Column("chosen", Text),
    *(_counted(name, 0) for name in ("withdrew", "shown_joined", "shown_left")),
    Column("menu", Text),
    Column("rounds", Text),
    Column("shown_round", WHOLE),
)


def _pass(name: str) -> Table:
    """Table of secrets that let a client read the results of a campaign for a while."""
    return _table(
        name,
        Column("token_sha256", LargeBinary, primary_key=True),
        _owner("campaign", index=True),
        Column(
            "key_sha256",
            LargeBinary,
            ForeignKey("api_key.token_sha256", ondelete="CASCADE"),
            nullable=False,
            index=True,
        ),
        Column("expires_at", WHOLE, nullable=False),
    )


dashboard_code = _pass("dashboard_code")

dashboard_token = _pass("dashboard_token")

task = _table(
    "task",
    Column("id", LargeBinary, primary_key=True),
    _owner("campaign"),
    Column("position", WHOLE, nullable=False),
    Column("name", Text, nullable=False),
    Column("data", Text, nullable=False),
    Column("gold", Text),
    _counted("asked", 0),
    UniqueConstraint("campaign_id", "name"),
    UniqueConstraint("campaign_id", "position"),
    Index("ix_task_campaign_id_asked", "campaign_id", "asked", "id"),
)

image = _table(
    "image",
    _owner("campaign", primary_key=True),
    Column("sha256", LargeBinary, primary_key=True),
    Column("media_type", Text, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("names", Text),
)

invite = _table(
    "invite",
    _owner("campaign", primary_key=True),
    Column("token_sha256", LargeBinary, primary_key=True),
    _counted("revoked", 0),
    Column("allotment", LargeBinary),
    Column("after", WHOLE),
)

participant = _table(
    "participant",
    Column("id", LargeBinary, primary_key=True),
    _owner("campaign"),
    Column("token_sha256", LargeBinary, nullable=False),
    Column("pseudonym", Text, nullable=False),
    Column("consent_hash", LargeBinary, nullable=False),
    Column("standing", Text, nullable=False, server_default="joined"),
    Column("allotment", LargeBinary),
    Column("invite_sha256", LargeBinary),
    Column("code_sha256", LargeBinary),
    _counted("placed", 1),  # of workers joined at older servers
    *(Column(name, WHOLE) for name in ("choice", "slot", "after")),
    UniqueConstraint("campaign_id", "pseudonym"),
    UniqueConstraint("campaign_id", "id"),
    Index("ix_participant_campaign_id_standing", "campaign_id", "standing"),
    Index("ix_participant_campaign_id_invite_sha256", "campaign_id", "invite_sha256"),
)

withdrawn = _table(
    "withdrawn",
    _owner("campaign", primary_key=True),
    Column("credential_hash", LargeBinary, primary_key=True),
)

report = _sent(
    "report",
    Column("task_id", LargeBinary, primary_key=True),
    Column("report_id", LargeBinary, nullable=False),
    Column("value", WHOLE, nullable=False),
    Column("bit", WHOLE),
    _counted("again", 0),
)

round_report = _sent(
    "round_report",
    Column("round", WHOLE, primary_key=True),
    Column("task_id", LargeBinary, primary_key=True),
    Column("report_id", LargeBinary, nullable=False),
    Column("value", WHOLE, nullable=False),
    Column("bit", WHOLE),
    _counted("again", 0),
    Index("ix_round_report_campaign_id_round", "campaign_id", "round"),
)

sketch = _sent(
    "sketch",
    Column("report_id", LargeBinary, nullable=False),
    Column("numbers", LargeBinary, nullable=False),
)

SENT = (report, round_report, sketch)
"""Tables of what workers sent."""

inference = _table(
    "inference",
    _owner("campaign", primary_key=True),
    Column("reports", WHOLE, nullable=False),
    Column("erasures", WHOLE, nullable=False),
    Column("method", Text),
    Column("etag", Text, nullable=False),
    Column("snapshot", Text, nullable=False),
    Column("pages_etag", Text),
    Column("head", Text),
    *(_counted(name, 0) for name in ("truths", "workers", "exclusions")),
    Column("estimates_etag", Text),
    Column("round", WHOLE),
)
"""Heads of results; servers before revision 0006 read only `snapshot`: see `result_pages`.

Servers before revision 0015 write no estimates: there are some if `estimates_etag` is the ETag.
"""

journal = _table(
    "journal", Column("line", Text, primary_key=True), Column("id", LargeBinary, nullable=False)
)
"""One row: the id that the journal of withdrawals has too; see `withdrawals.copies`."""

clock = _table(
    "clock", Column("line", Text, primary_key=True), Column("day", WHOLE, nullable=False)
)
"""One row: the latest day on the server's clock, in days since 1970; see `clock`."""

identity = _table(
    "identity", Column("line", Text, primary_key=True), Column("id", LargeBinary, nullable=False)
)
"""One row: a random id shared by all copies of the database; see `generations`."""

exclusion = _table(
    "exclusion",
    _owner("campaign", primary_key=True),
    Column("pseudonym", Text, primary_key=True),
    Column("wanted", WHOLE, nullable=False),
    Column("in_force", WHOLE, nullable=False),
)

result_page = _table(
    "result_page",
    Column(
        "campaign_id",
        LargeBinary,
        ForeignKey("inference.campaign_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("kind", Text, primary_key=True),
    Column("number", WHOLE, primary_key=True),
    Column("content", Text, nullable=False),
)

shown_round = _table(
    "shown_round",
    _owner("campaign", primary_key=True),
    Column("number", WHOLE, primary_key=True),
    Column("etag", Text),
    Column("head", Text),
    *(_counted(name, 0) for name in ("truths", "workers")),
    _counted("kept", 1),
)
"""Rounds that the requester sees; the head is null until an inference. `kept` is 0 once reports are
deleted."""

round_page = _table(
    "round_page",
    Column("campaign_id", LargeBinary, primary_key=True),
    Column("round", WHOLE, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("number", WHOLE, primary_key=True),
    Column("content", Text, nullable=False),
    ForeignKeyConstraint(
        ["campaign_id", "round"],
        ["shown_round.campaign_id", "shown_round.number"],
        ondelete="CASCADE",
    ),
)

"""Results in pages, and the number of tasks.

Existing results and their ETags stay. Their text, which may have hundreds of megabytes, is read row
by row. It stays for servers of older versions until the results change.
"""

import json
from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

from quietcrowd.campaign.store.tables import STRICT, WHOLE

revision = "0006"
down_revision = "0005"

_KINDS = ("truths", "workers")
_ROWS = 1_000
_DECODER = json.JSONDecoder()

_TASKS = "UPDATE campaign SET tasks = (SELECT count(*) FROM task WHERE campaign_id = campaign.id)"
_HEAD = """
UPDATE inference SET pages_etag = etag, head = :head, truths = :truths, workers = :workers
WHERE campaign_id = :id
"""
_PAGE = """
INSERT INTO result_page (campaign_id, kind, number, content) VALUES (:id, :kind, :number, :content)
"""


def upgrade() -> None:
    """Count tasks, and split each text into a head and pages."""
    op.add_column("campaign", sa.Column("tasks", WHOLE, nullable=False, server_default="0"))
    op.execute(_TASKS)
    for name in ("pages_etag", "head"):
        op.add_column("inference", sa.Column(name, sa.Text(), nullable=True))
    for name in _KINDS:
        op.add_column("inference", sa.Column(name, WHOLE, nullable=False, server_default="0"))
    op.create_table(
        "result_page",
        sa.Column("campaign_id", sa.LargeBinary(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("number", WHOLE, nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["inference.campaign_id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("campaign_id", "kind", "number"),
        **STRICT,
    )
    listed = sa.text("SELECT campaign_id FROM inference")
    for campaign in op.get_bind().scalars(listed).all():
        _split(campaign)


def _split(campaign: bytes) -> None:
    connection = op.get_bind()
    wanted = sa.text("SELECT snapshot FROM inference WHERE campaign_id = :id")
    head, counts = {}, dict.fromkeys(_KINDS, 0)
    rows: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    for name, member in _members(connection.scalar(wanted, {"id": campaign})):
        if name not in _KINDS:
            head[name] = json.loads(member)
            continue
        rows[name].append(member)
        counts[name] += 1
        if len(rows[name]) == _ROWS:
            _put(campaign, name, counts[name], rows[name])
    for kind in _KINDS:
        if rows[kind] or not counts[kind]:
            _put(campaign, kind, counts[kind], rows[kind])
    found = json.dumps(head, allow_nan=False, separators=(",", ":"))
    connection.execute(sa.text(_HEAD), {"id": campaign, "head": found, **counts})


def _put(campaign: bytes, kind: str, count: int, rows: list[str]) -> None:
    number = max(count - 1, 0) // _ROWS
    content = f"[{','.join(rows)}]"
    values = {"id": campaign, "kind": kind, "number": number, "content": content}
    op.get_bind().execute(sa.text(_PAGE), values)
    rows.clear()


def _members(text: str) -> Iterator[tuple[str, str]]:
    """Yield the members of an object as text; for truths and workers, the text of each row.

    The JSON must not contain spaces between tokens.
    """
    place = 1
    while text[place] != "}":
        name, place = _DECODER.raw_decode(text, place)
        begin = place + 1
        if name not in _KINDS:
            end = _DECODER.raw_decode(text, begin)[1]
            yield name, text[begin:end]
        else:
            end = begin + 1
            while text[end] != "]":
                begin, end = end, _DECODER.raw_decode(text, end)[1]
                yield name, text[begin:end]
                end += text[end] == ","
            end += 1
        place = end + (text[end] == ",")

"""Releases: the requester's view changes only when `at_least` new workers can be added at once.

A worker is first "joined", then "waiting" from the first upload on, and "shown" after the next
release. The upload that makes `at_least` workers wait releases all of them, in its transaction.
Releases are not numbered, so the database does not store which workers came together.

The requester's view consists of the columns of a campaign that begin with ``shown_``, and of
results computed from exactly the reports of a release. After closing, reports are added. Only
`release_waiting`, for at least `at_least` new workers, and `update_released`, after the campaign
closed or for a release after withdrawals, write these columns. So joins, uploads and withdrawals
change nothing visible in between. Workers that joined without being shown, and withdrawn ones,
are counted in multiples of `at_least`, so that a release does not reveal a single one of them.

A campaign in rounds has an `at_least` of more than 1, and shows reports by round instead, once the
round is over: see `show_rounds`. Its workers are shown with their first round.

If `at_least` is 1, nothing waits: the view is current, and `show_at_once` updates the counts of
workers and reports. Withdrawals and the method are read directly then.
"""

import json
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    case,
    delete,
    func,
    insert,
    or_,
    select,
    true,
    update,
)

from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.exclusions import renew


def waits_for_others(campaign: Any) -> bool:
    """Return whether workers of a campaign (a row of its table) wait for a release."""
    return bool(campaign.at_least > 1)


def largest_at_least(connection: Connection) -> int:
    """Return the largest `at_least` of campaigns from which workers may withdraw, or 1."""
    campaign = tables.campaign.c
    holds = or_(campaign.state == "open", campaign.joined > 0)
    return connection.scalar(select(func.max(campaign.at_least)).where(holds)) or 1


def _now_or_shown(now: Any, shown: Any) -> Any:
    return case((tables.campaign.c.at_least > 1, shown), else_=now)


def erasures_shown() -> Any:
    """Return an SQL expression for the number of withdrawals visible to the requester."""
    return _now_or_shown(tables.campaign.c.erasures, tables.campaign.c.shown_erasures)


def method_shown() -> Any:
    """Return an SQL expression for the visible results' method; a new method waits as well."""
    return _now_or_shown(tables.campaign.c.method, tables.campaign.c.shown_method)


def as_released() -> ColumnElement[bool]:
    """Return the SQL condition that no worker has withdrawn since the last release."""
    campaign = tables.campaign.c
    return or_(campaign.at_least <= 1, campaign.erasures == campaign.shown_erasures)


def show_at_once(
    connection: Connection, campaign: bytes, *, participants: int = 0, reports: int = 0
) -> None:
    """Add to the visible counts of a locked campaign whose workers do not wait."""
    table = tables.campaign
    connection.execute(
        update(table)
        .where(table.c.id == campaign)
        .values(
            shown_participants=table.c.shown_participants + participants,
            shown_reports=table.c.shown_reports + reports,
        )
    )


def release_waiting(connection: Connection, campaign: bytes, senders: Collection[bytes]) -> int:
    """Let new senders wait, and release all if there are at least `at_least`; return how many.

    Call it in the transaction that stores the uploads, with the campaign locked. `senders` must not
    have sent anything before.
    """
    person = tables.participant
    connection.execute(
        update(person)
        .where(person.c.id.in_(senders), person.c.campaign_id == campaign)
        .values(standing="waiting")
    )
    row = connection.execute(select(tables.campaign).where(tables.campaign.c.id == campaign)).one()
    waiting = (person.c.campaign_id == campaign) & (person.c.standing == "waiting")
    count = _count(connection, person, waiting)
    if count < row.at_least:
        return 0
    reports = reports_of(connection, row, waiting)
    connection.execute(update(person).where(waiting).values(standing="shown"))
    if row.erasures != row.shown_erasures:
        update_released(connection, campaign)
        return count
    renew(connection, row)
    connection.execute(
        update(tables.campaign)
        .where(tables.campaign.c.id == campaign)
        .values(
            shown_participants=row.shown_participants + count,
            shown_reports=row.shown_reports + reports,
            shown_method=row.method,
            **_joined_and_left(connection, row, row.shown_participants + count),
        )
    )
    return count


def show_rounds(connection: Connection, campaign: bytes, last: int) -> int:
    """Show rounds up to `last`; return the number of workers, 0 if nothing is shown.

    A round with reports of fewer than `at_least` workers is shown together with the next ones,
    under the number of the last. Reports are deleted once `keep` later rounds are shown. Call it
    in a write transaction with the campaign locked, when these rounds accept no more reports.
    """
    row = connection.execute(select(tables.campaign).where(tables.campaign.c.id == campaign)).one()
    table, shown, person = tables.round_report, tables.shown_round, tables.participant
    after = -1 if row.shown_round is None else row.shown_round
    mine = table.c.campaign_id == campaign
    waiting = select(table.c.round).distinct().where(mine, table.c.round > after)
    waiting = waiting.where(table.c.round <= last).order_by(table.c.round)
    counts = _shown_alone(
        connection, row, [*kept_rounds(connection, campaign), *connection.scalars(waiting)]
    )
    new = {number: count for number, count in counts.items() if number > after}
    if not new:
        return 0
    connection.execute(insert(shown), [{"campaign_id": campaign, "number": one} for one in new])
    number = max(new)
    senders = select(table.c.participant_id).where(mine, table.c.round.between(after + 1, number))
    connection.execute(
        update(person)
        .where(person.c.campaign_id == campaign, person.c.id.in_(senders))
        .values(standing="shown")
    )
    over = kept_rounds(connection, campaign)[: -json.loads(row.rounds)["keep"]]
    if over:
        connection.execute(delete(table).where(mine, table.c.round <= over[-1]))
        older = (shown.c.campaign_id == campaign) & (shown.c.number <= over[-1])
        connection.execute(update(shown).where(older).values(kept=0))
    connection.execute(
        update(tables.campaign).where(tables.campaign.c.id == campaign).values(shown_round=number)
    )
    update_released(connection, campaign)
    return sum(new.values())


def _shown_alone(connection: Connection, campaign: Any, numbers: Sequence[int]) -> dict[int, int]:
    """Return those of some rounds that are not shown with a later one, and their workers.

    `numbers` are ascending, and begin with the first kept round. A round with fewer than `at_least`
    workers is shown with the next, also if they are fewer because others have withdrawn.
    """
    table, shown = tables.round_report.c, tables.shown_round.c
    over = select(func.max(shown.number)).where(shown.campaign_id == campaign.id, shown.kept == 0)
    before, found = connection.scalar(over), {}
    for number in numbers:
        new = (table.campaign_id == campaign.id) & (table.round <= number)
        if before is not None:
            new &= table.round > before
        senders = select(table.participant_id).distinct().where(new)
        count = _count(connection, senders.subquery(), true())
        if count >= campaign.at_least:
            found[number] = count
            before = number
    return found


def _merge_rounds(connection: Connection, campaign: bytes) -> None:
    """Show rounds in which too few workers are left with the next ones, if there are some."""
    table, shown = tables.campaign, tables.shown_round
    row = connection.execute(select(table).where(table.c.id == campaign)).one()
    if row.rounds is None:
        return
    kept = kept_rounds(connection, campaign)
    few = set(kept) - _shown_alone(connection, row, kept).keys()
    mine = shown.c.campaign_id == campaign
    connection.execute(delete(shown).where(mine, shown.c.number.in_(few)))
    last = select(func.max(shown.c.number)).where(mine).scalar_subquery()
    connection.execute(update(table).where(table.c.id == campaign).values(shown_round=last))


def shown_rounds(connection: Connection, campaign: bytes) -> list[int]:
    """Return the numbers of the shown rounds of a campaign, ascending."""
    return _numbers(connection, tables.shown_round.c.campaign_id == campaign)


def kept_rounds(connection: Connection, campaign: bytes) -> list[int]:
    """Return the shown rounds of a campaign whose reports are not deleted yet, ascending."""
    shown = tables.shown_round.c
    return _numbers(connection, (shown.campaign_id == campaign) & (shown.kept == 1))


def _numbers(connection: Connection, wanted: ColumnElement[bool]) -> list[int]:
    number = tables.shown_round.c.number
    return list(connection.scalars(select(number).where(wanted).order_by(number)))


def is_of_shown_round(campaign: Any) -> ColumnElement[bool]:
    """Return the SQL condition that a report of a campaign in rounds is shown."""
    after = -1 if campaign.shown_round is None else campaign.shown_round
    found: ColumnElement[bool] = tables.round_report.c.round <= after
    return found


def update_released(connection: Connection, campaign: bytes) -> None:
    """Update the requester's view to the released workers, and put exclusions into effect.

    Results are deleted if a worker has withdrawn since; those of rounds stay until others replace
    them. The campaign must be locked, and its workers wait for releases.
    """
    person, table = tables.participant, tables.campaign
    _merge_rounds(connection, campaign)
    row = connection.execute(select(table).where(table.c.id == campaign)).one()
    shown = (person.c.campaign_id == campaign) & (person.c.standing == "shown")
    if row.erasures != row.shown_erasures:
        connection.execute(
            delete(tables.inference).where(tables.inference.c.campaign_id == campaign)
        )
    renew(connection, row)
    count = _count(connection, person, shown)
    connection.execute(
        update(table)
        .where(table.c.id == campaign)
        .values(
            shown_participants=count,
            shown_reports=reports_of(connection, row, shown),
            shown_erasures=row.erasures,
            shown_method=row.method,
            **_joined_and_left(connection, row, count),
        )
    )


def people_joined(connection: Connection, campaign: Any) -> int:
    """Count the workers who have joined a campaign, a row of its table, until now.

    Several browsers with one invite are one worker. Those that the requester deleted do not count.
    """
    person = tables.participant.c
    mine = person.campaign_id == campaign.id
    invited = connection.scalar(select(func.count(person.invite_sha256.distinct())).where(mine))
    others = _count(connection, tables.participant, mine & person.invite_sha256.is_(None))
    withdrew: int = campaign.withdrew
    return (invited or 0) + others + withdrew


def _joined_and_left(connection: Connection, row: Any, shown: int) -> dict[str, int]:
    others = max(0, people_joined(connection, row) - shown)
    return {
        "shown_joined": shown + others - others % row.at_least,
        "shown_left": row.withdrew - row.withdrew % row.at_least,
    }


def _count(connection: Connection, table: Any, wanted: Any) -> int:
    return connection.scalar(select(func.count()).select_from(table).where(wanted)) or 0


def reports_of(connection: Connection, campaign: Any, wanted: Any) -> int:
    """Count the reports and sketches of workers under a condition, of rounds that are shown."""
    person = tables.participant
    of_round = is_of_shown_round(campaign)
    return sum(
        _count(
            connection,
            person.join(
                sent,
                (sent.c.campaign_id == person.c.campaign_id)
                & (sent.c.participant_id == person.c.id),
            ),
            wanted & of_round if sent is tables.round_report else wanted,
        )
        for sent in tables.SENT
    )


def recount(database: Database) -> None:
    """Correct the stored counts; lock only campaigns with different counts."""
    campaign, counts = tables.campaign.c, _counts()
    wrong = or_(*(campaign[name] != now for name, now in counts.items()))
    with database.read() as connection:
        differing = connection.scalars(select(campaign.id).where(wrong)).all()
    for one in differing:
        with database.write() as connection:
            mine = campaign.id == one
            connection.execute(select(campaign.id).where(mine).with_for_update())
            connection.execute(update(tables.campaign).where(mine).values(counts))


def _counts() -> dict[str, ColumnElement[int]]:
    """Return the correct values by column; the number of revoked invites is unknown."""
    kept = tables.campaign.c
    at_once = kept.at_least <= 1
    counts_now = or_(tables.participant.c.placed == 1, kept.join_mode == "open")
    invites = kept.invites_used + _number_of(tables.invite, tables.invite.c.revoked == 0)
    return {
        "tasks": _number_of(tables.task),
        "joined": _number_of(tables.participant),
        "shown_participants": case(
            (at_once, _number_of(tables.participant, counts_now)), else_=kept.shown_participants
        ),
        "shown_reports": case(
            (at_once, _number_of(tables.report) + _number_of(tables.sketch)),
            else_=kept.shown_reports,
        ),
        "invites_made": case(
            (at_once & (kept.invites_made < invites), invites), else_=kept.invites_made
        ),
    }


def _number_of(table: Table, *conditions: ColumnElement[bool]) -> ColumnElement[int]:
    counted = select(func.count()).select_from(table)
    mine = counted.where(table.c.campaign_id == tables.campaign.c.id, *conditions)
    return mine.correlate(tables.campaign).scalar_subquery()

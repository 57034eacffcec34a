import itertools

import pytest
from sqlalchemy import event, insert

from quietcrowd.campaign.store import lookups, tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.inserting import insert_rows
from quietcrowd.campaign.store.lookups import look_up
from quietcrowd.campaign.store.migrating import migrate

PEOPLE, REPORTS = 40, 50


def an_id(campaign, number):
    return campaign + number.to_bytes(15)


def reports_of(campaign):
    """Give as many reports as one campaign has alone: statistics know nothing of it."""
    return [
        (campaign, an_id(campaign, person), an_id(campaign, task), an_id(campaign, number), 1, None)
        for number, (person, task) in enumerate(itertools.product(range(PEOPLE), range(REPORTS)))
    ]


@pytest.fixture
def database(new_database):
    opened = Database.open(new_database)
    migrate(opened)
    texts = dict.fromkeys(("title", "description", "mechanism", "state", "join_mode"), "")
    wholes = dict.fromkeys(("version", "erasures", "invites_used"), 0)
    with opened.write() as connection:
        owner = {"id": b"looks up", "name": "looks up"}
        connection.execute(insert(tables.requester), owner)
        for one in (b"a", b"b"):
            campaign = {"id": one, "requester_id": owner["id"], **texts, **wholes}
            connection.execute(insert(tables.campaign), campaign)
            people = [
                {"id": an_id(one, person), "pseudonym": str(person), "campaign_id": one}
                | dict.fromkeys(("token_sha256", "consent_hash"), b"")
                for person in range(PEOPLE)
            ]
            connection.execute(insert(tables.participant), people)
            insert_rows(connection, tables.report, reports_of(one))
    yield opened
    with opened.write() as connection:
        mine = tables.requester.c.id == owner["id"]
        connection.execute(tables.requester.delete().where(mine))
    opened.close()


@pytest.mark.parametrize("chunk", [3, 10_000])
@pytest.mark.parametrize("column", ["participant_id", "report_id"])
def test_all_rows_with_an_id_are_found_in_the_campaign(database, monkeypatch, column, chunk):
    monkeypatch.setattr(lookups, "_CHUNK", chunk)
    wanted = [an_id(b"a", number) for number in range(0, PEOPLE, 5)]
    strangers = [an_id(b"b", 1), an_id(b"a", 10**6), b""]
    place = tables.report.columns.keys().index(column)
    with database.read() as connection:
        rows = list(look_up(connection, tables.report, b"a", column, [*wanted, *strangers]))
    assert sorted(map(tuple, rows)) == [row for row in reports_of(b"a") if row[place] in wanted]
    assert rows[0].report_id[:1] == b"a"


def test_of_no_ids_nothing_is_asked(database):
    statements = []
    with database.read() as connection:
        event.listen(connection, "before_cursor_execute", lambda *a: statements.append(a[2]))
        assert list(look_up(connection, tables.report, b"a", "report_id", [])) == []
    assert statements == []


@pytest.mark.parametrize("known", [False, True], ids=["no statistics", "statistics"])
@pytest.mark.parametrize("ids", [1, 30, 1_000])
@pytest.mark.parametrize("column", ["participant_id", "report_id"])
def test_rows_are_found_by_the_index_whatever_the_statistics(database, column, ids, known):
    asked = []
    wanted = [an_id(b"a", number) for number in range(ids)]
    with database.write() as connection:
        if known:
            connection.exec_driver_sql("ANALYZE report")
        event.listen(connection, "before_cursor_execute", lambda *a: asked.append(a[2:4]))
        list(look_up(connection, tables.report, b"a", column, wanted))
        explain = "EXPLAIN QUERY PLAN" if database.path else "EXPLAIN"
        ((statement, values),) = asked
        rows = connection.exec_driver_sql(f"{explain} {statement}", values).all()
    plan = "\n".join(str(row[-1]) for row in rows)
    if database.path:
        assert f"(campaign_id=? AND {column}=?)" in plan
    else:
        assert f"AND ({column} = wanted.id)" in plan
        assert "Seq Scan" not in plan

import pytest
from sqlalchemy import event, func, select

from quietcrowd.campaign.store import inserting, tables
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.inserting import insert_rows
from quietcrowd.campaign.store.migrating import migrate


@pytest.fixture
def database(new_database):
    opened = Database.open(new_database)
    migrate(opened)
    yield opened
    with opened.write() as connection:
        connection.execute(tables.requester.delete().where(tables.requester.c.name.like("row %")))
    opened.close()


@pytest.mark.parametrize("count", [0, 1, 7])
def test_rows_are_inserted_with_few_statements(database, monkeypatch, count):
    monkeypatch.setattr(inserting, "_MOST", 6)
    rows = [(b"row %d" % place, f"row % {place}") for place in range(count)]
    statements = []
    event.listen(database.engine, "before_cursor_execute", lambda *a: statements.append(a[2]))
    table = tables.requester
    with database.write() as connection:
        insert_rows(connection, table, rows)
        found = connection.execute(select(table).where(table.c.name.like("row %"))).all()
    assert sorted(map(tuple, found)) == rows
    assert len([one for one in statements if one.startswith("INSERT")]) == -(-count // 3)
    with database.read() as connection:
        assert connection.scalar(select(func.count()).where(table.c.name.like("row %"))) == count

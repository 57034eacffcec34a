"""Every revision, in turn, over a database that a server of the first one wrote."""

import csv
import json

import httpx
import pytest
from tests.campaign.older_databases import (
    all_revisions,
    found_tables,
    load_first,
    replace_rows,
    rows_of,
    said_at_first,
    schema_of,
    upgrade_to,
    with_a_later_revision,
)
from tests.campaign.people import PLAIN, Running
from tests.campaign.waiting import LONG
from tests.nightly import nightly

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store import revisions
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.opening import migrate
from quietcrowd.campaign.store.revisions import (
    found_revision,
    newest_revision,
    pending_revisions,
    standing_of,
)
from quietcrowd.campaign.store.tables import metadata
from quietcrowd.campaign.terms.tokens import participant_id
from quietcrowd.exceptions import FormatError

pytestmark = pytest.mark.slow


@pytest.fixture
def first(new_database):
    """Return a database of the first revision."""
    load_first(new_database)
    opened = Database.open(new_database)
    yield opened
    opened.close()


def only_known(rows, before):
    """Return rows with the columns alone that there were before."""
    return {
        name: sorted(({key: row[key] for key in old[0]} for row in rows[name]), key=repr)
        if (old := before[name])
        else []
        for name in before
    }


def test_the_first_database_has_rows_in_every_table(first):
    with first.read() as connection:
        assert found_revision(connection) == "0001" == all_revisions()[0]
    assert all(rows_of(first).values())


@pytest.mark.nightly
def test_every_revision_keeps_all_rows(first):
    for revision in all_revisions()[1:]:
        before = rows_of(first)
        upgrade_to(first, revision)
        assert only_known(rows_of(first), before) == before, revision
    with first.read() as connection:
        assert standing_of(found_revision(connection)) == "current"


def is_contained(old, new):
    """Return whether a document says what an older one did, and perhaps more."""
    if isinstance(old, dict) and isinstance(new, dict):
        return all(name in new and is_contained(value, new[name]) for name, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(is_contained, old, new))
    return old == new


def says_the_same(old, new):
    return is_contained(values_in(old), values_in(new))


def values_in(text):
    """Return what a text holds: a document, one to each line, or rows of CSV."""
    try:
        return json.loads(text)
    except ValueError:
        lines = text.splitlines()
        is_json = text.startswith("{")
        return [json.loads(line) for line in lines] if is_json else list(csv.DictReader(lines))


@pytest.fixture
def upgraded(first, new_database):
    """Return a server of the first database, once it was brought up to date."""
    migrate(first)
    running = Running(Settings(database=new_database, infer=False, requests_per_second=0)).start()
    yield running
    running.stop()


@pytest.mark.grid
def test_the_interface_says_what_it_said(upgraded, new_database):
    then = said_at_first(new_database)
    assert sum(one["status"] == 200 for one in then["observed"].values()) > 25
    desk = upgraded.client(then["key"])
    for path, old in then["observed"].items():
        answer = desk.get(path)
        assert answer.status_code == old["status"], (path, answer.text)
        assert old["status"] != 200 or says_the_same(old["text"], answer.text), path
    worker = upgraded.client(then["credential"])
    for path, old in then["worker"].items():
        assert says_the_same(old, worker.get(path).raise_for_status().text), path


@pytest.mark.nightly
def test_its_workers_go_on(upgraded, new_database):
    then = said_at_first(new_database)
    campaign = then["campaigns"]["open"]
    assert upgraded.client(then["leaver"]).delete("/me").status_code == 204
    config = upgraded.client().get(f"/public/campaigns/{campaign}").json()["config_hash"]
    body = {"config_hash": config, "invite": then["invite"]}
    for credential, status in ((then["withdrawn"], 409), (f"qcw_{'x' * 43}", 201)):
        place = f"/public/campaigns/{campaign}/participants/{participant_id(credential).hex()}"
        assert upgraded.client(credential).put(place, json=body).status_code == status


@pytest.mark.grid
def test_the_upgraded_tables_are_those_of_a_new_database(first, tmp_path, request):
    migrate(first)
    for make in (migrate, lambda database: metadata.create_all(database.engine)):
        if first.path is None:
            url = request.getfixturevalue("postgresql_server").new_database()
        else:
            url = f"sqlite:///{tmp_path}/fresh-{make.__name__.strip('<>')}.db"
        fresh = Database.open(url)
        make(fresh)
        assert schema_of(first) == schema_of(fresh)
        fresh.close()


@pytest.mark.nightly
def test_revisions_of_a_line_only_add(first):
    """So that a server of an older version goes on with a database that has more."""
    for revision in all_revisions()[1:]:
        before = schema_of(first)
        upgrade_to(first, revision)
        after = schema_of(first)
        del before["storage"]
        for name, table in before.items():
            now = after[name]
            assert now["key"] == table["key"]
            assert table["columns"].items() <= now["columns"].items(), revision
            added = now["columns"].keys() - table["columns"].keys()
            for column in added:
                _, nullable, default = now["columns"][column]
                assert nullable or default is not None, (revision, name, column)
            kept = [one for one in now["constraints"] if one[0] != "index" or one[-1]]
            assert kept == [one for one in table["constraints"] if one[0] != "index" or one[-1]]


@pytest.mark.grid
@pytest.mark.parametrize("last", [3, nightly(None)])
def test_the_newest_tables_take_what_older_versions_write(first, tmp_path, request, last):
    """Whoever knows the tables of an older revision alone reads back what it wrote."""
    if first.path is None:
        url = request.getfixturevalue("postgresql_server").new_database()
    else:
        url = f"sqlite:///{tmp_path}/newest.db"
    newest = Database.open(url)
    migrate(newest)
    for revision in all_revisions()[-(last or 0) :]:
        upgrade_to(first, revision)
        known, rows = found_tables(first), rows_of(first)
        replace_rows(newest, known, rows)
        assert rows_of(newest, known) == rows, revision
    newest.close()


def test_revisions_say_what_they_change_in_one_line():
    for one in pending_revisions(None):
        assert one.name.isdigit()
        assert len(one.name) == 4
        assert one.says.endswith(".")
    assert [one.name for one in pending_revisions("0001")] == all_revisions()[1:]
    assert pending_revisions(newest_revision()) == []


@pytest.mark.parametrize(
    ("found", "standing"),
    [(None, "new"), ("0001", "older"), ("9999", "newer")],
)
def test_how_a_database_stands_to_this_version(found, standing):
    assert standing_of(found) == standing
    assert bool(pending_revisions(found)) == (standing != "newer")


@pytest.mark.parametrize("found", ["from the future", "2.0100", "0000", "99999"])
def test_what_no_version_of_this_line_made_is_refused(found):
    with pytest.raises(FormatError, match="newer quietcrowd"):
        standing_of(found)


def test_a_new_line_accepts_what_it_knows_and_nothing_of_another(tmp_path, monkeypatch):
    folder, later = with_a_later_revision(tmp_path)
    before = newest_revision()
    script = folder / "versions" / f"r{later}_later.py"
    script.write_text(script.read_text().replace(f'"{later}"', f'"2.{later}"'))
    monkeypatch.setattr(revisions, "FOLDER", folder)
    assert newest_revision() == f"2.{later}"
    assert standing_of(before) == "older"
    assert standing_of("2.9999") == "newer"
    with pytest.raises(FormatError, match="newer quietcrowd"):
        standing_of("9999")


@pytest.mark.grid
def test_a_server_goes_on_with_what_a_later_version_added(
    first, new_database, tmp_path, monkeypatch
):
    with monkeypatch.context() as later:
        folder, name = with_a_later_revision(tmp_path)
        later.setattr(revisions, "FOLDER", folder)
        migrate(first)
    with first.read() as connection:
        assert found_revision(connection) == name
    running = Running(Settings(database=new_database, infer=False)).start()
    then = said_at_first(new_database)
    answer = httpx.get(
        f"{running.url}/api/v1/campaigns/{then['campaigns']['open']}",
        headers={"Authorization": f"Bearer {then['key']}"},
        verify=PLAIN,
        timeout=LONG,
    )
    running.stop()
    assert answer.status_code == 200
    migrate(first)  # which has more than it knows
    with first.read() as connection:
        assert found_revision(connection) == name

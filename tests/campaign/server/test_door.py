import pytest

from quietcrowd.campaign.server import start
from quietcrowd.campaign.server.door import open_door
from quietcrowd.campaign.server.metrics.counters import Tally
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.database import Database
from quietcrowd.exceptions import ParameterError


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Return a way to open the door of a server that may have 1,024 files open."""
    monkeypatch.setattr(start, "file_limit", lambda: 1_024)
    database = Database.open(f"sqlite:///{tmp_path}/q.db")
    yield lambda **changed: open_door(Settings(**changed), database, Tally())
    database.close()


def test_a_source_has_a_quarter_of_what_files_allow(opened):
    usual = opened().connections
    assert 700 < usual.most < 1_000
    assert usual.each == usual.most // 4


def test_settings_say_how_many_there_are(opened):
    own = opened(connections=50, connections_each=7).connections
    assert (own.most, own.each) == (50, 7)
    assert opened(connections=1).connections.each == 1
    all_of_one = opened(connections_each=100_000).connections
    assert all_of_one.each == all_of_one.most
    with pytest.raises(ParameterError, match="Increase the limit"):
        opened(connections=1_000)


def test_sources_are_those_of_the_proxy(opened):
    connections = opened(proxy="192.0.2.1").connections
    assert connections.sources.of_connection("192.0.2.1") is None


def test_what_is_coming_in_or_turned_away_is_not_worked_on(opened):
    door = opened(at_once=2)
    assert [door.is_full(requests) for requests in (1, 2)] == [False, True]
    door.incoming.waiting += 1
    door.turning_away.held += 1
    assert [door.is_full(requests) for requests in (3, 4)] == [False, True]

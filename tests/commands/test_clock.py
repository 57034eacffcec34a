"""``quietcrowd campaign clock``."""

import time
from contextlib import closing

import pytest

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.clock import DAY, read_clock
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.opening import ready_database


@pytest.mark.parametrize("days", [200, -200])
def test_an_operator_confirms_a_clock(run, tmp_path, days):
    url = f"sqlite:///{tmp_path}/q.db"
    now = time.time()
    with ready_database(Settings(database=url), clock=lambda: now + days * DAY):
        pass
    words = ("campaign", "clock", "--database", url)
    status, _, told = run(*words)
    assert (status, "campaign clock --confirm" in told) == (0, True)
    assert "The clock is confirmed." in run(*words, "--confirm")[2]
    assert "The clock is plausible." in run(*words)[2]
    for file in (tmp_path / "q.db", tmp_path / "q.db.departures"):
        with closing(Database.open(f"sqlite:///{file}")) as database:
            assert abs(read_clock(now, database).seen - now // DAY) <= 1


def test_no_clock_is_confirmed_without_a_database(run, tmp_path):
    status, _, told = run("campaign", "clock", "--database", f"sqlite:///{tmp_path}/no.db")
    assert (status, "there is no database" in told) == (2, True)
    assert not list(tmp_path.iterdir())

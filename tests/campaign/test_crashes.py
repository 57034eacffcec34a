"""Nothing that was acknowledged is lost, and nothing is counted twice, whenever the server ends."""

import os
import random
import signal

import pytest
from tests.campaign.ports import free_port
from tests.campaign.server_process import base_url, new_key, server_process
from tests.campaign.uploading import PER_UPLOAD, open_campaign, stored, uploading
from tests.campaign.waiting import in_time
from tests.nightly import nightly

STOPS, UPLOADERS, TASKS, MOST_UPLOADS = 8, 16, 5_000, 100


def kill(server: int) -> None:
    """Kill a process, and wait until it is gone, with its locks."""

    def is_gone() -> bool:
        try:
            os.kill(server, signal.SIGKILL)
        except ProcessLookupError:
            return True
        return False

    assert in_time(is_gone)


@pytest.mark.parametrize("kills", [2, nightly(20)])
def test_killing_the_server_loses_nothing_and_doubles_nothing(
    nursery, new_database, tmp_path, kills
):
    key, port, log = new_key(new_database), free_port(), tmp_path / "log"
    server = nursery.start(new_database, port, log)
    campaign = open_campaign(base_url(port), key, TASKS)
    moments = random.Random(7)
    with uploading(campaign, UPLOADERS) as crowd:
        for _ in range(kills):
            crowd.wait_for_more(moments.randrange(MOST_UPLOADS))
            kill(server)
            known = crowd.acknowledged
            server = nursery.start(new_database, port, log)
            assert set(known) <= set(stored(new_database, campaign))
        assert in_time(lambda: len(crowd.acknowledged) > kills * PER_UPLOAD)
        crowd.end()
    os.kill(server, signal.SIGTERM)
    assert sorted(stored(new_database, campaign)) == sorted(crowd.acknowledged)
    assert crowd.statuses["broken"] > kills
    assert crowd.statuses.keys() <= {200, 503, "broken"}


@pytest.mark.nightly
def test_killing_two_servers_and_their_database_loses_nothing_and_doubles_nothing(
    nursery, postgresql_server, tmp_path
):
    """What one server may have stored before it was killed is sent to the other one again."""
    url, ports = postgresql_server.new_database(), (free_port(), free_port())
    key, moments = new_key(url), random.Random(8)
    logs = [tmp_path / f"log of {port}" for port in ports]
    servers = [nursery.start(url, *place) for place in zip(ports, logs, strict=True)]
    campaign = open_campaign(base_url(ports[0]), key, TASKS)
    campaign.also = (base_url(ports[1]),)
    with uploading(campaign, UPLOADERS) as crowd:
        for stop in range(STOPS):
            crowd.wait_for_more(moments.randrange(MOST_UPLOADS))
            one = stop % 2
            kill(servers[one])
            known = crowd.acknowledged
            servers[one] = nursery.start(url, ports[one], logs[one])
            assert set(known) <= set(stored(url, campaign))
            if stop % 4 == 3:
                postgresql_server.stop("immediate")
                postgresql_server.start()
        crowd.wait_for_each()
        crowd.end()
    for server in servers:
        os.kill(server, signal.SIGTERM)
    assert sorted(stored(url, campaign)) == sorted(crowd.acknowledged)
    assert crowd.statuses["broken"] > STOPS
    assert crowd.statuses.keys() <= {200, 503, "broken"}


@pytest.mark.nightly
def test_a_server_that_is_told_to_end_stores_all_that_it_acknowledges(new_database, tmp_path):
    key, log = new_key(new_database), tmp_path / "log"
    with server_process(new_database, log) as server:
        campaign = open_campaign(server.base_url, key, TASKS)
        with uploading(campaign, UPLOADERS) as crowd:
            crowd.wait_for_each()
            server.process.send_signal(signal.SIGTERM)
            server.program.finished(check=True)
            crowd.end(gone=True)
    assert "Traceback" not in log.read_text()
    assert not list(tmp_path.glob("*-wal"))
    found = stored(new_database, campaign)
    assert len(found) == len(set(found))
    assert set(crowd.acknowledged) <= set(found)
    assert crowd.statuses.keys() <= {200, 429, 503, "broken"}

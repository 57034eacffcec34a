"""A server behind PgBouncer in transaction mode, which gives each transaction any connection."""

import secrets
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from tests.campaign.people import PLAIN
from tests.campaign.postgresql import HOW_TO_GET_IT as HOW_TO_GET_POSTGRESQL
from tests.campaign.postgresql import find_programs, postgresql
from tests.campaign.server_process import new_key, server_process
from tests.campaign.uploading import Uploader, open_campaign
from tests.campaign.waiting import LONG
from tests.deploy.pgbouncer import HOW_TO_GET_IT, find_pgbouncer, pgbouncer

from quietcrowd.campaign.store.copies import copy_to
from quietcrowd.campaign.store.database import Database
from quietcrowd.exceptions import ParameterError

pytestmark = pytest.mark.nightly
WORKERS, UPLOADS = 6, 40


@pytest.fixture
def urls():
    """Give the URLs of PgBouncer for two databases, and PostgreSQL's own URL of the first."""
    pooler, programs = find_pgbouncer(), find_programs()
    if pooler is None or programs is None:
        pytest.skip(HOW_TO_GET_IT if pooler is None else HOW_TO_GET_POSTGRESQL)
    with postgresql(programs) as behind, pgbouncer(pooler, behind, 3) as port:
        own = [behind.new_database(), behind.new_database()]
        yield *(url.replace(f":{behind.port}/", f":{port}/") for url in own), own[0]


def test_a_campaign_goes_through_it(urls, tmp_path):
    database, journal, _ = urls
    key = new_key(database)
    options = [
        "--no-infer",
        "--withdrawal-log",
        journal,
        "--set",
        "requests_per_second=0",
        "--set",
        "pool_size=4",
    ]
    with server_process(database, tmp_path / "log", *options) as server:
        campaign = open_campaign(server.base_url, key, UPLOADS)

        def answer(number):
            worker = Uploader(campaign, threading.Event(), threading.Event())
            with worker.client as client:
                worker.join()
                for task in worker.tasks():
                    report = {"report_id": secrets.token_hex(16), "task_id": task, "value": 1}
                    assert worker.send([report]), worker.statuses
                if number == 0:
                    client.delete("/me").raise_for_status()

        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(answer, range(WORKERS)))
        shown = httpx.get(
            f"{server.base_url}/campaigns/{campaign.id}/reports",
            headers={"authorization": f"Bearer {key}"},
            verify=PLAIN,
            timeout=LONG,
        ).raise_for_status()
        assert shown.content.count(b"\n") > UPLOADS
        assert "Traceback" not in server.log.read_text()


def test_a_copy_is_not_made_through_it(urls, tmp_path):
    pooled, own = Database.open(urls[0]), Database.open(urls[2])
    with pytest.raises(ParameterError, match="Use the address of PostgreSQL itself"):
        copy_to(pooled, tmp_path / "copy.dump")
    assert not (tmp_path / "copy.dump").exists()
    copy_to(own, tmp_path / "copy.dump")
    own.close()
    pooled.close()

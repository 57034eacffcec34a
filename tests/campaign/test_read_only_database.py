"""PostgreSQL may only be read for a while: what writes is answered with 503, and goes on later."""

import threading
from contextlib import contextmanager

import psycopg
import pytest
from tests.campaign.people import check_problem, new_desk
from tests.campaign.server.jobs.test_inference import wait_for
from tests.campaign.waiting import LONG, in_time

from quietcrowd.campaign.server.jobs import inference
from quietcrowd.campaign.server.jobs.inference import InferenceJobs


@contextmanager
def read_only(server):
    """Let nobody write to PostgreSQL for a while, as one that follows another."""
    try:
        set_read_only(server, "on")
        yield
    finally:
        set_read_only(server, "off")


def set_read_only(server, value):
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
        connection.execute("SELECT pg_reload_conf()")

    def is_set():
        with psycopg.connect(server.url) as connection:
            return connection.execute("SHOW transaction_read_only").fetchone() == (value,)

    assert in_time(is_set), "PostgreSQL does not read its configuration"


def a_worker(server):
    desk = new_desk(server)
    return desk, desk.worker(desk.campaign(join_mode="open"))


@pytest.mark.nightly
def test_a_database_that_may_only_be_read_is_told_of(start_server, postgresql_server):
    desk, worker = a_worker(
        start_server(database=postgresql_server.new_database(), write_seconds=0.0)
    )
    report = worker.report(worker.tasks()[0]["task_id"], 1)
    with read_only(postgresql_server):
        for answer in (
            worker.send(report),
            worker.client.delete("/me"),
            desk.join(desk.guest(worker.campaign)),
            desk.client.post(f"/campaigns/{worker.campaign}/close"),
        ):
            check_problem(answer, 503, "unavailable")
        assert desk.client.get("/campaigns").status_code == 200
        check_problem(desk.client.get("/readyz"), 503, "unwritable")
    assert worker.send(report).json()["accepted"] == 1


@pytest.mark.nightly
def test_results_come_once_the_database_may_be_written_again(
    start_server, postgresql_server, monkeypatch
):
    asked, begun, infer = [], threading.Event(), InferenceJobs._infer

    def note(self, campaign):
        assert begun.wait(LONG)
        asked.append(campaign.hex())
        return infer(self, campaign)

    for pause in ("_PAUSE", "_LONGEST_PAUSE", "_AGAIN"):
        monkeypatch.setattr(inference, pause, 0.01)
    monkeypatch.setattr(InferenceJobs, "_infer", note)
    url = postgresql_server.new_database()
    desk, worker = a_worker(start_server(database=url, infer=True, debounce=0.0))
    worker.send_values(1, 0, 1)
    with read_only(postgresql_server):
        begun.set()
        assert in_time(lambda: asked.count(worker.campaign) >= 5)
    url = f"/campaigns/{worker.campaign}/results"
    wait_for(desk.client, url, lambda results: results["reports"] == 3)

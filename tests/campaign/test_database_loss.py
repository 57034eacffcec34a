"""PostgreSQL goes away and comes back: nothing is lost, and all that is seen of it is 503."""

import json
import os
import signal
import threading
from contextlib import ExitStack, contextmanager

import httpx
import pytest
from tests.campaign.people import PLAIN, Running, check_problem, new_desk
from tests.campaign.ports import free_port
from tests.campaign.postgresql import HOW_TO_GET_IT, find_programs, postgresql
from tests.campaign.server_process import base_url, new_key
from tests.campaign.test_roles import ROWS
from tests.campaign.uploading import open_campaign, stored, uploading
from tests.campaign.waiting import LONG, in_time

from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store import database
from quietcrowd.campaign.terms.tokens import new_token

UPLOADERS, TASKS = 16, 20_000


@contextmanager
def away(server, mode):
    """Stop PostgreSQL for a while."""
    server.stop(mode)
    try:
        yield
    finally:
        server.start()


@contextmanager
def reading(url, token, paths):
    """Read without a pause, from connections that are kept; give the statuses that are seen."""
    seen, stop = set(), threading.Event()

    def read():
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=url, headers=headers, timeout=LONG, verify=PLAIN) as client:
            while not stop.is_set():
                seen.update((path, client.get(path).status_code) for path in paths)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()


def both(status):
    """Return what is seen of the paths that need a database."""
    return {("/campaigns", status), ("/readyz", status)}


@pytest.mark.nightly
def test_restarting_postgresql_loses_nothing_and_breaks_no_connection(
    nursery, postgresql_server, tmp_path
):
    url, port, log = postgresql_server.new_database(), free_port(), tmp_path / "log"
    key = new_key(url)
    server = nursery.start(url, port, log)
    campaign = open_campaign(base_url(port), key, TASKS)
    with (
        uploading(campaign, UPLOADERS) as crowd,
        reading(base_url(port), key, ["/campaigns", "/readyz", "/healthz"]) as seen,
    ):
        for mode in ("fast", "immediate") * 2:
            crowd.wait_for_each()
            assert in_time(lambda: seen >= both(200))
            with away(postgresql_server, mode):
                gone = httpx.get(f"{base_url(port)}/readyz", verify=PLAIN, timeout=LONG)
                check_problem(gone, 503, "unavailable")
                assert in_time(lambda: seen >= both(503))
            crowd.wait_for_each()
        crowd.end()
    os.kill(server, signal.SIGTERM)
    assert sorted(stored(url, campaign)) == sorted(crowd.acknowledged)
    assert crowd.statuses.keys() <= {200, 503}
    assert seen == both(200) | both(503) | {("/healthz", 200)}
    assert all("event" in json.loads(line) for line in log.read_text().splitlines())


@pytest.fixture(scope="module")
def lost():
    """Return a server whose database is gone, a requester and a worker.

    The PostgreSQL is its own: it is away for many tests, between which others may run.
    """
    programs = find_programs()
    if programs is None:
        pytest.skip(HOW_TO_GET_IT)
    with postgresql(programs) as own:
        running = Running(Settings(database=own.url, infer=False, write_seconds=0.0)).start()
        desk = new_desk(running)
        worker = desk.worker(desk.campaign(join_mode="open"))
        with away(own, "fast"):
            yield desk, worker
        running.stop()


def check_route(desk, worker, method, path):
    """Check that a route says that there is no database, if it needs one."""
    names = {"campaign": worker.campaign, "participant": worker.id, "sha256": 64 * "0"}
    names |= {"worker": f"worker-{16 * '0'}", "key": 32 * "0"}
    url = path.format(**names).removeprefix("/api/v1")
    _, request, _ = ROWS[method, path]
    if "config_hash" in request.get("json", {}):
        request = {"json": {**request["json"], "config_hash": worker.config_hash}}
    if "reports" in request.get("json", {}):
        request["json"]["reports"] = [worker.report("0" * 32, 1)]
    owned = path.startswith(
        ("/api/v1/campaigns", "/api/v1/keys", "/api/v1/plans", "/api/v1/server")
    )
    client = (desk if owned else worker).client
    if path.endswith("/dashboard-tokens"):
        client = desk.server.client(new_token("qcd_"))
    answer = client.request(method, url, **request)
    if path == "/api/v1/healthz":
        assert answer.status_code == 200
    else:
        check_problem(answer, 503, "unavailable")
        assert answer.headers["retry-after"] == "1"


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), ROWS)
def test_every_route_says_that_the_database_is_gone(lost, method, path):
    check_route(*lost, method, path)


def a_worker(server):
    desk = new_desk(server)
    return desk, desk.worker(desk.campaign(join_mode="open"))


@pytest.mark.nightly
def test_every_route_says_that_no_connection_is_left(start_server):
    server = start_server(requests_per_second=0, write_seconds=0.0, pool_size=2, pool_seconds=0.02)
    desk, worker = a_worker(server)
    engine = server.database.engine
    with ExitStack() as taken:
        for _ in range(2):
            taken.enter_context(engine.connect())
        for method, path in ROWS:
            check_route(desk, worker, method, path)
    assert desk.client.get("/campaigns").status_code == 200


@pytest.mark.nightly
def test_a_database_that_somebody_else_writes_to_is_waited_for_and_told_of(
    start_server, monkeypatch
):
    brief = [one.replace("10000", "20") for one in database._PRAGMAS]
    monkeypatch.setattr(database, "_PRAGMAS", brief)
    # Whoever empties the journal keeps others from writing, now for longer than these wait.
    monkeypatch.setattr(database.Database, "empty_journal", lambda _: True)
    server = start_server(write_seconds=0.0)
    desk, worker = a_worker(server)
    draft = desk.draft()["id"]
    report = worker.report(worker.tasks()[0]["task_id"], 1)
    with server.database.write():
        for answer in (
            worker.send(report),
            worker.client.delete("/me"),
            desk.join(desk.guest(worker.campaign)),
            desk.import_csv(draft, "task,q\na,b\n"),
            desk.client.delete(f"/campaigns/{draft}"),
            desk.client.post(f"/campaigns/{worker.campaign}/close"),
        ):
            check_problem(answer, 503, "unavailable")
            assert answer.headers["retry-after"] == "1"
    assert worker.send(report).json()["accepted"] == 1

"""Nothing that was acknowledged is lost, and nothing is counted twice, whenever the server dies."""

import os
import random
import secrets
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import suppress

import httpx
import pytest
from attrs import Factory, define, field
from tests.campaign.people import YES_NO
from tests.campaign.ports import free_port

import quietcrowd as qc
from quietcrowd.campaign.database import Database
from quietcrowd.campaign.migrating import migrate
from quietcrowd.campaign.requesters import issue_key
from quietcrowd.campaign.tokens import new_token, participant_id

KILLS, UPLOADERS, TASKS, PER_UPLOAD = 20, 16, 5_000, 10

# Imports take longer than all else: they are made once, and servers are forked from there.
NURSERY = """
import os, signal, sys
from quietcrowd.campaign.server import serve
from quietcrowd.campaign.settings import Settings

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
settings = Settings(
    database=sys.argv[1], port=int(sys.argv[2]), infer=False, requests_per_second=0
)
for _ in sys.stdin:
    child = os.fork()
    if not child:
        serve(settings)
        os._exit(0)
    print(child, flush=True)
"""


@define
class Nursery:
    """A process that starts servers."""

    url: str
    port: int
    _process: subprocess.Popen = field(init=False)

    def __attrs_post_init__(self):
        self._process = subprocess.Popen(
            [sys.executable, "-c", NURSERY, self.url, str(self.port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v1"

    def start(self) -> int:
        """Return the id of a server that answers."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        server = int(self._process.stdout.readline())
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                httpx.get(f"{self.base_url}/readyz", verify=False)
                return server
            except httpx.TransportError:
                time.sleep(0.01)
        raise AssertionError("the server does not start")

    def end(self):
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


@define
class Uploader:
    """A worker's device that sends what it has until it is acknowledged."""

    base_url: str
    campaign: str
    config_hash: str
    stop: threading.Event
    credential: str = Factory(lambda: new_token("qcw_"))
    acknowledged: list[str] = Factory(list)
    again: int = 0

    def join(self):
        url = f"{self.base_url}/public/campaigns/{self.campaign}/participants/"
        url += participant_id(self.credential).hex()
        httpx.put(
            url, json={"config_hash": self.config_hash}, headers=self.headers
        ).raise_for_status()

    @property
    def headers(self):
        return {"Authorization": f"Bearer {self.credential}"}

    def run(self, tasks: list[str]):
        for start in range(0, len(tasks), PER_UPLOAD):
            if self.stop.is_set():
                break
            reports = [
                {"report_id": secrets.token_hex(16), "task_id": task, "value": start % 2}
                for task in tasks[start : start + PER_UPLOAD]
            ]
            while not self.send(reports):
                self.again += 1
                time.sleep(0.1)
            self.acknowledged += [report["report_id"] for report in reports]
        self.client.close()

    def send(self, reports) -> bool:
        try:
            answer = self.client.post(
                f"{self.base_url}/me/reports",
                json={"config_hash": self.config_hash, "reports": reports},
            )
        except httpx.TransportError:
            return False
        if answer.status_code == 503:
            return False
        receipt = answer.raise_for_status().json()
        assert receipt["rejected"] == []
        assert receipt["accepted"] + receipt["duplicates"] == len(reports)
        return True

    client: httpx.Client = Factory(
        lambda self: httpx.Client(headers=self.headers, timeout=30, verify=False), takes_self=True
    )


def open_campaign(base_url: str, key: str) -> tuple[str, str]:
    with httpx.Client(
        base_url=base_url, headers={"Authorization": f"Bearer {key}"}, timeout=60
    ) as client:
        mechanism = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0).to_dict()
        body = {"title": "T", "mechanism": mechanism, "join_mode": "open"}
        campaign = client.post("/campaigns", json=body).raise_for_status().json()["id"]
        client.post(
            f"/campaigns/{campaign}/tasks",
            content=b"a\n" + b"1\n" * TASKS,
            headers={"Content-Type": "text/csv"},
        ).raise_for_status()
        opened = client.post(f"/campaigns/{campaign}/open").raise_for_status().json()
    return campaign, opened["config_hash"]


def kill(server: int) -> None:
    """Kill a process, and wait until it is gone, with its locks."""
    with suppress(ProcessLookupError):
        while True:
            os.kill(server, signal.SIGKILL)
            time.sleep(0.002)


def stored(path) -> list[str]:
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = connection.execute("SELECT lower(hex(report_id)) FROM report").fetchall()
    connection.close()
    return [row[0] for row in rows]


@pytest.fixture
def nursery(tmp_path):
    url = f"sqlite:///{tmp_path}/q.db"
    started = Nursery(url, free_port())
    yield started
    started.end()


def test_killing_the_server_loses_nothing_and_doubles_nothing(nursery, tmp_path):
    database = Database.open(nursery.url)
    migrate(database)
    key = issue_key(database, "me")
    database.close()
    server = nursery.start()
    campaign, config_hash = open_campaign(nursery.base_url, key)
    stop = threading.Event()
    uploaders = [Uploader(nursery.base_url, campaign, config_hash, stop) for _ in range(UPLOADERS)]
    for uploader in uploaders:
        uploader.join()
    listed = httpx.get(f"{nursery.base_url}/me/tasks", headers=uploaders[0].headers, timeout=60)
    tasks = [task["task_id"] for task in listed.json()["tasks"]]
    threads = [threading.Thread(target=one.run, args=(tasks,), daemon=True) for one in uploaders]
    for thread in threads:
        thread.start()
    moments = random.Random(7)
    for _ in range(KILLS):
        time.sleep(moments.uniform(0.05, 0.6))
        kill(server)
        known = [one for uploader in uploaders for one in list(uploader.acknowledged)]
        server = nursery.start()
        assert set(known) <= set(stored(tmp_path / "q.db"))
    stop.set()
    for thread in threads:
        thread.join()
    os.kill(server, signal.SIGTERM)
    acknowledged = [one for uploader in uploaders for one in uploader.acknowledged]
    assert sorted(stored(tmp_path / "q.db")) == sorted(acknowledged)
    assert len(acknowledged) > KILLS * PER_UPLOAD
    assert sum(uploader.again for uploader in uploaders) > KILLS

"""The whole server, while strangers send it what nobody asked for."""

import json
import re
import secrets
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import httpx
import numpy as np
import pytest
from tests.campaign.people import PLAIN
from tests.campaign.ports import free_port
from tests.campaign.server_process import base_url, new_key, server_process, wait_until_ready
from tests.campaign.uploading import PER_UPLOAD, Uploader, open_campaign

HONEST = 8
PAUSE = 0.1
"""Seconds between two uploads of one worker."""


@contextmanager
def flood(kind, port, count, seconds, *tokens):
    """Flood a server meanwhile; give a place for how it answered, by status."""
    words = [kind, str(port), str(count), str(seconds), *tokens]
    answers = Counter()
    with subprocess.Popen(
        [sys.executable, "-m", "tests.campaign.flood", *words], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield answers
            out, _ = process.communicate(timeout=seconds + 60)
            answers.update(json.loads(out))
        finally:
            process.kill()


class Crowd:
    """Workers who upload now and then, each over one connection."""

    def __init__(self, campaign):
        self.campaign = campaign
        self.uploaders = [
            Uploader(campaign, threading.Event(), threading.Event()) for _ in range(HONEST)
        ]
        for uploader in self.uploaders:
            uploader.join()
        tasks = self.uploaders[0].tasks()
        self.left = [iter(tasks) for _ in self.uploaders]

    def seconds(self, length):
        """Return how long uploads took that were sent for so many seconds; all are stored."""
        took, until = [], time.monotonic() + length

        def run(uploader, tasks):
            while time.monotonic() < until:
                reports = [
                    {"report_id": secrets.token_hex(16), "task_id": task, "value": 1}
                    for task in islice(tasks, PER_UPLOAD)
                ]
                begun = time.monotonic()
                stored = uploader.send(reports)
                took.append(time.monotonic() - begun if stored else np.inf)
                time.sleep(PAUSE)

        threads = [
            threading.Thread(target=run, args=pair)
            for pair in zip(self.uploaders, self.left, strict=True)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return np.array(took)

    def close(self):
        for uploader in self.uploaders:
            uploader.client.close()


@pytest.fixture
def crowd(tmp_path):
    """Give a server, its log, and workers."""
    url = f"sqlite:///{tmp_path}/quietcrowd.db"
    key = new_key(url)
    with server_process(url, tmp_path / "log", "--joins-per-minute", "30") as server:  # as usual
        workers = Crowd(open_campaign(server.base_url, key, 3_000))
        yield server, workers
        workers.close()


@pytest.mark.nightly
@pytest.mark.parametrize("count", [16, 128])
@pytest.mark.parametrize(
    ("kind", "let_in"), [("unknown", {"401"}), ("join", {"201"}), ("anonymous", {"200"})]
)
def test_those_whom_nobody_knows_keep_no_worker_waiting(crowd, kind, let_in, count):
    """The campaign is open to all: a hundred join at once, and then few."""
    server, workers = crowd
    campaign = workers.campaign
    workers.seconds(2)
    quiet = workers.seconds(5)
    with flood(kind, server.port, count, 20, campaign.id, campaign.config_hash) as answers:
        time.sleep(3)
        flooded = workers.seconds(12)
    quiet = np.concatenate([quiet, workers.seconds(5)])
    assert np.quantile(flooded, 0.95) < 3 * np.quantile(quiet, 0.95)
    assert set(answers) <= {*let_in, "429", "503", "broken"}
    assert answers["429"]


@pytest.mark.slow
def test_idle_connections_stop_nothing(tmp_path):
    url, log = f"sqlite:///{tmp_path}/quietcrowd.db", tmp_path / "log"
    with (
        server_process(url, log, files=256) as server,
        flood("idle", server.port, 600, 4),
    ):
        time.sleep(2.5)
        for _ in range(5):
            answer = httpx.get(f"{server.base_url}/healthz", verify=PLAIN, timeout=5)
            assert answer.status_code == 200
            time.sleep(0.3)
        assert log.stat().st_size < 20_000


LARGE = """
import sys
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from quietcrowd.campaign.server import app
from quietcrowd.campaign.server.settings import Settings

def whole(_):
    return Response(b"x" * 2**24)

def pieces(_):
    return StreamingResponse(b"x" * 2**18 for _ in range(64))

routes = [Route(f"/api/v1/campaigns/{one.__name__}", one) for one in (whole, pieces)]
app.ROUTES = [*routes, *app.ROUTES]
app.serve(Settings(database=sys.argv[1], port=int(sys.argv[2]), infer=False))
"""


def most_memory(process):
    """Return the most bytes of memory that a process has had."""
    told = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", told)[1]) * 1_024


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize(
    ("how", "most"),
    [
        ("pieces", 64),
        # an answer that is made at once is not known before: as many as there are threads
        pytest.param("whole", 40 * 16 + 64, id="whole"),
    ],
)
def test_answers_that_are_not_taken_fill_no_memory(tmp_path, how, most):
    """Of 16 MB each, by 32 who take them slowly."""
    url, port = f"sqlite:///{tmp_path}/quietcrowd.db", free_port()
    key = new_key(url)
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen([sys.executable, "-c", LARGE, url, str(port)], stderr=log) as process,
    ):
        try:
            wait_until_ready(base_url(port))
            before = most_memory(process)
            with flood("slow", port, 32, 10, f"/api/v1/campaigns/{how}", key) as answers:
                time.sleep(8)
                assert httpx.get(f"{base_url(port)}/readyz", verify=PLAIN).status_code == 200
            assert answers["200"]
            assert most_memory(process) - before < most * 2**20
        finally:
            process.kill()

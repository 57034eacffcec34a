"""The whole server, while strangers send it what nobody asked for."""

import json
import re
import secrets
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from subprocess import PIPE

import httpx
import pytest
from tests.campaign.people import PLAIN
from tests.campaign.ports import free_port
from tests.campaign.server_process import base_url, new_key, server_process, wait_until_ready
from tests.campaign.uploading import PER_UPLOAD, Uploader, open_campaign
from tests.campaign.waiting import LONG, in_time
from tests.programs import running

HONEST, UPLOADS = 8, 50


@contextmanager
def flood(kind, port, count, *tokens):
    """Flood a server meanwhile; give a place for how it answered, by status."""
    words = (sys.executable, "-m", "tests.campaign.flood", kind, port, count, *tokens)
    answers = Counter()
    with running(*words, stdin=PIPE) as flooding:
        flooding.until("flooding")
        yield answers
        flooding.process.stdin.close()
        flooding.until("{")
        answers.update(json.loads(flooding.finished(check=True).output.splitlines()[-1]))


class Crowd:
    """Workers who upload at once, each over one connection."""

    def __init__(self, campaign):
        self.campaign = campaign
        self.uploaders = [
            Uploader(campaign, threading.Event(), threading.Event()) for _ in range(HONEST)
        ]
        for uploader in self.uploaders:
            uploader.join()
        tasks = self.uploaders[0].tasks()
        self.left = [iter(tasks) for _ in self.uploaders]

    def upload(self):
        """Let each send some uploads, until they are stored; return the statuses of all tries."""
        before = sum((uploader.statuses for uploader in self.uploaders), Counter())
        with ThreadPoolExecutor(HONEST) as pool:
            list(pool.map(self._send, self.uploaders, self.left))
        return sum((uploader.statuses for uploader in self.uploaders), Counter()) - before

    def _send(self, uploader, tasks):
        for _ in range(UPLOADS):
            reports = [
                {"report_id": secrets.token_hex(16), "task_id": task, "value": 1}
                for task in islice(tasks, PER_UPLOAD)
            ]
            assert in_time(partial(uploader.send, reports)), uploader.statuses

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
    with flood(kind, server.port, count, campaign.id, campaign.config_hash) as answers:
        statuses = workers.upload()
    assert statuses[200] == HONEST * UPLOADS
    assert statuses.total() < 1.05 * HONEST * UPLOADS, statuses
    assert set(answers) <= {*let_in, "429", "503", "broken"}
    assert answers["429"]


@pytest.mark.nightly
@pytest.mark.slow
def test_idle_connections_stop_nothing(tmp_path):
    url, log = f"sqlite:///{tmp_path}/quietcrowd.db", tmp_path / "log"
    with (
        server_process(url, log, files=256) as server,
        flood("idle", server.port, 600),
    ):
        for _ in range(5):
            answer = httpx.get(f"{server.base_url}/healthz", verify=PLAIN, timeout=LONG)
            assert answer.status_code == 200
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
    with running(sys.executable, "-c", LARGE, url, port) as server:
        wait_until_ready(base_url(port), lambda: not server.has_ended)
        before = most_memory(server.process)
        with flood("slow", port, 32, f"/api/v1/campaigns/{how}", key) as answers:
            assert (
                httpx.get(f"{base_url(port)}/readyz", verify=PLAIN, timeout=LONG).status_code == 200
            )
        assert answers["200"]
        assert most_memory(server.process) - before < most * 2**20

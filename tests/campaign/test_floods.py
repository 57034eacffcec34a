"""The whole server, while strangers send it what nobody asked for."""

import json
import secrets
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from itertools import islice

import httpx
import numpy as np
import pytest
from tests.campaign.people import PLAIN
from tests.campaign.server_process import new_key, server_process
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
    with server_process(url, tmp_path / "log") as server:
        workers = Crowd(open_campaign(server.base_url, key, 3_000))
        yield server, workers
        workers.close()


@pytest.mark.nightly
@pytest.mark.parametrize("count", [16, 128])
def test_those_whom_nobody_knows_keep_no_worker_waiting(crowd, count):
    server, workers = crowd
    workers.seconds(2)
    quiet = workers.seconds(8)
    with flood("unknown", server.port, count, 20) as answers:
        time.sleep(3)
        flooded = workers.seconds(12)
    told = {name: round(float(np.quantile(took, 0.95)) * 1e3) for name, took in (("quiet", quiet), ("flooded", flooded))}
    print(told, answers, len(quiet), len(flooded))
    assert np.quantile(flooded, 0.95) < 3 * np.quantile(quiet, 0.95)
    assert set(answers) <= {"401", "429", "503", "broken"}


def test_idle_connections_stop_nothing(tmp_path):
    url, log = f"sqlite:///{tmp_path}/quietcrowd.db", tmp_path / "log"
    with server_process(url, log, files=256) as server:
        with flood("idle", server.port, 600, 12):
            time.sleep(3)
            for _ in range(8):
                answer = httpx.get(f"{server.base_url}/healthz", verify=PLAIN, timeout=5)
                assert answer.status_code == 200
                time.sleep(0.5)
    print(log.stat().st_size)
    assert log.stat().st_size < 20_000

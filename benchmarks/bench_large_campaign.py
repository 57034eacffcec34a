"""A campaign of 10^7 reports of 10^6 workers: looked at, inferred, exported, made into a store."""

import os
import statistics
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from tests.campaign.postgresql import HOW_TO_GET_IT, find_programs, postgresql
from tests.campaign.server_process import server_process

from own_process import run_script

TASKS, WORKERS, PER_TASK = 10_000, 1_000_000, 1_000
LOOKS = 20
MOST_MILLISECONDS = 50.0
TITLE = "A campaign of 10^7 reports of 10^6 workers"


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def database(request, tmp_path):
    """Return the kind of a database and its URL."""
    with ExitStack() as stack:
        url = f"sqlite:///{tmp_path}/q.db"
        if request.param == "PostgreSQL":
            programs = find_programs()
            if programs is None:
                pytest.skip(HOW_TO_GET_IT)
            url = stack.enter_context(postgresql(programs)).url
        yield request.param, url


def milliseconds(ask):
    """Return the median time of an answer."""
    taken = []
    for _ in range(LOOKS):
        start = time.perf_counter()
        ask().raise_for_status()
        taken.append(time.perf_counter() - start)
    return 1e3 * statistics.median(taken)


def server_gigabytes(pid):
    """Return the largest memory that a server has had."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1e6


def told(run):
    """Return seconds and memory in words."""
    return f"{run['seconds']:.3g} s, {run['gigabytes']:.2g} GB"


def take(client, url):
    """Return how many bytes a document has, of which nothing is kept."""
    with client.stream("GET", url) as response:
        response.raise_for_status()
        return sum(len(block) for block in response.iter_bytes())


def test_large_campaign(database, tmp_path, tabulate):
    """Each of these in a process of its own."""
    kind, url = database
    filled = run_script("fill_campaign.py", url, TASKS, WORKERS, PER_TASK)
    campaign = filled["campaign"]
    found = {}
    with server_process(url, tmp_path / "log", "--no-infer") as serving:
        os.environ["QUIETCROWD_SERVER"] = serving.base_url.removesuffix("/api/v1")
        os.environ["QUIETCROWD_KEY"] = filled["key"]
        head = {"Authorization": f"Bearer {filled['key']}"}
        with httpx.Client(base_url=serving.base_url, headers=head, timeout=600) as client:
            client.post(f"/campaigns/{campaign}/close").raise_for_status()
            document = milliseconds(lambda: client.get(f"/campaigns/{campaign}"))
            found["the campaign's document"] = f"{document:.3g} ms"
            listed = milliseconds(lambda: client.get("/campaigns"))
            found["the list of campaigns"] = f"{listed:.3g} ms"
            found["inference"] = told(run_script("campaign_run.py", "infer", url, campaign))
            results = f"/campaigns/{campaign}/results"
            etag = {"If-None-Match": client.get(f"{results}/head").headers["ETag"]}
            found["a 304 of the results"] = (
                f"{milliseconds(lambda: known(client, results, etag)):.3g} ms"
            )
            start = time.perf_counter()
            size = take(client, results)
            seconds = time.perf_counter() - start
            found["all results"] = f"{size / 1e6:.3g} MB in {seconds:.3g} s"
        for name, words in commands(campaign, tmp_path).items():
            found[name] = told(run_script("campaign_run.py", "command", *words))
        peak = server_gigabytes(serving.process.pid)
        found["the server, at most"] = f"{peak:.2g} GB"
    tabulate(TITLE, {"database": kind, **found})
    assert max(document, listed) < MOST_MILLISECONDS


def known(client, url, etag):
    """Ask for what is known."""
    answer = client.get(url, headers=etag)
    assert answer.status_code == 304
    answer.status_code = 200  # what is raised for is an error
    return answer


def commands(campaign, folder):
    """Return commands of a requester."""
    return {
        "campaign results": ("campaign", "results", campaign),
        "campaign export, Parquet": ("campaign", "export", campaign, "-o", folder / "r.parquet"),
        "campaign export, JSON Lines": ("campaign", "export", campaign, "-o", folder / "r.jsonl"),
        "partition --campaign": ("partition", "--campaign", campaign, "-o", folder / "store"),
    }

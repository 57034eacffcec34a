"""A campaign of 10^7 reports of 10^6 workers: inferred, looked at, exported, given to a cluster."""

import os
import statistics
import time
from contextlib import ExitStack

import httpx
import pyarrow.parquet as pq
import pytest
from tests.campaign.postgresql import HOW_TO_GET_IT, find_programs, postgresql
from tests.campaign.server_process import server_process

from dask_cluster import dask_cluster
from own_process import run_script
from peak_memory import gigabytes_of

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
            here = truths(client, results)
            found.update(on_cluster(url, campaign, tmp_path))
            assert truths(client, results) == here
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
        found.update(store_on_cluster(tmp_path, here))
        peak = gigabytes_of(serving.process.pid)
        found["server, peak memory"] = f"{peak:.2g} GB"
    tabulate(TITLE, {"database": kind, **found})
    assert max(document, listed) < MOST_MILLISECONDS


def truths(client, results):
    """Return all truths that were inferred, with how sure they are."""
    return client.get(results).raise_for_status().json()["truths"]


def on_cluster(url, campaign, folder):
    """Return what an inference of the server takes where a cluster passes over the reports."""
    with dask_cluster(folder) as cluster:
        words = ("infer", url, campaign, "1e9", cluster.address)
        found = told(run_script("campaign_run.py", *words))
        return {"inference, Dask": f"{found}; {workers_told(cluster)}"}


def store_on_cluster(folder, truths):
    """Return what it takes to infer from the store on a cluster; the truths are the server's."""
    output = folder / "truths.parquet"
    with dask_cluster(folder) as cluster:
        words = ("command", "infer", folder / "store", "--dask", cluster.address)
        run = run_script("campaign_run.py", *words, "-o", output)
        found = f"{told(run)}; {workers_told(cluster)}"
    found_there = pq.read_table(output).to_pylist()
    assert {row["task"]: row["truth"] for row in found_there} == {
        row["task"]: row["truth"] for row in truths
    }
    return {"the store on Dask": found}


def workers_told(cluster):
    """Return the memory of a cluster in words."""
    worker, scheduler = cluster.peak_gigabytes()
    return f"a worker {worker:.2g} GB, the scheduler {scheduler:.2g} GB"


def known(client, url, etag):
    """Ask for what is known."""
    answer = client.get(url, headers=etag)
    assert answer.status_code == 304
    answer.status_code = 200  # what is raised for is an error
    return answer


def commands(campaign, folder):
    """Return commands of a requester."""
    return {
        "campaign export, JSON": ("campaign", "export", campaign, "--json"),
        "campaign export, Parquet": ("campaign", "export", campaign, "-o", folder / "r.parquet"),
        "campaign export, JSON Lines": ("campaign", "export", campaign, "-o", folder / "r.jsonl"),
        "convert --to store": (
            *("convert", folder / "store", "--to", "store"),
            *("--campaign", campaign),
        ),
    }

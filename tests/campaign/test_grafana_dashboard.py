"""The dashboard for Grafana: each query of it, by Prometheus, of a server that is loaded."""

import json
import math
import re
import threading
from pathlib import Path

import pytest
from tests.campaign.people import new_desk
from tests.campaign.prometheus import HOW_TO_GET_IT, find_prometheus, prometheus
from tests.campaign.waiting import in_time

from quietcrowd.campaign.server.jobs import inference
from quietcrowd.campaign.server.metrics import exposition
from quietcrowd.campaign.server.metrics.counters import KINDS

FILE = Path(__file__).parents[2] / "deploy" / "grafana" / "quietcrowd.json"
DASHBOARD = json.loads(FILE.read_text())
QUERIES = {
    f"{panel['title']} {target['refId']}": target["expr"]
    for panel in DASHBOARD["panels"]
    for target in panel["targets"]
}


def test_every_number_of_metrics_is_on_it_and_no_other():
    named = set(re.findall(r"quietcrowd_[a-z_]+", " ".join(QUERIES.values())))
    assert {re.sub("_(total|bucket)$", "", name) for name in named} == set(KINDS)


def test_its_panels_have_names_and_places_of_their_own():
    panels = DASHBOARD["panels"]
    assert len({panel["title"] for panel in panels}) == len(panels)
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (place["x"] + x, place["y"] + y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["w"])
        for y in range(place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert all(x < 24 for x, _ in cells)


def load(desk, campaign, end):
    """Let workers come, one after the other, with all that a worker does."""
    while not end.is_set():
        worker = desk.worker(campaign)
        worker.client.get("/me").raise_for_status()
        worker.send_values(1, 0, 1)
        desk.client.get("/readyz").raise_for_status()


def without_data(running, left):
    """Return the queries of which there is no number."""
    return {
        name
        for name in left
        if not any(math.isfinite(float(one["value"][1])) for one in running.query(QUERIES[name]))
    }


@pytest.mark.nightly
def test_every_query_gives_data_of_a_server_that_is_loaded(start_server, tmp_path, monkeypatch):
    program = find_prometheus()
    if program is None:
        pytest.skip(HOW_TO_GET_IT)
    monkeypatch.setattr(exposition, "_EVERY", 0.5)
    monkeypatch.setattr(inference, "_REST", 0.0)
    unlimited = {"requests_per_second": 0, "joins_per_minute": 0}
    own = start_server(infer=True, debounce=0.5, metrics_port=0, **unlimited)
    desk = new_desk(own)
    campaign = desk.campaign(join_mode="open", at_least=2)
    end = threading.Event()
    thread = threading.Thread(target=load, args=(desk, campaign, end))
    with prometheus(program, tmp_path, own.app.state.metrics.port) as running:
        thread.start()
        try:
            left = set(QUERIES)

            def is_there():
                assert thread.is_alive(), "workers no longer come"
                left.intersection_update(without_data(running, left))
                return not left

            in_time(is_there, every=1)
        finally:
            end.set()
            thread.join()
    assert left == set()

import json
from itertools import pairwise

import pytest
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.people import check_problem

import quietcrowd as qc

ANSWERS = {"t0": 0, "t1": 1, "t2": 1}


def send(desk, name, workers=3):
    mechanism = MECHANISMS[name]
    domain = mechanism.domain
    campaign = desk.campaign(mechanism, join_mode="open")
    answers = {
        task: domain.labels[code] if hasattr(domain, "labels") else float(code)
        for task, code in ANSWERS.items()
    }
    sent = {}
    for _ in range(workers):
        worker = desk.worker(campaign)
        pseudonym = worker.client.get("/me").json()["pseudonym"]
        sent[pseudonym] = worker.send_all(mechanism, answers)
    return campaign, sent


@pytest.mark.parametrize("kind", ["jsonl", "csv"])
@pytest.mark.parametrize("name", MECHANISMS)
def test_an_export_is_a_file_of_reports(desk, tmp_path, name, kind):
    campaign, sent = send(desk, name)
    url = f"/campaigns/{campaign}/reports"
    file = tmp_path / f"reports.{kind}"
    file.write_bytes(desk.client.get(url, params={"format": kind}).content)
    if kind == "csv":
        note = desk.client.get(url, params={"format": "mechanism"}).content
        (tmp_path / "reports.csv.mechanism.json").write_bytes(note)
    found = qc.read_reports(file)
    assert found.mechanism == MECHANISMS[name]
    assert not found.simulated
    frame = found.to_frame().set_index("worker")
    assert set(frame.index) == set(sent)
    for worker, reports in sent.items():
        own = frame.loc[[worker]].reset_index(drop=True)
        assert own.equals(reports.to_frame().drop(columns="worker"))


def test_an_export_does_not_tell_who_came_first(desk):
    campaign = desk.campaign(join_mode="open")
    arrived = []
    for _ in range(25):
        worker = desk.worker(campaign)
        worker.send_values(1)
        arrived.append(worker.client.get("/me").json()["pseudonym"])
    lines = desk.client.get(f"/campaigns/{campaign}/reports").text.splitlines()
    order = [json.loads(line)["worker"] for line in lines[1:]]
    assert sorted(order) == sorted(arrived)
    places = {worker: place for place, worker in enumerate(arrived)}
    steps = [places[after] - places[before] for before, after in pairwise(order)]
    assert sum(step == 1 for step in steps) < 12  # of 24; chance reaches it once in 10^8


def test_an_empty_campaign_has_an_export(desk):
    campaign = desk.campaign()
    lines = desk.client.get(f"/campaigns/{campaign}/reports").text.splitlines()
    assert len(lines) == 1
    assert json.loads(lines[0])["tasks"] == ["t0", "t1", "t2"]


def test_other_formats_are_refused(desk):
    refused = desk.client.get(f"/campaigns/{desk.campaign()}/reports", params={"format": "secret"})
    check_problem(refused, 422, "validation")
    assert "secret" not in refused.text

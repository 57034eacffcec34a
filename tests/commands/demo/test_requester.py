"""The requester and the devices of the demo, against a server that infers nothing."""

import pytest

import quietcrowd as qc
from quietcrowd.campaign.server.app import serve_in_background
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.requesters import issue_key
from quietcrowd.commands.demo import requester
from quietcrowd.commands.demo.campaign import send_all
from quietcrowd.commands.demo.requester import requester_of
from quietcrowd.exceptions import CampaignError

WANTED = {
    "title": "Which?",
    "mechanism": qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=1.0).to_dict(),
    "questions": [("a", "Is a, or b?"), ("b", 'Is "b"?')],
}
ANSWERS = [{"a": "yes", "b": "no"}, {"b": "yes"}, {"a": "no"}]


@pytest.fixture
def server(tmp_path):
    settings = Settings(database=f"sqlite:///{tmp_path}/q.db", port=0, infer=False)
    with serve_in_background(settings) as running:
        yield running


@pytest.fixture
def key(server):
    return issue_key(server.app.state.service.database, "me")


def test_what_devices_send_is_what_the_requester_gets(server, key, tmp_path):
    with requester_of(server.url, key, **WANTED) as campaign:
        devices = send_all(campaign.links(3), ANSWERS, tmp_path)
        campaign.export(tmp_path / "reports.jsonl")
        assert devices[0].tasks[0].data["question"] in dict(WANTED["questions"]).values()
    found = qc.read_reports(tmp_path / "reports.jsonl").to_frame()
    sent = [(report.task, report.value) for device in devices for report in device.sent_reports()]
    assert sorted(sent) == sorted(zip(found["task"], found["label"], strict=True))
    assert [len(device.sent_reports()) for device in devices] == [2, 1, 1]


def test_the_key_is_in_no_link_and_in_no_text(server, key):
    with requester_of(server.url, key, **WANTED) as campaign:
        links = [campaign.dashboard() for _ in range(2)]
        assert len(set(links)) == 2
        for link in links:
            assert link.startswith(f"{server.url}/dashboard/{campaign.id}#c=qcd_")
            assert key not in link
        assert key not in repr(campaign)


def test_one_more_worker_has_a_link(server, key, tmp_path):
    with requester_of(server.url, key, **WANTED) as campaign:
        assert campaign.guest == campaign.guest
        assert campaign.guest.startswith(f"{server.url}/j/{campaign.id}#i=qci_")
        send_all([*campaign.links(2), campaign.guest], ANSWERS, tmp_path)
        campaign.export(tmp_path / "reports.jsonl")
    assert len(qc.read_reports(tmp_path / "reports.jsonl").to_frame()) == 4


def test_what_goes_wrong_is_one_sentence(server, key, monkeypatch):
    with (
        pytest.raises(CampaignError, match="the server rejected the request: The key"),
        requester_of(server.url, "qck_wrong", **WANTED),
    ):
        pass
    monkeypatch.setattr(requester, "_PATIENCE", 0.1)
    with requester_of(server.url, key, **WANTED) as campaign:
        with pytest.raises(CampaignError, match="not inferred truths"):
            campaign.results(reports=1)
        with pytest.raises(CampaignError, match="rejected the request: /count Input should be"):
            campaign.links(0)

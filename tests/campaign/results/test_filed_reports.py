"""Results from partitions on disk: to the last bit those from memory, also of later inferences."""

import json

import pytest
from attrs import evolve
from sqlalchemy import delete, select
from tests.campaign.mechanisms import MECHANISMS
from tests.nightly import by_day

from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.results.large_campaigns import LargeCampaigns
from quietcrowd.campaign.store import tables
from quietcrowd.inference import RatioMean
from quietcrowd.scale import connect

FILED = LargeCampaigns(memory=0)
IN_FILES = [name for name in MECHANISMS if not name.startswith("matrix")]
BY_DAY = ("one-layer", "laplace with a bit")
NAMES = by_day(BY_DAY, IN_FILES)
SMALL = {
    "quietcrowd.campaign.results.filed_reports._ROWS_OF_GROUP": 7,
    "quietcrowd.campaign.results.report_blocks._BLOCK": 6,
    "quietcrowd.scale.importing.ROWS_PER_PARTITION": 9,
    "quietcrowd.scale.partition_job.MOST_BYTES": 1_000,
}
"""So many of everything that a small crowd takes several."""


@pytest.fixture
def small_pieces(monkeypatch):
    for place, number in SMALL.items():
        monkeypatch.setattr(place, number)


def results(desk, campaign):
    """Return all that is stored of results, as it is stored."""
    one = bytes.fromhex(campaign)
    with desk.server.database.read() as connection:
        head = connection.execute(
            select(tables.inference).where(tables.inference.c.campaign_id == one)
        ).one()
        pages = connection.execute(
            select(tables.result_page)
            .where(tables.result_page.c.campaign_id == one)
            .order_by(tables.result_page.c.kind, tables.result_page.c.number)
        ).all()
    return dict(head._mapping), list(map(tuple, pages))


def open_campaign(desk, mechanism, **members):
    """Return a campaign with copies of one question and a known truth."""
    draft = desk.draft(mechanism, join_mode="open", **members)["id"]
    gold = mechanism.domain.labels[-1] if hasattr(mechanism.domain, "labels") else 5.0
    rows = [f"t{place},{'Drugs?' if place < 3 else place}," for place in range(8)]
    rows[4] += str(gold)
    desk.import_csv(draft, "\n".join(["task,question,gold", *rows])).raise_for_status()
    desk.client.post(f"/campaigns/{draft}/open").raise_for_status()
    return draft


def send(desk, campaign, mechanism, workers, first=0):
    """Let workers send: the later ones less, where they may."""
    domain = mechanism.domain
    truth = domain.labels if hasattr(domain, "labels") else (1.0, 4.0, 9.0)
    for worker in range(first, first + workers):
        tasks = 8 if mechanism.every_task else 8 - worker % 4
        answers = {f"t{task}": truth[task % len(truth)] for task in range(tasks)}
        desk.worker(campaign).send_all(mechanism, answers)


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("name", NAMES)
def test_they_are_those_from_memory_to_the_last_bit(desk, name):
    mechanism = MECHANISMS[name]
    campaign = open_campaign(desk, mechanism)
    plain = Inferrer(desk.server.database)
    filed = Inferrer(desk.server.database, FILED)
    for first in (0, 6):  # the second inference starts from the first
        send(desk, campaign, mechanism, 6, first)
        found = []
        for inferrer in (plain, filed):
            assert inferrer.infer(bytes.fromhex(campaign))
            found.append(results(desk, campaign))
        assert found[0] == found[1]
        head = json.loads(found[1][0]["head"])
        assert head["method"] is not None, head["warnings"]
        assert head["participants"] == first + 6
    cold = Inferrer(desk.server.database, FILED)
    assert cold.infer(bytes.fromhex(campaign))
    again = Inferrer(desk.server.database)
    assert again.infer(bytes.fromhex(campaign))


@pytest.mark.nightly
@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("name", ["one-layer", "laplace"])
def test_so_is_what_is_handed_out_next(desk, name):
    mechanism = MECHANISMS[name]
    if mechanism.every_task:
        mechanism = evolve(mechanism, fill=None)
    some = {"answers_per_participant": 8, "allotment": "suggested"}
    campaign = open_campaign(desk, mechanism, **some)
    send(desk, campaign, mechanism, 6)
    found = []
    for large in (LargeCampaigns(), FILED):
        with desk.server.database.write() as connection:
            connection.execute(delete(tables.inference))
        assert Inferrer(desk.server.database, large).infer(bytes.fromhex(campaign))
        found.append(results(desk, campaign))
    assert found[0] == found[1]
    [aims] = [json.loads(content) for _, kind, _, content in found[0][1] if kind == "aims"]
    assert len(aims) == 8


@pytest.mark.slow
@pytest.mark.usefixtures("small_pieces")
def test_a_campaign_that_outgrows_memory_goes_on_from_what_was_found_in_it(desk):
    mechanism = MECHANISMS["one-layer"]
    campaign = open_campaign(desk, mechanism)
    found = []
    for growing in (False, True):
        inferrer = Inferrer(desk.server.database)
        if not growing:
            send(desk, campaign, mechanism, 5)
        assert inferrer.infer(bytes.fromhex(campaign))
        inferrer.large = LargeCampaigns(memory=0 if growing else 1e9)
        assert inferrer.infer(bytes.fromhex(campaign))
        found.append(results(desk, campaign))
    assert found[0] == found[1]


@pytest.mark.nightly
@pytest.mark.usefixtures("small_pieces")
def test_a_cluster_of_two_finds_the_same(desk, tmp_path):
    """It is reached by its address, and sees the folder of the partitions."""
    mechanism = MECHANISMS["one-layer"]
    campaign = open_campaign(desk, mechanism)
    with connect("local:2") as cluster:
        address = cluster.client.scheduler_info()["address"]
        large = LargeCampaigns(memory=0, folder=str(tmp_path), scheduler=address)
        plain, spread = Inferrer(desk.server.database), Inferrer(desk.server.database, large)
        for first in (0, 6):
            send(desk, campaign, mechanism, 6, first)
            found = []
            for inferrer in (plain, spread):
                assert inferrer.infer(bytes.fromhex(campaign))
                found.append(results(desk, campaign))
            assert found[0] == found[1]


@pytest.mark.nightly
def test_without_a_scheduler_the_inference_fails(desk):
    campaign = desk.campaign(MECHANISMS["one-layer"], join_mode="open")
    desk.worker(campaign).send_values(1, 1, 1)
    large = LargeCampaigns(memory=0, scheduler="tcp://127.0.0.1:1")
    with pytest.raises(ConnectionError, match="no Dask scheduler answers"):
        Inferrer(desk.server.database, large).infer(bytes.fromhex(campaign))


def test_sketches_stay_in_memory(desk):
    mechanism = MECHANISMS["matrix factorisation"]
    campaign = desk.campaign(mechanism, tasks=5, join_mode="open")
    desk.worker(campaign).send_all(mechanism, {"t0": 1})
    assert Inferrer(desk.server.database, FILED).infer(bytes.fromhex(campaign))


def test_nothing_is_left_in_the_folder(desk, tmp_path):
    campaign = desk.campaign(MECHANISMS["one-layer"], join_mode="open")
    inferrer = Inferrer(desk.server.database, LargeCampaigns(memory=0, folder=str(tmp_path)))
    assert not inferrer.infer(bytes.fromhex(campaign))
    desk.worker(campaign).send_values(1, 1, 1)
    assert inferrer.infer(bytes.fromhex(campaign))
    assert not list(tmp_path.iterdir())


def test_a_method_that_does_not_fit_says_so_as_from_memory(desk):
    campaign = desk.campaign(MECHANISMS["laplace"], join_mode="open", method=RatioMean().to_dict())
    desk.worker(campaign).send_all(MECHANISMS["laplace"], {"t0": 1.0})
    found = []
    for large in (LargeCampaigns(), FILED):
        with desk.server.database.write() as connection:
            connection.execute(delete(tables.inference))  # no failure replaces another one
        assert Inferrer(desk.server.database, large).infer(bytes.fromhex(campaign))
        found.append(results(desk, campaign))
    assert found[0] == found[1]
    assert json.loads(found[0][0]["head"])["warnings"][0]["code"] == "failed"

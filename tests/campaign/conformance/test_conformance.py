"""One suite for both clients of a worker: the Python one, and the page's modules in Chromium."""

import json

import numpy as np
import pytest
from tests.campaign.conformance.cases import (
    CAMPAIGN,
    OF_ALL_KINDS,
    TAMPERED,
    VALID,
    campaign_of,
    tampered,
)
from tests.campaign.conformance.plays import PLAYS, REFUSED
from tests.campaign.conformance.server import ORIGIN, Server
from tests.nightly import nightly

pytestmark = pytest.mark.slow

LARGEST_DIFFERENCE = 1e-12


@pytest.mark.parametrize("name", VALID)
def test_both_read_the_same_in_a_configuration(python, page, name):
    ours, theirs = python.read(VALID[name]), page.read(VALID[name])
    losses, others = ours.pop("losses"), theirs.pop("losses")
    assert ours == theirs
    assert others == pytest.approx(losses, rel=LARGEST_DIFFERENCE, abs=0)


@pytest.mark.parametrize("name", TAMPERED)
def test_what_does_not_follow_is_refused(client, name):
    assert client.read(tampered(name)) == REFUSED


def test_no_other_configuration_is_taken_for_one(client):
    campaign = VALID["one-layer"]
    assert client.read(campaign) != REFUSED
    assert client.read(campaign, asked=32 * "6") == REFUSED


@pytest.mark.parametrize("name", VALID)
def test_both_find_the_same_questions(python, page, name):
    found = python.questions(VALID[name])
    assert found != REFUSED
    assert page.questions(VALID[name]) == found


def listed(change):
    """Return what a server shows that has changed the document of tasks."""
    document = json.loads(VALID["one-layer"].listed)
    change(document)
    return json.dumps(document)


SHOWN = {
    "another question": lambda said: said["tasks"][0].update(data={"q": "Another one?"}),
    "another name": lambda said: said["tasks"][0].update(task="t9"),
    "another id": lambda said: said["tasks"][0].update(task_id=32 * "0"),
    "another order": lambda said: said["tasks"].reverse(),
    "one less": lambda said: said["tasks"].pop(),
    "one twice": lambda said: said["tasks"].append(said["tasks"][0]),
    "a member more": lambda said: said["tasks"][0].update(more=1),
    "another configuration": lambda said: said.update(config_hash=64 * "0"),
    "no list": lambda said: said.update(tasks={}),
    "no task": lambda said: said.update(tasks=[1, None]),
}


@pytest.mark.parametrize("name", SHOWN)
def test_other_tasks_are_refused(client, name):
    assert client.questions(VALID["one-layer"], listed(SHOWN[name])) == REFUSED


def answers_to(campaign, seed):
    """Return answers to all tasks but the last, and one that is left out; in no order."""
    domain = campaign.config["mechanism"]["domain"]
    rng = np.random.default_rng(seed)
    answers = {}
    for place in rng.permutation(len(campaign.tasks))[: campaign.config["answers_per_participant"]]:
        labels = domain.get("labels") or domain.get("levels")
        number = round(float(rng.uniform(0, 10)), 3)
        answers[f"t{place}"] = labels[rng.integers(len(labels))] if labels else number
    return {**answers, **dict.fromkeys(list(answers)[1:2], None)} if len(answers) > 1 else answers


@pytest.mark.parametrize("name", VALID)
def test_the_same_words_give_the_same_request(python, page, name):
    campaign = VALID[name]
    words = np.random.default_rng(7).integers(0, 2**32, 20_000, np.uint32).tolist()
    answers = answers_to(campaign, seed=len(name))
    sent, other = (one.upload(campaign, answers, words) for one in (python, page))
    if campaign.config["report"]["kind"] == "sketch":
        sent, other = (json.loads(text)["sketch"]["numbers"] for text in (sent, other))
    assert other == sent


def close(given, expected):
    """Return whether a step gave what it should, losses up to what is rounded."""
    if isinstance(expected, float) or (type(expected) is int and isinstance(given, float)):
        return given == pytest.approx(expected, rel=1e-6)
    return given == expected


RECEIPTS = [name for name in PLAYS if name.startswith("receipt: ")]


@pytest.mark.parametrize(
    "name",
    [
        *(name for name in PLAYS if name not in RECEIPTS),
        *map(nightly, RECEIPTS),
    ],
)
def test_what_workers_do_has_the_same_end(client, name):
    play = PLAYS[name]
    server = Server(list(play.campaigns), lose=play.lose, receipt=play.receipt)
    with client.device(server, ORIGIN) as device:
        for step, *given, expected in play.steps:
            assert close(device.take(step, *given), expected), step
    different = list(dict.fromkeys(server.uploads))
    assert [len(json.loads(body)["reports"]) for _, body in different] == play.uploads
    if play.equal:
        body = different[-1][1]
        names = {one["task_id"]: one["task"] for one in play.campaigns[-1].tasks}
        reports = {names[one["task_id"]]: one["value"] for one in json.loads(body)["reports"]}
        assert len({reports[task] for task in play.equal}) == 1


def test_opposite_answers_ask_for_the_same(client):
    """Where how long a report is does not depend on which it is."""
    asked = []
    for answer in ("yes", "no"):
        server = Server([VALID["one-layer"]])
        with client.device(server, ORIGIN) as device:
            device.take("join", CAMPAIGN)
            device.take("answer", CAMPAIGN, dict.fromkeys(["t0", "t1", "t2"], answer))
            device.take("withdraw", CAMPAIGN)
        asked.append(
            [
                (method, path.partition("/participants/")[0], len(body))
                for method, path, body in server.requests
            ]
        )
    assert asked[0] == asked[1]


def of_its_own(name):
    """Return a campaign with a mechanism of a kind, of an id that follows from its name."""
    number = f"{list(OF_ALL_KINDS).index(name):032x}"
    return campaign_of(OF_ALL_KINDS[name], campaign=number)


def test_both_count_what_is_spent(python, page):
    """All kinds of mechanisms without a delta, on one device after the other."""
    pure = [name for name in OF_ALL_KINDS if not VALID[name].config["guarantee"]["delta"]]
    campaigns = [of_its_own(name) for name in pure]
    spent = []
    for client in (python, page):
        with client.device(Server(campaigns), ORIGIN) as device:
            for place, campaign in enumerate(campaigns):
                answers = answers_to(campaign, seed=place)
                assert device.take("answer", campaign.id, answers) != REFUSED
                spent.append(device.take("spent", campaign.id))
    half = len(pure)
    assert spent[half:] == pytest.approx(spent[:half], rel=LARGEST_DIFFERENCE, abs=0)
    assert spent[0] == pytest.approx(4)

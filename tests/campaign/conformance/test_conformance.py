"""One suite for both clients of a worker: the Python one, and the page's modules in Chromium."""

import hashlib
import json

import numpy as np
import pytest
from attrs import evolve
from tests.campaign.conformance.cases import (
    CAMPAIGN,
    OF_ALL_KINDS,
    TAMPERED,
    VALID,
    campaign_of,
    tampered,
)
from tests.campaign.conformance.plays import DAYS, MENU, PLAYS, REFUSED, within
from tests.campaign.conformance.server import ORIGIN, Server
from tests.nightly import by_day, nightly

from quietcrowd.campaign.terms.configuration import hash_tasks

pytestmark = pytest.mark.slow

LARGEST_DIFFERENCE = 1e-12

DRAWN_BY_DAY = (
    *("one-layer with NULL", "sets of labels", "laplace with a bit", "duchi"),
    *("matrix factorisation, statistics", "weight per worker", "steps", "linked, two-layer"),
    *("near-copies", "handed out, copies", "texts in any script"),
    *("options per task", "options per task, numbers, two handed out"),
)
"""One campaign for each way to draw and each way to share a draw."""


@pytest.mark.grid
@pytest.mark.parametrize("name", VALID)
def test_both_read_the_same_in_a_configuration(python, page, name):
    ours, theirs = python.read(VALID[name]), page.read(VALID[name])
    losses, others = ours.pop("losses"), theirs.pop("losses")
    assert ours == theirs
    assert others == pytest.approx(losses, rel=LARGEST_DIFFERENCE, abs=0)


@pytest.mark.grid
@pytest.mark.parametrize("name", TAMPERED)
def test_what_does_not_follow_is_refused(client, name):
    assert client.read(tampered(name)) == REFUSED


def test_no_other_configuration_is_taken_for_one(client):
    campaign = VALID["one-layer"]
    assert client.read(campaign) != REFUSED
    assert client.read(campaign, asked=32 * "6") == REFUSED


@pytest.mark.grid
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


LISTED = {
    "none": None,
    "an empty list": [],
    "one": ["cat"],
    "one twice": ["cat", "cat"],
    "as many as no table has": ["cat", "dog", "oak", "elm"],
    "one that is no label": ["cat", "cow"],
    "one of another type": ["cat", 1],
    "one in another case": ["cat", "Dog"],
    "a list": [["cat", "dog"], "oak"],
    "a text": "cat|dog",
    "a text of two letters": "ab",
    "an object": {"0": "cat", "1": "dog", "length": 2},
    "null": ["cat", None],
    "a missing member": ...,
}


@pytest.mark.parametrize("name", LISTED)
def test_tasks_with_other_options_than_a_device_can_report_among_are_refused(client, name):
    """The configuration is right, and has the hash of these tasks."""
    campaign = VALID["options per task"]
    tasks = json.loads(json.dumps(campaign.tasks))
    tasks[0]["data"].pop("options")
    if LISTED[name] is not ...:
        tasks[0]["data"]["options"] = LISTED[name]
    listed = [(one["task_id"], one["task"], one["data"]) for one in tasks]
    lying = campaign.saying({**campaign.config, "tasks_hash": hash_tasks(listed)})
    assert client.read(lying) != REFUSED
    assert client.questions(evolve(lying, tasks=tasks)) == REFUSED


HANDED_OUT = VALID["2 of five tasks handed out"]
IDS = [task["task_id"] for task in HANDED_OUT.tasks]
NOT_TWO = {
    "none": [],
    "one": IDS[:1],
    "three": IDS[:3],
    "all": IDS,
    "one twice": [IDS[1], IDS[1]],
    "one that there is not": [IDS[0], 32 * "f"],
    "in another order": [IDS[2], IDS[0]],
    "three, one of them twice": [IDS[0], IDS[0], IDS[1]],
    "an id in capitals": [IDS[0], IDS[1].upper()],
    "a number": [IDS[0], 1],
    "null": None,
    "a text": "".join(IDS[:2]),
    "a text of one": IDS[0],
    "an object": {"0": IDS[0], "1": IDS[1]},
    "a list of lists": [IDS[:2]],
    "yes": True,
}


def with_allotted(ids):
    """Return what a server shows that hands out tasks."""
    return json.dumps({**json.loads(HANDED_OUT.listed), "allotted": ids})


@pytest.mark.parametrize("name", NOT_TWO)
def test_no_other_than_as_many_tasks_are_taken(client, name):
    assert client.questions(HANDED_OUT, with_allotted(NOT_TWO[name])) == REFUSED


@pytest.mark.parametrize("places", [(0, 1), (1, 4), (0, 4)])
def test_both_ask_what_is_handed_out(python, page, places):
    shown = with_allotted([IDS[place] for place in places])
    found = python.questions(HANDED_OUT, shown)
    assert found["names"] == [HANDED_OUT.tasks[place]["task"] for place in places]
    assert page.questions(HANDED_OUT, shown) == found


def test_where_nothing_is_handed_out_all_is_asked_whatever_a_server_shows(client):
    campaign = VALID["one-layer"]
    shown = json.dumps({**json.loads(campaign.listed), "allotted": IDS[:2]})
    assert client.questions(campaign, shown) == client.questions(campaign)


@pytest.mark.grid
@pytest.mark.parametrize("name", by_day(("none", "one twice", "all", "yes"), NOT_TWO))
def test_a_server_that_hands_out_otherwise_gets_no_answer(client, name):
    server = Server([HANDED_OUT], allot=lambda _: NOT_TWO[name])
    with client.device(server, ORIGIN) as device:
        assert device.take("join", CAMPAIGN) == REFUSED
        for answers in ({f"t{place}": "yes"} for place in range(5)):
            assert device.take("answer", CAMPAIGN, answers) == REFUSED
    assert server.uploads == []


@pytest.mark.grid
def test_a_server_that_hands_out_others_later_learns_of_no_more_than_as_many(client):
    """It gives other tasks each time; whatever the worker tries, two are answered at most."""
    turns = iter([IDS[:2], *([IDS[place], IDS[place + 1]] for place in (1, 2, 3)), *[IDS[3:]] * 50])
    server = Server([HANDED_OUT], allot=lambda _: next(turns), lose=1)
    first = {task["task"]: "yes" for task in HANDED_OUT.asked}
    with client.device(server, ORIGIN) as device:
        device.take("join", CAMPAIGN)
        for step in range(6):
            for answers in ({f"t{place}": "yes"} for place in range(5) if f"t{place}" not in first):
                assert device.take("answer", CAMPAIGN, answers) == REFUSED
            if step % 2:
                device.take("reload")
        assert server.uploads == []
        device.take("answer", CAMPAIGN, first)
        device.take("reload")
        device.take("send", CAMPAIGN)
    sent = {one["task_id"] for _, body in server.uploads for one in json.loads(body)["reports"]}
    assert sent <= set(IDS[:2])


def test_images_of_all_tasks_are_fetched_whoever_is_asked_which(client):
    """The first by its hash is of a task that is not handed out; it is no image, and refused."""
    pictures = sorted(hashlib.sha256(b"%d" % place).hexdigest() for place in range(5))
    shown = [{"picture": {"image": sha256, "alt": "A bird"}} for sha256 in pictures]
    mechanism = OF_ALL_KINDS["one-layer"]
    campaign = campaign_of(mechanism, shown, answers=2, allotment="random")
    ids = sorted(task["task_id"] for task in campaign.tasks if task["task"] in ("t3", "t4"))
    server = Server([campaign], allot=lambda _: ids)
    with client.device(server, ORIGIN) as device:
        assert device.take("join", CAMPAIGN) == REFUSED
    asked = {path for _, path, _ in server.requests if "/images/" in path}
    assert asked == {f"/api/v1/me/images/{pictures[0]}"}


def answers_to(campaign, seed):
    """Return answers to all tasks but the last, and one that is left out; in no order."""
    domain = campaign.config["mechanism"]["domain"]
    rng = np.random.default_rng(seed)
    answers = {}
    names = sorted(task["task"] for task in campaign.asked)
    options = {task["task"]: task["data"].get("options") for task in campaign.asked}
    for place in rng.permutation(len(names))[: campaign.config["answers_per_participant"]]:
        labels = options[names[place]] or domain.get("labels") or domain.get("levels")
        number = round(float(rng.uniform(0, 10)), 3)
        answers[names[place]] = labels[rng.integers(len(labels))] if labels else number
    return {**answers, **dict.fromkeys(list(answers)[1:2], None)} if len(answers) > 1 else answers


@pytest.mark.grid
@pytest.mark.parametrize("name", by_day(DRAWN_BY_DAY, VALID))
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
    if isinstance(expected, list) and all(isinstance(one, float) for one in expected):
        return given == pytest.approx(expected, rel=1e-6)
    return given == expected


BY_NIGHT = (
    *(name for name in PLAYS if name.startswith("receipt: ")),
    *("copies, every task reported", "the same questions, labels in another order"),
    *("an unknown task", "no number", "withdrawing before answering"),
)
"""Plays of which another one by day differs little."""


@pytest.mark.grid
@pytest.mark.parametrize(
    "name",
    [nightly(name) if name in BY_NIGHT else name for name in PLAYS],
)
def test_what_workers_do_has_the_same_end(client, name):
    play = PLAYS[name]
    server = Server(
        *(list(play.campaigns), play.receipt, play.lose),
        lose_places=play.lose_places,
        problem=play.problem,
        bound=play.bound,
    )
    with client.device(server, ORIGIN) as device:
        for step, *given, expected in play.steps:
            assert close(device.take(step, *given), expected), step
    different = list(dict.fromkeys(server.uploads))
    assert [len(json.loads(body)["reports"]) for _, body in different] == play.uploads
    if play.rounds is not None:
        assert [json.loads(body)["round"] for _, body in different] == play.rounds
    marks = [sum("again" in one for one in json.loads(body)["reports"]) for _, body in different]
    assert marks == (play.marked or [0] * len(marks))
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


IN_ROUNDS_BY_CHOICE = campaign_of(MENU, drafts=True, rounds=DAYS)


def test_opposite_answers_in_rounds_ask_for_the_same(client):
    """Also with a choice, if the reports of a round are sent later, and when the worker leaves."""
    asked = []
    for answer in ("yes", "no"):
        server = Server([IN_ROUNDS_BY_CHOICE])
        with client.device(server, ORIGIN) as device:
            device.take("draw_slot", 2)
            device.take(*within(1)[:2])
            device.take("choose", CAMPAIGN, 1)
            device.take("join", CAMPAIGN)
            for number in (2, 9):
                device.take(*within(number)[:2])
                device.take("reload")
                device.take("join", CAMPAIGN)
                given = dict.fromkeys(["t0", "t1"], answer)
                if number == 9:
                    device.take("commit", CAMPAIGN, given)
                    device.take("send", CAMPAIGN)
                else:
                    device.take("answer", CAMPAIGN, given)
            device.take("withdraw", CAMPAIGN)
        assert [json.loads(body)["round"] for _, body in server.uploads] == [2, 9]
        asked.append(
            [
                (method, path.partition("/participants/")[0], len(body))
                for method, path, body in server.requests
            ]
        )
    assert asked[0] == asked[1]


def test_opposite_answers_among_options_ask_for_the_same(client):
    """Reports have one digit each, whatever is answered."""
    asked = []
    for answers in (["cat", "oak", "oak"], ["dog", "fir", "elm"]):
        server = Server([VALID["options per task"]])
        with client.device(server, ORIGIN) as device:
            device.take("join", CAMPAIGN)
            device.take("answer", CAMPAIGN, dict(zip(["t0", "t1", "t2"], answers, strict=True)))
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


@pytest.mark.nightly
@pytest.mark.parametrize("every", [3, nightly(1)])
def test_both_count_what_is_spent(python, page, every):
    """All kinds of mechanisms without a delta, by day a third, on one device after the other.

    The page adds a little to losses that it finds in floats.
    """
    pure = [name for name in OF_ALL_KINDS if not VALID[name].config["guarantee"]["delta"]][::every]
    campaigns = [of_its_own(name) for name in pure]
    spent = []
    for client in (python, page):
        with client.device(Server(campaigns), ORIGIN) as device:
            for place, campaign in enumerate(campaigns):
                answers = answers_to(campaign, seed=place)
                assert device.take("answer", campaign.id, answers) != REFUSED
                spent.append(device.take("spent", campaign.id))
    half = len(pure)
    assert spent[half:] == pytest.approx(spent[:half], rel=10 * LARGEST_DIFFERENCE, abs=0)
    assert all(theirs >= ours for ours, theirs in zip(spent[:half], spent[half:], strict=True))
    assert spent[0] == 4

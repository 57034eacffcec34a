"""Drafts whose mechanism follows from the possible answers and the loss of a person."""

from typing import get_args

import pytest
from tests.campaign.people import YES_NO, check_problem
from tests.campaign.promises import PROMISES

import quietcrowd as qc
from quietcrowd.campaign.protocol.fields import MechanismName
from quietcrowd.inference import GTM
from quietcrowd.mechanisms import Mechanism

BIRDS = qc.Categorical(["crow", "robin", "wren"])


@pytest.fixture
def draft(desk):
    """Return a way to make a draft from possible answers, and one to change it."""
    urls = []

    def new(**members):
        asked = {"title": "Birds", "domain": YES_NO.to_dict(), **PROMISES, **members}
        made = desk.client.post("/campaigns", json=asked).raise_for_status().json()
        urls.append(f"/campaigns/{made['id']}")
        return made

    def change(**members):
        tag = desk.client.get(urls[-1]).headers["etag"]
        return desk.client.patch(urls[-1], json=members, headers={"If-Match": tag})

    return new, change


def loss(document):
    """Return the loss of all answers of a person, by the mechanism itself."""
    answers = document["answers_per_participant"] or document["tasks"] or 1
    found = Mechanism.from_dict(document["mechanism"]).guarantee(answers=answers)
    assert found.epsilon == document["answer_epsilon"]
    return found.total_epsilon


def test_a_title_and_possible_answers_make_a_draft(draft):
    made = draft[0]()
    assert (made["goal"], made["domain"]) == ("truths", YES_NO.to_dict())
    assert made["total_epsilon"] == 2.2
    assert 2.199 < loss(made) <= 2.2
    assert made["mechanism_name"] is None
    assert made["why"].startswith("With two possible answers")


def test_the_mechanism_follows_what_it_depends_on(draft, desk):
    new, change = draft
    made = new(total_epsilon=4.0)
    desk.import_csv(made["id"], "task,a\n1,x\n2,y\n3,z\n4,w\n").raise_for_status()
    url = f"/campaigns/{made['id']}"
    changes = (
        {"answers_per_participant": 2},
        {"total_epsilon": 3.0},
        {"domain": BIRDS.to_dict()},
        {"mechanism_name": "subset-selection"},
        {"answers_per_participant": None, "total_epsilon": None},
    )
    seen = [desk.client.get(url).json()]
    seen += [change(**members).raise_for_status().json() for members in changes]
    desk.client.delete(f"{url}/tasks").raise_for_status()
    seen.append(desk.client.get(url).json())
    assert [one["total_epsilon"] for one in seen] == [4, 4, 3, 3, 3, 5, 2.2]
    assert all(0.99 * one["total_epsilon"] < loss(one) <= one["total_epsilon"] for one in seen)
    assert [one["mechanism"]["mechanism"] for one in seen] == [
        *["one-layer"] * 4,
        *["subset-selection"] * 3,
    ]
    assert seen[3]["domain"] == BIRDS.to_dict()
    assert seen[4]["why"] == "The requester chose it by name."


def test_a_described_mechanism_stays_until_a_choice_replaces_it(draft, desk):
    new, change = draft
    described = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0).to_dict()
    made = new(domain=None, mechanism=described)
    assert made["why"] == "The requester described it."
    desk.import_csv(made["id"], "a\nx\ny\n").raise_for_status()
    kept = change(answers_per_participant=1).json()
    assert kept["mechanism"] == described
    replaced = change(total_epsilon=0.5).json()
    assert 0.499 < loss(replaced) <= 0.5
    assert replaced["domain"] == YES_NO.to_dict()


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"domain": {"kind": "secret"}}, "/domain"),
        ({"domain": None}, "/domain"),
        ({"total_epsilon": 0}, "/total_epsilon"),
        ({"mechanism_name": "secret"}, "/mechanism_name"),
        ({"mechanism_name": "duchi"}, "/mechanism_name"),
        ({"goal": None}, "/goal"),
        ({"goal": "secret"}, "/goal"),
        ({"join_mode": None}, "/join_mode"),
        (
            {
                "domain": qc.Categorical(list(map(str, range(13)))).to_dict(),
                "mechanism_name": "optimal",
            },
            "/mechanism_name",
        ),
        ({"method": GTM().to_dict()}, "/method"),
    ],
)
def test_a_change_that_cannot_be_names_the_member(draft, members, pointer):
    new, change = draft
    new()
    problem = check_problem(change(**members), 422, "validation")
    assert problem["errors"][0]["pointer"] == pointer
    assert "secret" not in str(problem)


def test_a_kept_method_must_fit_the_new_answers(draft):
    new, change = draft
    new(method=qc.MajorityVote().to_dict())
    numbers = qc.Interval(low=0, high=1).to_dict()
    problem = check_problem(change(domain=numbers), 422, "validation")
    assert problem["errors"][0]["pointer"] == "/method"
    changed = change(domain=numbers, method=None).raise_for_status().json()
    assert changed["mechanism"]["mechanism"] == "laplace"


def test_known_truths_are_read_again(draft, desk):
    new, change = draft
    made = new(domain=qc.Ordinal([1, 2, 3]).to_dict())
    desk.import_csv(made["id"], "task,a,gold\nt,x,\nu,y,3\nv,z,1\n").raise_for_status()

    def truths():
        items = desk.client.get(f"/campaigns/{made['id']}/tasks").json()["items"]
        return [one["gold"] for one in items]

    assert truths() == [None, 3, 1]
    problem = check_problem(change(domain=qc.Ordinal([1, 2]).to_dict()), 422, "validation")
    assert "task 2 of" in problem["errors"][0]["message"]
    assert truths() == [None, 3, 1]
    change(domain=qc.Interval(low=0, high=5).to_dict()).raise_for_status()
    assert truths() == [None, 3.0, 1.0]


def test_who_may_join_sets_whether_devices_keep_drafts(draft):
    new, change = draft
    assert new()["drafts"] is True
    assert change(join_mode="open").json()["drafts"] is False
    assert change(join_mode="invite", drafts=False).json()["drafts"] is False


def test_the_goal_can_change_at_any_time(desk):
    campaign = desk.campaign(goal="shares")
    url = f"/campaigns/{campaign}"
    first = desk.client.get(url)
    assert first.json()["goal"] == "shares"
    tag = {"If-Match": first.headers["etag"]}
    assert desk.client.patch(url, json={"goal": "truths"}, headers=tag).json()["goal"] == "truths"
    assert "goal" not in desk.client.get(f"/public/campaigns/{campaign}").json()["config"]


def test_the_names_in_requests_are_those_that_plans_list(desk):
    limits = desk.client.get("/plans").json()
    assert list(get_args(MechanismName)) == [*limits["labels"], *limits["numbers"]]

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.campaign.devices import NOWHERE, Fake
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.promises import PROMISES
from tests.removed_mechanism import REMOVED, SENTENCE

import quietcrowd as qc
from quietcrowd.campaign import Client
from quietcrowd.campaign.device.checked_terms import Terms, read_allotment, read_tasks
from quietcrowd.campaign.terms import configuration
from quietcrowd.campaign.terms.canonical import canonical_hash
from quietcrowd.exceptions import CampaignError
from quietcrowd.mechanisms import MatrixFactorization

CAMPAIGN = 32 * "5"


@pytest.mark.parametrize("name", MECHANISMS)
def test_terms_are_those_of_the_mechanism(name):
    fake = Fake.of(MECHANISMS[name], tasks=4, answers=2)
    terms = Terms.read(fake.public, CAMPAIGN)
    assert terms.mechanism == MECHANISMS[name]
    assert (terms.answers, terms.tasks, terms.state, terms.needs_invite) == (2, 4, "open", False)
    assert terms.linked == 1
    names = [f"t{place}" for place in range(4)]
    assert terms.guarantee == MECHANISMS[name].guarantee(answers=2, tasks=names)
    assert list(terms.consent) == fake.public["config"]["consent"]
    document = {"config_hash": terms.config_hash, "tasks": fake.tasks}
    assert [task.name for task in read_tasks(document, terms)] == [
        task["task"] for task in fake.tasks
    ]


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_no_figure_that_follows_from_a_mechanism_can_be_softened(name):
    fake = Fake.of(MECHANISMS[name], tasks=4, answers=2)
    changed = 0
    for path in _numbers(fake.public["config"]):
        for factor in (0.5, 2):
            document = copy.deepcopy(fake.public)
            place = document["config"]
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = place[path[-1]] * factor or 1e-3
            document["config_hash"] = canonical_hash(document["config"]).hex()
            if path[0] in ("channel", "guarantee", "report", "version"):
                with pytest.raises(CampaignError, match=_refusal(path)):
                    _agree(document, fake.tasks)
                changed += 1
    assert changed > 8


def _agree(document, tasks):
    """Read the terms of a campaign, and its tasks."""
    terms = Terms.read(document, CAMPAIGN)
    read_tasks({"config_hash": terms.config_hash, "tasks": tasks}, terms)


def _refusal(path):
    """Return what is said of a changed figure; the loss of named tasks waits for their names."""
    said = rf"contradicts its {path[0]}[;.]"
    if path == ("guarantee", "worker_epsilon"):
        return rf"{said}|contradicts its consent|loss that you agreed to"
    if path == ("version",):
        return "contradicts its requester_id"  # others have none
    return said


def _numbers(value, path=()):
    """Yield the paths of all numbers in a JSON value."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _numbers(part, (*path, key))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from _numbers(part, (*path, place))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"config": [], "config_hash": "x"},
        {"config": {}, "config_hash": 7},
        {"config": {"a": "\ud800"}, "config_hash": 64 * "0"},
        {"config": {}, "config_hash": canonical_hash({}).hex()},
    ],
)
def test_what_is_no_configuration_is_refused(document):
    with pytest.raises(CampaignError):
        Terms.read(document, CAMPAIGN)


def test_a_closed_campaign_is_read_too():
    public = {**Fake.of(MECHANISMS["one-layer"]).public, "state": "closed", "join_mode": "invite"}
    terms = Terms.read(public, CAMPAIGN)
    assert (terms.state, terms.needs_invite) == ("closed", True)


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("2099-12-31", "2099-12-31"),
        (None, None),
        ("soon\x1b[2J", None),
        ("2099-12-31\n", None),
        (7, None),
    ],
)
def test_a_last_day_is_read_where_it_is_one(said, read):
    document = {**Fake.of(MECHANISMS["one-layer"]).public, "closes_on": said}
    assert Terms.read(document, CAMPAIGN).closes_on == read


def test_too_many_tasks_are_refused():
    public = copy.deepcopy(Fake.of(MECHANISMS["one-layer"]).public)
    public["config"]["tasks"] = 10**9
    public["config_hash"] = canonical_hash(public["config"]).hex()
    with pytest.raises(CampaignError, match="at most 20,000 tasks"):
        Terms.read(public, CAMPAIGN)


NONCES = [{"question": "Do you take drugs?", "n": place} for place in range(6)]


@pytest.mark.parametrize(
    ("name", "data", "found"),
    [
        ("one-layer", NONCES, 6),
        ("two-layer", [{"question": "Drugs?"}] * 6, 6),
        ("matrix factorisation", NONCES[:3], 3),
    ],
)
def test_a_campaign_that_hides_how_many_answers_share_a_fact_is_refused(
    monkeypatch, name, data, found
):
    """The configuration of such a server is as it must be, but for that."""
    honest = Fake.of(MECHANISMS[name], data=data)
    assert Terms.read(honest.public, CAMPAIGN).linked == found
    with monkeypatch.context() as lying:
        lying.setattr("quietcrowd.campaign.terms.configuration.largest_group", lambda *_: 1)
        fake = Fake.of(MECHANISMS[name], data=data, linked=found - 1)
    terms = Terms.read(fake.public, CAMPAIGN)
    assert f"{found - 1} of your answers share" in terms.consent[0]
    with pytest.raises(CampaignError, match=f"{found} tasks are identical or similar"):
        read_tasks({"config_hash": terms.config_hash, "tasks": fake.tasks}, terms)
    fewer = Fake.of(MECHANISMS[name], data=data, answers=found - 1)
    terms = Terms.read(fewer.public, CAMPAIGN)
    assert read_tasks({"config_hash": terms.config_hash, "tasks": fewer.tasks}, terms)


@pytest.mark.parametrize("linked", [0, 4, True, None, 2.0])
def test_what_cannot_be_linked_is_refused(linked):
    public = copy.deepcopy(Fake.of(MECHANISMS["one-layer"], tasks=5, answers=3).public)
    public["config"]["linked"] = linked
    public["config_hash"] = canonical_hash(public["config"]).hex()
    with pytest.raises(CampaignError, match=r"share one fact; this number must be|invalid: linked"):
        Terms.read(public, CAMPAIGN)


SKETCH = MatrixFactorization(domain=qc.Ordinal(range(5)), epsilon=1.0, rank=6)


def test_what_these_very_tasks_lose_is_agreed_to_and_spent(tmp_path):
    fake = Fake.of(SKETCH, tasks=40)
    client = Client(NOWHERE, folder=tmp_path, transport=fake, budget=30)
    exact = SKETCH.guarantee(answers=40, tasks=[f"t{place}" for place in range(40)])
    assert exact.total_epsilon < 25 < SKETCH.guarantee(answers=40, tasks=40).total_epsilon
    assert client.guarantee.total_epsilon == exact.total_epsilon
    assert fake.public["config"]["guarantee"]["worker_epsilon"] == exact.total_epsilon
    assert client.affordable() == 40
    client.answer({"t3": 4, "t5": 0})
    spent = client.spent().total_epsilon
    assert exact.total_epsilon <= spent <= exact.total_epsilon * (1 + 1e-12)
    assert client.used_after() == spent


def test_tasks_that_lose_more_than_the_campaign_says_are_refused(tmp_path, monkeypatch):
    with monkeypatch.context() as server:
        server.setattr(configuration, "loss_of_tasks", lambda *_: 12.0)
        fake = Fake.of(SKETCH, tasks=40)
    client = Client(NOWHERE, folder=tmp_path, transport=fake)
    assert client.guarantee.total_epsilon == 12.0
    with pytest.raises(CampaignError, match=r"epsilon = 19\.\d+, but the campaign states 12"):
        client.answer({"t3": 4})
    assert fake.posted == []


def test_a_campaign_says_no_more_than_any_tasks_lose(tmp_path, monkeypatch):
    with monkeypatch.context() as server:
        server.setattr(configuration, "loss_of_tasks", lambda *_: 1e9)
        fake = Fake.of(SKETCH, tasks=40)
    client = Client(NOWHERE, folder=tmp_path, transport=fake)
    assert client.guarantee.total_epsilon == pytest.approx(40.0)
    assert client.answer({"t3": 4}).accepted == 1


def changed(**members):
    """Return a public campaign with other members in its configuration; None takes one out."""
    document = copy.deepcopy(Fake.of(MECHANISMS["one-layer"]).public)
    config = {**document["config"], **members}
    document["config"] = {name: one for name, one in config.items() if one is not None}
    document["config_hash"] = canonical_hash(document["config"]).hex()
    return document


def test_who_asks_and_what_is_kept_stands_in_the_terms():
    document = Fake.of(MECHANISMS["one-layer"], promises={"at_least": 5}).public
    terms = Terms.read(document, CAMPAIGN)
    assert terms.promises.to_dict() == {**PROMISES, "at_least": 5}
    assert terms.consent[-3:] == terms.promises.sentences
    assert list(terms.consent) == document["config"]["consent"]


@pytest.mark.parametrize(
    "members",
    [
        *({name: wrong} for name in ("requester", "contact", "purpose") for wrong in ("", 3, " ")),
        *({name: None} for name in PROMISES),
        {"requester": "a" * 201},
        {"contact": "a" * 201},
        {"purpose": "a" * 1_001},
        {"retention_days": 0},
        {"retention_days": 3_651},
        {"retention_days": 1.5},
        {"at_least": 0},
        {"at_least": True},
        {"at_least": 1_001},
    ],
)
def test_promises_that_are_none_are_refused(members):
    [name] = members
    with pytest.raises(CampaignError, match=f"missing or invalid: .*{name}"):
        Terms.read(changed(**members), CAMPAIGN)


@pytest.mark.parametrize("members", [{"at_least": 9}, {"retention_days": 9}, {"version": 2}])
def test_sentences_are_those_that_follow_from_the_promises(members):
    with pytest.raises(CampaignError, match="mechanism contradicts its"):
        Terms.read(changed(**members), CAMPAIGN)


def test_no_campaign_of_this_version_passes_for_one_that_promises_nothing():
    with pytest.raises(CampaignError, match=r"mechanism contradicts its .*consent"):
        Terms.read(changed(version=1), CAMPAIGN)
    none = dict.fromkeys(PROMISES)
    with pytest.raises(CampaignError, match=r"mechanism contradicts its .*consent"):
        Terms.read(changed(version=1, **none), CAMPAIGN)


HANDING_OUT = Fake.of(MECHANISMS["one-layer"], tasks=6, answers=3, allotment="random")
HANDED_OUT = Terms.read(HANDING_OUT.public, CAMPAIGN)
LISTED = read_tasks({"config_hash": HANDED_OUT.config_hash, "tasks": HANDING_OUT.tasks}, HANDED_OUT)
IDS = [task.id for task in LISTED]


@given(
    ids=st.one_of(
        st.lists(st.sampled_from([*IDS, IDS[0].upper(), 32 * "f", "", None, 1]), max_size=7),
        st.permutations(IDS).map(lambda ids: ids[:3]),
        st.sets(st.sampled_from(IDS), min_size=3, max_size=3).map(sorted),
        st.recursive(st.none() | st.booleans() | st.text(max_size=3), st.lists, max_leaves=4),
    )
)
def test_only_as_many_different_tasks_in_order_are_taken_for_those_of_a_worker(ids):
    """Another order would tell the device something, and one twice hides how many there are."""
    good = isinstance(ids, list) and len(ids) == 3 and all(one in IDS for one in ids)
    if good and ids == sorted(set(ids)):
        asked = read_allotment({"allotted": ids}, HANDED_OUT, LISTED)
        assert [task.id for task in asked] == ids
    else:
        with pytest.raises(CampaignError, match="did not assign you 3 of the campaign's tasks"):
            read_allotment({"allotted": ids}, HANDED_OUT, LISTED)


def test_what_is_agreed_to_follows_from_the_tasks_of_a_worker():
    """Fewer answers of one worker lose less, and it is that which is agreed to."""
    mechanism = MECHANISMS["two-layer"]
    some = Fake.of(mechanism, tasks=6, answers=2, allotment="random", linked=2)
    terms, every = (Terms.read(one.public, CAMPAIGN) for one in (some, Fake.of(mechanism, tasks=6)))
    assert (terms.allotment.answers, terms.allotment.tasks, terms.answers) == (2, 6, 2)
    assert terms.guarantee == mechanism.guarantee(answers=2, linked=2)
    assert terms.guarantee.total_epsilon < every.guarantee.total_epsilon
    assert "You are asked 2 of the 6 questions" in " ".join(terms.consent)
    assert "You are asked" not in " ".join(every.consent)


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"allotment": None}, "allotment must be one of random"),
        ({"allotment": "chosen"}, "allotment must be one of random"),
        ({"allotment": ["random"]}, "allotment must be one of random"),
        ({"allotment": "suggested"}, "contradicts its consent"),
        ({"version": 2}, "contradicts its .*allotment"),
        ({"version": 1}, "contradicts its .*allotment"),
        ({"answers_per_participant": 4}, "contradicts its consent"),
        ({"tasks": 7}, "contradicts its consent"),
    ],
)
def test_another_allotment_than_that_of_the_sentences_is_refused(members, told):
    document = copy.deepcopy(HANDING_OUT.public)
    document["config"].update(members)
    document["config_hash"] = canonical_hash(document["config"]).hex()
    with pytest.raises(CampaignError, match=told):
        Terms.read(document, CAMPAIGN)


def test_a_campaign_of_a_removed_mechanism_says_why_it_went():
    with pytest.raises(CampaignError, match=SENTENCE):
        Terms.read(changed(mechanism=REMOVED), CAMPAIGN)

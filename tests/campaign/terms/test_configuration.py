import hashlib
import json
import re

import pytest
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.promises import PROMISES
from tests.campaign.terms.test_rounds import rounds

from quietcrowd.accounting.consent import consent_sentences
from quietcrowd.campaign.terms.canonical import canonical_hash, canonical_json
from quietcrowd.campaign.terms.channels import parse_mechanism, report_rule, usable_mechanism
from quietcrowd.campaign.terms.configuration import build_configuration, earlier_members
from quietcrowd.campaign.terms.promises import ALLOTMENTS, Promises
from quietcrowd.campaign.terms.settings import MAX_REPORTS
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.mechanisms import Mechanism, RandomizedResponse
from quietcrowd.task_options import TaskOptions

TASKS = [(f"{place:032x}", f"t{place}", {"question": "?"}) for place in range(4)]


OTHERS = {
    "requester": "Another group",
    "contact": "planes@example.org",
    "purpose": "A map of planes.",
    "retention_days": 31,
    "at_least": 5,
}


def build(**changed):
    given = {
        "campaign": "0" * 32,
        "title": "Birds",
        "description": "",
        "mechanism": MECHANISMS["one-layer"],
        "answers": None,
        "linked": None,
        "tasks": TASKS,
        "promises": Promises(**PROMISES),
    }
    return build_configuration(**{**given, **changed})


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_has_a_configuration(name):
    mechanism = MECHANISMS[name]
    built = build(mechanism=mechanism)
    told = json.loads(built.text)
    assert canonical_json(told) == built.text
    assert hashlib.sha256(built.text).digest() == built.hash
    assert Mechanism.from_dict(told["mechanism"]) == mechanism
    names = [name for _, name, _ in TASKS]
    guarantee = mechanism.guarantee(answers=4, tasks=names, linked=told["linked"])
    promised = list(Promises(**PROMISES).sentences)
    assert told["consent"] == [*consent_sentences(guarantee), *promised]
    loss = told["guarantee"]["worker_epsilon"]
    assert loss is None or loss >= guarantee.total_epsilon


def test_the_hash_covers_all_that_is_agreed_to():
    built = [
        build(),
        build(campaign="1" * 32),
        build(title="Planes"),
        build(description="all"),
        build(mechanism=MECHANISMS["two-layer"]),
        build(answers=2),
        build(linked=3),
        build(promises=None),
        build(requester_id=32 * "a"),
        build(requester_id=32 * "b"),
        build(requester_id=32 * "a", as_of="2026-12-01"),
        build(requester_id=32 * "a", as_of="2026-12-02"),
        build(requester_id=32 * "a", drafts=True),
        build(requester_id=32 * "a", drafts=False),
        *(build(promises=Promises(**{**PROMISES, name: other})) for name, other in OTHERS.items()),
        build(tasks=TASKS[:3]),
        build(tasks=[*TASKS[:3], (*TASKS[3][:2], {"question": "!"})]),
    ]
    assert len({one.hash for one in built}) == len(built)


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_newest_version_has_a_summary(name):
    given = {"mechanism": MECHANISMS[name], "requester_id": 32 * "a", "drafts": False}
    told = json.loads(build(**given).text)
    [first, *figures] = told["summary"][:-4]
    assert first == "Someone is 50 % sure of something about you. They become at most"
    assert all(re.fullmatch(r"(practically )?[\d.]+ % sure from .*", figure) for figure in figures)
    assert len(figures) == (1 if MECHANISMS[name].channel.kind == "sketch" else 2)
    assert told["summary"][-3:] == [
        *Promises(**PROMISES).summary,
        "Answers elsewhere add up.",
    ]
    assert "summary" not in json.loads(build(**{**given, "drafts": None}).text)


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"allotment": "random", "answers": 2}, "You get 2 of the 4 questions."),
        (
            {"promises": Promises(**{**PROMISES, "at_least": 1_000})},
            "The requester sees new people 1,000 or more at a time.",
        ),
        (
            {"promises": Promises(**{**PROMISES, "retention_days": 1})},
            "Reports are deleted 1 day after closing, or if you withdraw.",
        ),
    ],
)
def test_a_summary_says_what_is_promised(changed, line):
    told = json.loads(build(requester_id=32 * "a", drafts=True, **changed).text)
    assert line in told["summary"]


def test_a_worker_agrees_to_so_many_answers_and_no_more():
    assert json.loads(build(answers=2).text)["answers_per_participant"] == 2
    assert json.loads(build(answers=9).text)["answers_per_participant"] == 4


@pytest.mark.parametrize(
    ("name", "count"), [("one-layer", 0), ("one-layer with NULL", MAX_REPORTS + 1)]
)
def test_all_reports_fit_into_one_upload(name, count):
    tasks = [(f"{place:032x}", str(place), {}) for place in range(count)]
    with pytest.raises(ParameterError, match="task"):
        build(mechanism=MECHANISMS[name], tasks=tasks)


def test_what_is_stored_of_a_mechanism_gives_it_back():
    for mechanism in MECHANISMS.values():
        assert parse_mechanism(canonical_json(mechanism.to_dict()).decode()) == mechanism


NONCES = [
    (f"{place:032x}", f"t{place}", {"question": "Drugs at all?", "n": place}) for place in range(6)
]


@pytest.mark.parametrize(
    ("name", "answers", "declared", "linked"),
    [
        ("one-layer", None, None, 6),
        ("one-layer", 4, None, 4),
        ("one-layer", 4, 9, 4),
        ("one-layer", None, 6, 6),
        ("two-layer", None, None, 6),
        ("laplace with a bit", None, None, 6),
        ("matrix factorisation", 2, None, 2),
    ],
)
def test_near_copies_are_linked_up_to_the_answers_of_a_worker(name, answers, declared, linked):
    mechanism = MECHANISMS[name]
    told = json.loads(
        build(mechanism=mechanism, tasks=NONCES, answers=answers, linked=declared).text
    )
    names = [name for _, name, _ in NONCES]
    guarantee = mechanism.guarantee(answers=answers or 6, tasks=names, linked=linked)
    assert told["linked"] == linked
    assert told["guarantee"]["linked_epsilon"] == guarantee.linked_epsilon
    promised = list(Promises(**PROMISES).sentences)
    assert told["consent"] == [*consent_sentences(guarantee), *promised]
    assert f"a fact that up to {linked} of your answers share" in told["consent"][0]


@pytest.mark.parametrize(("name", "linked"), [("one-layer", 1), ("two-layer", 4)])
def test_copies_are_linked_where_one_report_does_not_serve_them(name, linked):
    assert json.loads(build(mechanism=MECHANISMS[name]).text)["linked"] == linked


def test_more_may_be_linked_than_the_words_show_and_not_fewer():
    assert json.loads(build(linked=3).text)["linked"] == 3
    with pytest.raises(ParameterError, match=r"up to 6 tasks are identical or similar .* got 5"):
        build(tasks=NONCES, linked=5)


@pytest.mark.parametrize("day", ["2026-02-30", "2026-13-01", "0999-12-31", "20261201", "", 5])
def test_a_day_that_there_is_not_is_refused(day):
    with pytest.raises(ParameterError, match="as_of must be a date such as 2026-12-01"):
        build(requester_id=32 * "a", as_of=day)


def test_near_copies_share_a_fact_whatever_day_they_are_about():
    told = [json.loads(build(tasks=NONCES, requester_id=32 * "a", as_of=day).text)["linked"]
            for day in (None, "2026-12-01")]  # fmt: skip
    assert told == [6, 6]


EARLIER = {
    "one-layer": "bc4738b3de6f782b",
    "one-layer with NULL": "bc0d3645295c9078",
    "sets of labels": "8294c7d786943664",
    "two-layer": "c0d569baebb3fbda",
    "optimal": "c8fa122965ef5d57",
    "laplace": "deec173a76abf8ba",
    "laplace, filled": "a0c375cff665c302",
    "laplace with a bit": "a0c375cff665c302",
    "piecewise": "0814ad22c09eac79",
    "duchi": "82028f2a5e50b31f",
    "hybrid": "ff1a21261c0489fd",
    "matrix factorisation": "0b62763aaba069ff",
    "matrix factorisation, statistics": "de0ba848131d6e82",
    "matrix factorisation, ridge": "718b5ca29db8fdfb",
    "1 workers, 1 days": "db1d2ed6e0dd96be",
    "1 workers, 90 days": "ee2dc48675eca5f7",
    "5 workers, 1 days": "e35fa72933398b08",
    "5 workers, 90 days": "48e3d974b9770924",
    "random": "f659b88ad08cff25",
    "suggested": "0de72480e267ce2c",
    "linked": "fa932b25d14d24d4",
    "one answer": "808225e4bb56fe78",
}
"""Hashes, shortened, of guarantee and consent of campaigns before their sentences changed."""

VARIED = {
    **{name: {"mechanism": mechanism} for name, mechanism in MECHANISMS.items()},
    **{
        f"{least} workers, {days} days": {
            "promises": Promises(**{**PROMISES, "at_least": least, "retention_days": days})
        }
        for least in (1, 5)
        for days in (1, 90)
    },
    **{kind: {"allotment": kind, "answers": 2} for kind in ALLOTMENTS},
    "linked": {"linked": 3},
    "one answer": {"answers": 1},
}


@pytest.mark.parametrize("name", EARLIER)
def test_earlier_campaigns_are_known_by_their_words(name):
    earlier = earlier_members(json.loads(build(**VARIED[name]).text))
    assert canonical_hash([earlier["guarantee"], earlier["consent"]]).hex()[:16] == EARLIER[name]


def test_a_campaign_states_only_how_many_options_tasks_have():
    options = TaskOptions.read({"t0": ["a", "b"], "t1": ["c", "d"]})
    mechanism = RandomizedResponse(domain=options.domain, epsilon=1.0).for_options(options)
    with pytest.raises(ParameterError, match="Use option_counts instead of options"):
        report_rule(mechanism, 4)
    with pytest.raises(ParameterError, match="each task has its own options"):
        build(mechanism=mechanism)
    with pytest.raises(FormatError):
        usable_mechanism(mechanism.to_dict())


IN_ROUNDS = {"rounds": rounds(), "requester_id": 32 * "a", "drafts": True}


@pytest.mark.parametrize("name", MECHANISMS)
def test_rounds_state_the_losses_of_a_round_and_of_all(name):
    mechanism = MECHANISMS[name]
    if mechanism.every_task:
        with pytest.raises(ParameterError, match="cannot be used in rounds"):
            build(mechanism=mechanism, **IN_ROUNDS)
        return
    told, plain = (
        json.loads(build(mechanism=mechanism, **{**IN_ROUNDS, **changed}).text)
        for changed in ({}, {"rounds": None})
    )
    assert (told["version"], plain["version"]) == (6, 5)
    assert told.keys() - plain.keys() == {"rounds", "losses"}
    changed = {"version", "rounds", "losses", "consent", "summary"}
    assert all(told[name] == plain[name] for name in told.keys() - changed)
    loss = told["guarantee"]["worker_epsilon"]
    assert told["losses"] == rounds().losses(loss).to_dict()
    assert told["consent"][:3] == plain["consent"][:3]
    assert all(
        re.fullmatch(r"(practically )?[\d.]+ % sure from .*", one) for one in told["summary"][1:5]
    )


def test_rounds_are_about_no_one_day():
    with pytest.raises(ParameterError, match="as_of"):
        build(**IN_ROUNDS, as_of="2026-12-01")

import hashlib
import json

import pytest
from tests.campaign.mechanisms import MECHANISMS

import quietcrowd as qc
from quietcrowd.campaign.canonical import canonical_json
from quietcrowd.campaign.configuration import build_configuration, parse_mechanism
from quietcrowd.campaign.settings import MAX_REPORTS
from quietcrowd.exceptions import ParameterError
from quietcrowd.privacy.consent import consent_sentences

TASKS = [(f"{place:032x}", f"t{place}", {"question": "?"}) for place in range(4)]


def build(**changed):
    given = {
        "campaign": "0" * 32,
        "title": "Birds",
        "description": "",
        "mechanism": MECHANISMS["one-layer"],
        "answers": None,
        "tasks": TASKS,
    }
    return build_configuration(**{**given, **changed})


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_has_a_configuration(name):
    mechanism = MECHANISMS[name]
    built = build(mechanism=mechanism)
    told = json.loads(built.text)
    assert canonical_json(told) == built.text
    assert hashlib.sha256(built.text).digest() == built.hash
    assert qc.Mechanism.from_dict(told["mechanism"]) == mechanism
    guarantee = mechanism.guarantee(answers=4, tasks=4)
    assert told["consent"] == list(consent_sentences(guarantee))
    loss = told["guarantee"]["worker_epsilon"]
    assert loss is None or loss >= guarantee.worker_epsilon


def test_the_hash_covers_all_that_is_agreed_to():
    built = [
        build(),
        build(campaign="1" * 32),
        build(title="Planes"),
        build(description="all"),
        build(mechanism=MECHANISMS["two-layer"]),
        build(answers=2),
        build(tasks=TASKS[:3]),
        build(tasks=[*TASKS[:3], (*TASKS[3][:2], {"question": "!"})]),
    ]
    assert len({one.hash for one in built}) == len(built)


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

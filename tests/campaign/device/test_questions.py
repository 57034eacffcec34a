import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.campaign.mechanisms import MECHANISMS, RANGE, relabelled

import quietcrowd as qc
from quietcrowd.campaign.device.checked_terms import CampaignTask
from quietcrowd.campaign.device.questions import (
    TaskQuestions,
    channel_hash,
    question_hash,
    read_report,
    readable_values,
    spell_report,
)
from quietcrowd.campaign.terms.channels import report_rule

YES_NO = qc.Categorical(["no", "yes"])


def task_of(name, place=0, /, **data):
    return CampaignTask(id=f"{place:032x}", name=name, data=data)


def coin(labels=("no", "yes"), epsilon=1.0, **members):
    return qc.RandomizedResponse(domain=qc.Categorical(labels), epsilon=epsilon, **members)


def test_a_question_is_all_that_is_shown_and_what_can_be_answered_in_any_order():
    one = question_hash(task_of("a", text="Red?", size=1), YES_NO)
    assert question_hash(task_of("b", size=1.0, text="Red?"), YES_NO) == one
    assert question_hash(task_of("a", text="Red?", size=1), qc.Categorical(["yes", "no"])) == one
    others = {
        question_hash(task_of("a", text="Blue?", size=1), YES_NO),
        question_hash(task_of("a", text="Red?", size=2), YES_NO),
        question_hash(task_of("a", text="Red?"), YES_NO),
        question_hash(task_of("a", text="Red?", size=1), qc.Categorical(["no", "yes", "?"])),
        question_hash(task_of("a"), YES_NO),
        question_hash(task_of("b"), YES_NO),
        question_hash(task_of("c", task="a"), YES_NO),
        question_hash(task_of("a", text="Red?", size=1), RANGE),
        question_hash(task_of("a", text="Red?", size=1), qc.Interval(low=0, high=9)),
    }
    assert len(others | {one}) == 10


def test_answers_that_look_alike_are_the_same():
    levels = question_hash(task_of("a"), qc.Ordinal([1, 2]))
    assert question_hash(task_of("a"), qc.Ordinal([1.0, 2.0])) == levels
    assert question_hash(task_of("a"), qc.Categorical(["2", "1"])) == levels


@given(st.sampled_from(sorted(MECHANISMS)), st.integers(0, 2**32), st.integers(0, 2**20))
def test_a_stored_report_is_read_in_any_order_of_labels(name, seed, drawn):
    mechanism = MECHANISMS[name]
    turned = relabelled(mechanism, seed)
    assert channel_hash(turned) == channel_hash(mechanism)
    low, high = (getattr(report_rule(mechanism, 3), end) for end in ("low", "high"))
    report = (int(low) + drawn % int(high + 1 - low), None if drawn % 2 else drawn)
    kept = json.loads(json.dumps(spell_report(mechanism, report)))
    assert read_report(mechanism, kept) == report
    there = read_report(turned, kept)
    assert json.loads(json.dumps(spell_report(turned, there))) == kept
    shown = [
        readable_values(one, [code]) for one, (code, _) in ((mechanism, report), (turned, there))
    ]
    assert shown[0] == shown[1]


def test_another_distribution_is_another_channel():
    laplace = MECHANISMS["laplace"]
    hashes = {
        channel_hash(one)
        for one in (
            coin(),
            coin(epsilon=1.1),
            coin(("no", "yes", "maybe")),
            coin(("nein", "ja")),
            coin(missing="category"),
            laplace,
            qc.LaplaceMechanism(domain=RANGE, epsilon=1.0, fill="midpoint"),
            qc.LaplaceMechanism(domain=RANGE, epsilon=1.0, fill=None, step=0.5),
            qc.LaplaceMechanism(domain=RANGE, epsilon=2.0, fill=None),
            MECHANISMS["laplace with a bit"],
        )
    }
    assert len(hashes) == 10
    assert None not in hashes


@pytest.mark.parametrize("name", ["two-layer", "matrix factorisation"])
def test_noise_that_answers_share_is_not_sent_again(name):
    assert channel_hash(MECHANISMS[name]) is None


def test_reports_are_kept_by_what_they_say():
    assert spell_report(coin(), (1, None)) == ["yes", None]
    assert spell_report(coin(missing="category"), (2, None)) == [None, None]
    assert spell_report(MECHANISMS["laplace with a bit"], (-300, 77)) == [-300, 77]
    assert spell_report(coin((False, True)), (1, None)) == [True, None]
    assert read_report(coin(("yes", "no")), ["yes", None]) == (0, None)
    told = "no report|not enough values"
    for wrong in (["perhaps", None], ["yes"], [None, None], ["yes", "1"]):
        with pytest.raises(ValueError, match=told):
            read_report(coin(), wrong)
    with pytest.raises(ValueError, match=told):
        read_report(MECHANISMS["laplace"], [0.5, None])


def test_a_set_is_kept_by_its_labels():
    """Another campaign may have the labels in another order, and so another number for the set."""
    here, there = (
        qc.SubsetSelection(domain=qc.Categorical(labels), epsilon=1.0, set_size=2)
        for labels in (["a", "b", "c", "d"], ["d", "b", "a", "c"])
    )
    assert channel_hash(here) == channel_hash(there)
    for number in range(6):
        kept = spell_report(here, (number, None))
        value, bit = read_report(there, kept)
        assert bit is None
        shown = [one.report_domain.members_of([n]) for one, n in ((here, number), (there, value))]
        assert set(shown[0][0]) == set(shown[1][0]) == set(kept[0])
        assert read_report(here, kept) == (number, None)
    for wrong in (["a"], ["a", "a"], ["a", "z"], ["a", "b", "c"], "ab"):
        with pytest.raises(ValueError, match=r"no report|not in"):
            read_report(here, [wrong, None])


def test_copies_get_one_answer_by_a_public_rule():
    tasks = [
        task_of("d", 1, text="Red?"),
        task_of("a", 2, text="Red?"),
        task_of("b", 3, text="Blue?"),
        task_of("c", 4, text="Red?"),
    ]
    asked = TaskQuestions(tasks=tasks, mechanism=coin())
    assert asked.copies == (("d", "a", "c"),)
    assert asked.first_of("c") == asked.first_of("d") == "d"
    assert asked.once({"a": "yes", "b": "no", "c": "no"}) == {"d": "yes", "b": "no"}
    assert asked.once({"c": "no", "a": None}) == {"d": "no"}
    assert asked.once({}) == {}

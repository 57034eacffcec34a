import pytest
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.promises import PROMISES

from quietcrowd.campaign.terms.promises import (
    ALLOTMENTS,
    LONGEST_PURPOSE,
    LONGEST_REQUESTER,
    MAX_AT_LEAST,
    MAX_RETENTION_DAYS,
    PROMISED,
    Allotment,
    Promises,
    most_participants,
)
from quietcrowd.campaign.terms.settings import MAX_REPORTS
from quietcrowd.exceptions import ParameterError


def promises(**changed):
    return Promises(**{**PROMISES, **changed})


def test_promises_are_members_of_a_configuration_and_come_back():
    made = promises(at_least=7)
    assert tuple(made.to_dict()) == PROMISED
    assert Promises.of({"title": "Birds", **made.to_dict()}) == made


@pytest.mark.parametrize(
    "changed",
    [
        *({name: wrong} for name in ("requester", "contact", "purpose") for wrong in ("", " ", 3)),
        {"requester": "a" * (LONGEST_REQUESTER + 1)},
        {"purpose": "a" * (LONGEST_PURPOSE + 1)},
        {"purpose": "\ud800"},
        *({"retention_days": days} for days in (0, MAX_RETENTION_DAYS + 1, 1.5, True, None)),
        *({"at_least": least} for least in (0, MAX_AT_LEAST + 1, 5.0, "5", None)),
    ],
)
def test_what_is_no_promise_is_refused_by_name(changed):
    [name] = changed
    with pytest.raises(ParameterError, match=name):
        promises(**changed)


def test_what_is_missing_is_refused_by_name():
    for name in PROMISED:
        config = {**PROMISES}
        del config[name]
        with pytest.raises(ParameterError, match=name):
            Promises.of(config)


def test_workers_are_told_how_many_wait_and_until_when_all_is_kept():
    shown, withdrawn, kept = promises(at_least=5, retention_days=1).sentences
    assert "at least 5 new workers at a time. Until then yours wait" in shown
    assert "trying to join with your invite reveals whether it was used" in shown
    assert "If fewer than 5 wait when the campaign closes, their reports are never shown" in shown
    assert "defeat it by inventing workers to reach the number" in shown
    assert "reports at once. The requester sees that with the next workers" in withdrawn
    assert "1 day after the campaign closes" in kept


def test_workers_are_told_where_nobody_waits():
    shown, withdrawn, kept = promises(retention_days=3_000).sentences
    assert "sees your reports as soon as you send them" in shown
    assert withdrawn.endswith("at once. The requester can see that.")
    assert "3,000 days after" in kept


def test_no_word_of_whoever_asks_is_in_a_sentence_to_agree_to():
    told = " ".join(promises(requester="Mallory", contact="m@x", purpose="Nothing bad").sentences)
    assert not any(word in told for word in ("Mallory", "m@x", "Nothing bad"))


@pytest.mark.parametrize(
    ("join_mode", "named", "most"),
    [("open", None, 10_000), ("open", 3, 3), ("invite", None, None), ("invite", 3, 3)],
)
def test_what_is_open_to_all_has_a_limit_in_any_case(join_mode, named, most):
    assert most_participants(join_mode, named) == most


LABEL = MECHANISMS["one-layer"]
SOME = {name: one for name, one in MECHANISMS.items() if not one.every_task}


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("answers", [1, 4])
def test_up_to_all_tasks_can_be_handed_out(name, answers):
    made = Allotment.of("random", mechanism=SOME[name], answers=answers, tasks=4)
    assert made == Allotment(kind="random", answers=answers, tasks=4)
    assert f"asked {answers} of the 4 questions" in made.sentence


def test_a_worker_is_told_where_tasks_follow_from_what_others_reported():
    said = {
        kind: Allotment.of(kind, mechanism=LABEL, answers=2, tasks=4).sentence
        for kind in ALLOTMENTS
    }
    assert said["random"] != said["suggested"]
    for words in (
        "by the reports of others that the requester can see by then",
        "Your answers do not decide which questions you get",
        "cannot check the draw",
        "which truths the reports of others had left open",
    ):
        assert words in said["suggested"]


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name not in SOME])
@pytest.mark.parametrize("kind", ALLOTMENTS)
def test_nobody_is_given_some_where_every_worker_reports_all(name, kind):
    with pytest.raises(ParameterError, match="reports every task"):
        Allotment.of(kind, mechanism=MECHANISMS[name], answers=1, tasks=4)


@pytest.mark.parametrize("answers", [None, 0, -1, 5])
def test_as_many_as_there_are_not_are_refused(answers):
    with pytest.raises(ParameterError, match="must be 1 to 4 of"):
        Allotment.of("random", mechanism=LABEL, answers=answers, tasks=4)


def test_no_more_than_fit_into_one_upload():
    tasks = MAX_REPORTS + 1
    assert Allotment.of("random", mechanism=LABEL, answers=MAX_REPORTS, tasks=tasks)
    with pytest.raises(ParameterError, match="must be 1 to 5,000 of"):
        Allotment.of("random", mechanism=LABEL, answers=tasks, tasks=tasks)


@pytest.mark.parametrize("kind", ["", "Random", 1, ["random"]])
def test_other_ways_to_hand_out_are_refused(kind):
    assert ALLOTMENTS == ("random", "suggested")
    with pytest.raises(ParameterError, match="must be one of random"):
        Allotment.of(kind, mechanism=LABEL, answers=1, tasks=4)


def test_without_any_worker_may_answer_any():
    assert Allotment.of(None, mechanism=LABEL, answers=9, tasks=4) is None

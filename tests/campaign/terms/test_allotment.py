import pytest
from tests.campaign.mechanisms import MECHANISMS

from quietcrowd.campaign.terms.allotment import ALLOTMENTS, Allotment
from quietcrowd.campaign.terms.settings import MAX_REPORTS
from quietcrowd.exceptions import ParameterError

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
        "by what others reported and whoever asks is shown by then",
        "Your own answers do not decide what you are asked",
        "cannot check how it draws",
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

import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.inference import NoiseAware, WeightedMean, usual_method_of

CROWD = qc.synthetic_crowd(tasks=60, workers=15, answers_per_task=6, seed=1)
FRAME = CROWD.answers.to_frame()


@pytest.mark.filterwarnings("ignore::quietcrowd.SimulatedNoiseWarning")
def test_reports_and_plain_labels_are_read_by_what_knows_the_noise():
    mechanism = qc.RandomizedResponse(domain=CROWD.answers.domain, epsilon=3.0)
    for data in (mechanism.randomize(CROWD.answers), CROWD.answers, FRAME):
        estimate = qc.fit(data)
        assert estimate.method == NoiseAware()
        assert estimate.truths.equals(NoiseAware().fit(data).truths)


def test_floats_of_a_frame_are_numbers():
    numbers = FRAME.assign(label=FRAME["task"] * 1.5)
    assert isinstance(qc.fit(numbers).method, WeightedMean)
    assert usual_method_of(numbers.rename(columns={"worker": "performer"})) == "weighted-mean"


def test_known_truths_stay():
    known = dict.fromkeys(FRAME["task"].unique()[:3], "no")
    truths = qc.fit(FRAME, gold=known).truths.set_index("task")["truth"]
    assert truths.loc[list(known)].tolist() == ["no"] * 3


@pytest.mark.parametrize(
    ("answers", "labels", "told"), [(3, "ab", True), (6, "ab", False), (3, "abc", False)]
)
def test_a_note_names_a_vote_where_a_crowd_is_too_small_to_be_learnt(answers, labels, told):
    crowd = qc.synthetic_crowd(
        tasks=40, workers=15, answers_per_task=answers, labels=[*labels], seed=1
    )
    notes = " ".join(qc.fit(crowd.answers).notes)
    assert ("--method majority" in notes) == told


@pytest.mark.filterwarnings("ignore::quietcrowd.SimulatedNoiseWarning")
def test_no_vote_is_named_for_reports():
    crowd = qc.synthetic_crowd(tasks=40, workers=15, answers_per_task=3, seed=1)
    mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=3.0)
    assert "majority" not in " ".join(qc.fit(mechanism.randomize(crowd.answers)).notes)


def test_no_answer_is_an_error():
    with pytest.raises(qc.AnswerError, match="no answer"):
        qc.fit(pd.DataFrame({"task": [], "worker": [], "label": []}))

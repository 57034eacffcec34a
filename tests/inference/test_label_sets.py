import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError

LABELS = ["cat", "dog", "tree"]
FRAME = pd.DataFrame(
    {
        "task": ["p: 1", "p: 1", "p: 2", "p: 2"],
        "worker": [*"abab"],
        "label": [["cat", "dog"], ["cat"], [], []],
    }
)


def test_sets_come_back():
    found = qc.MajorityVote().fit(qc.Answers.from_label_sets(FRAME, LABELS)).label_sets()
    assert found["task"].tolist() == ["p: 1", "p: 2"]
    assert found["labels"].map(list).tolist() == [["cat", "dog"], []]
    assert found[["p(cat)", "p(dog)", "p(tree)"]].to_numpy().tolist() == [[1, 0.5, 0], [0, 0, 0]]


def test_a_threshold_may_be_higher_or_lower():
    estimate = qc.MajorityVote().fit(qc.Answers.from_label_sets(FRAME, LABELS))
    assert list(estimate.label_sets(threshold=0.51)["labels"][0]) == ["cat"]
    assert list(estimate.label_sets(threshold=0.5)["labels"][0]) == ["cat", "dog"]
    for wrong in (0, 1, "half"):
        with pytest.raises(ParameterError, match="threshold"):
            estimate.label_sets(threshold=wrong)


def test_sets_are_the_same_from_a_frame_of_bits():
    bits = qc.Answers.from_label_sets(FRAME, LABELS).to_frame()
    answers = qc.Answers.from_frame(bits, qc.Categorical(["yes", "no"]))
    found = qc.MajorityVote().fit(answers).label_sets(backend="pyarrow")
    assert found["labels"].to_pylist() == [["cat", "dog"], []]


def test_what_nobody_answered_is_not_known():
    answers = qc.Answers.from_label_sets(FRAME, LABELS, tasks=["p: 3", "p: 1", "p: 2"])
    found = qc.MajorityVote().fit(answers).label_sets(backend="pyarrow").to_pylist()
    assert found[0] == {
        "task": "p: 3",
        "labels": None,
        "p(cat)": None,
        "p(dog)": None,
        "p(tree)": None,
    }
    known = qc.MajorityVote().fit(answers, gold={"p: 3: dog": "yes"})
    found = known.label_sets(backend="pyarrow").to_pylist()[0]
    assert (found["labels"], found["p(dog)"], found["p(cat)"]) == (["dog"], 1, None)


def test_other_estimates_have_no_sets():
    other = pd.DataFrame({"task": [1, 1], "worker": ["a", "b"], "label": ["no", "yes"]})
    with pytest.raises(ParameterError, match="task '1' does not name a task and a label"):
        qc.MajorityVote().fit(other).label_sets()
    with pytest.raises(ParameterError, match="needs an estimate of labels from 'no', 'yes'"):
        qc.MajorityVote().fit(other.assign(label=["cat", "dog"])).label_sets()
    with pytest.raises(ParameterError, match="needs an estimate of labels from 'no', 'yes'"):
        qc.Mean().fit(other.assign(label=[1.0, 2.0])).label_sets()


@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.NoiseIgnoredWarning")
@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")
def test_sets_are_found_under_noise():
    """The seeds are fixed, so it passes or fails always.

    A report is right with probability r = .9 p + .1 (1 - p), p = e / (1 + e): .685. Of 101 votes
    more than half are wrong with probability exp(-202 (r - 1/2)^2) < .0011 (Hoeffding). That at
    least 6 of 60 questions come out wrong has probability below C(60, 6) .0011^6 < 10^-10.
    """
    rng = np.random.default_rng(5)
    truth = rng.random((20, len(LABELS))) < 0.4
    given = truth ^ (rng.random((101, *truth.shape)) < 0.1)
    rows = [
        (task, worker, [one for one, held in zip(LABELS, own, strict=True) if held])
        for worker, sets in enumerate(given)
        for task, own in enumerate(sets)
    ]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    answers = qc.Answers.from_label_sets(frame, LABELS)
    mechanism = qc.RandomizedResponse(domain=answers.domain, epsilon=3.0 / len(LABELS))
    reports = mechanism.simulate(answers, random_state=rng)
    found = qc.MajorityVote().fit(reports).label_sets(backend="pyarrow")
    tasks = [int(task) for task in found["task"].to_pylist()]
    assert sorted(tasks) == list(range(20))
    held = [[one in own for one in LABELS] for own in found["labels"].to_pylist()]
    assert (np.array(held) != truth[tasks]).sum() < 6

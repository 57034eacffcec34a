from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import (
    AnswerError,
    ChangedValuesWarning,
    DroppedRowsWarning,
    ParameterError,
    QuietcrowdWarning,
)
from quietcrowd.several_labels import YES_OR_NO

LABELS = ["cat", "dog", "tree"]
SETS = [["cat"], ["tree", "dog"], []]
FRAME = pd.DataFrame({"task": [8, 7, 8], "worker": ["a", "a", "b"], "label": SETS})
AS_BITS = {
    ("8: cat", "a"): "yes",
    ("8: dog", "a"): "no",
    ("8: tree", "a"): "no",
    ("8: cat", "b"): "no",
    ("8: dog", "b"): "no",
    ("8: tree", "b"): "no",
    ("7: cat", "a"): "no",
    ("7: dog", "a"): "yes",
    ("7: tree", "a"): "yes",
}


def bits_of(answers):
    frame = answers.to_frame()
    return dict(zip(zip(frame["task"], frame["worker"], strict=True), frame["label"], strict=True))


def with_sets(sets):
    return FRAME.assign(label=pd.Series(sets, dtype=object))


FORMS = {
    "lists": FRAME,
    "tuples": with_sets([tuple(one) for one in SETS]),
    "sets": with_sets([set(one) for one in SETS]),
    "arrays": with_sets([np.array(one, dtype=object) for one in SETS]),
    "polars": pl.from_pandas(FRAME),
    "lazy": pl.from_pandas(FRAME).lazy(),
    "arrow": pl.from_pandas(FRAME).to_arrow(),
    "other names": FRAME.rename(columns={"task": "taskId", "worker": "performer"}),
}


@pytest.mark.parametrize("frame", FORMS.values(), ids=FORMS)
def test_each_task_and_label_is_a_question(frame):
    answers = qc.Answers.from_label_sets(frame, LABELS)
    assert bits_of(answers) == AS_BITS
    assert answers.tasks.to_pylist()[:3] == ["8: cat", "8: dog", "8: tree"]


EMPTY = "column 'label': empty cells: 1. Each is read as a set without labels"
LOST = "column 'label': missing sets: 1. Their rows are dropped"


def test_labels_may_stand_in_a_text():
    texts = FRAME.assign(label=["cat", " tree ;dog", " "])
    with pytest.warns(QuietcrowdWarning, match=EMPTY):
        answers = qc.Answers.from_label_sets(texts, LABELS, separator=";")
    assert bits_of(answers) == AS_BITS
    with pytest.raises(AnswerError, match=r"row 0, column 'label': 'cat' is a string.*separator"):
        qc.Answers.from_label_sets(texts, LABELS)
    with pytest.raises(AnswerError, match=r"row 1, .*: '' is not one of the labels"):
        qc.Answers.from_label_sets(
            FRAME.assign(label=["cat", "cat;;dog", "cat"]), LABELS, separator=";"
        )
    with pytest.raises(ParameterError, match="strings, but column 'label' contains lists"):
        qc.Answers.from_label_sets(FRAME, LABELS, separator=";")


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (["cat", "bird"], "row 1, column 'label': 'bird' is not one of the labels 'cat', 'dog'"),
        (["dog", None], "row 1, column 'label': None is not one of the labels"),
        (["dog", "cat", "dog"], "row 1, column 'label': 'dog' occurs 2 times"),
    ],
)
def test_what_is_wrong_with_a_set_names_its_row(second, message):
    with pytest.raises(AnswerError, match=message):
        qc.Answers.from_label_sets(with_sets([["cat"], second, []]), LABELS)


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        ([["cat"], None, ["tree", "dog"]], None),
        (["cat", None, "tree;dog"], ";"),
        (["cat", " NA ", "tree;dog"], ";"),
    ],
)
@pytest.mark.parametrize("form", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
def test_a_worker_without_a_set_did_not_answer(form, cells, separator):
    frame = form(with_sets(cells))
    with pytest.warns(QuietcrowdWarning) as caught:
        answers = qc.Answers.from_label_sets(frame, LABELS, separator=separator)
    marks = ["column 'label': 'NA' marks a missing value"] * (" NA " in cells)
    shown = [str(one.message) for one in caught]
    assert [text.partition(". ")[0] for text in shown] == [*marks, LOST.partition(". ")[0]]
    assert answers.dropped.out_of_domain == 1
    assert bits_of(answers) == {
        **{(f"8: {one}", "a"): "yes" if one == "cat" else "no" for one in LABELS},
        **{(f"8: {one}", "b"): "no" if one == "cat" else "yes" for one in LABELS},
    }


def test_marks_are_chosen_and_labels_are_no_marks():
    frame = with_sets(["NA", "cat", "-"])
    answers = qc.Answers.from_label_sets(frame, ["NA", "cat", "-"], separator=";")
    assert [one for one, answer in bits_of(answers).items() if answer == "yes"] == [
        *(("8: NA", "a"), ("8: -", "b"), ("7: cat", "a"))
    ]
    with pytest.warns(DroppedRowsWarning, match=LOST), pytest.warns(ChangedValuesWarning):
        answers = qc.Answers.from_label_sets(frame, ["NA", "cat"], separator=";", missing=["-"])
    assert len(answers) == 4
    with pytest.raises(AnswerError, match="all sets are miss"):
        qc.Answers.from_label_sets(with_sets(["-"] * 3), LABELS, separator=";", missing=["-"])


def test_labels_in_sets_are_cleaned():
    frame = with_sets([["cafe\u0301", "cat"], ["cat "], ["c\u200bat"]])
    with pytest.warns(ChangedValuesWarning, match=r"Changed rows: 3, beginning with row 0\."):
        answers = qc.Answers.from_label_sets(frame, ["cafe\u0301", "cat"])
    assert [one for one, answer in bits_of(answers).items() if answer == "yes"] == [
        *(("8: caf\xe9", "a"), ("8: cat", "a"), ("8: cat", "b"), ("7: cat", "a"))
    ]
    texts = with_sets(["cafe\u0301; cat", "cat", '["c\u200bat"]'])
    with pytest.warns(ChangedValuesWarning, match=r"Changed rows: 2, beginning with row 0\."):
        again = qc.Answers.from_label_sets(texts, ["caf\xe9", "cat"], separator=";")
    assert bits_of(again) == bits_of(answers)


def test_numbers_are_no_sets():
    with pytest.raises(AnswerError, match="row 0, column 'label': 1 is neither a list of labels"):
        qc.Answers.from_label_sets(FRAME.assign(label=1), LABELS)
    with pytest.raises(
        AnswerError, match=r"column 'label': lists of list<.*> cannot contain labels"
    ):
        qc.Answers.from_label_sets(with_sets([[["cat"]], [], []]), LABELS)


def test_a_worker_has_one_set_per_task():
    twice = FRAME.assign(task=8)
    with pytest.raises(AnswerError, match=r"row 1, .*: worker 'a' answered task 8 in row 0"):
        qc.Answers.from_label_sets(twice, LABELS)
    last = qc.Answers.from_label_sets(twice, LABELS, duplicates="last")
    assert last.dropped.duplicates == 1
    assert [bits_of(last)[f"8: {one}", "a"] for one in LABELS] == ["no", "yes", "yes"]


def test_tasks_and_workers_may_have_no_answer():
    nobody = FRAME[:0].assign(label=pd.Series([], dtype=object))
    answers = qc.Answers.from_label_sets(nobody, ["cat"], tasks=[3, 4], workers=["a"])
    assert (len(answers), answers.tasks.to_pylist()) == (0, ["3: cat", "4: cat"])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("cat", "a list of labels"),
        ([], "at least one"),
        (["cat", 3], "must be non-empty strings"),
        (["cat "], "without spaces"),
        ([""], "non-empty strings"),
        (["genre: jazz"], "must not contain ': '"),
        (["a, b", "a,b"], "'a,b' and 'a, b' differ only by spaces around ','"),
        (["cat", "cat"], "'cat' is repeated"),
    ],
)
def test_labels_can_be_told_apart(labels, message):
    with pytest.raises(ParameterError, match=message):
        qc.Answers.from_label_sets(FRAME, labels, separator=",")


@pytest.mark.parametrize("separator", ["", 3])
def test_a_separator_is_a_text(separator):
    with pytest.raises(ParameterError, match="separator must be a non-empty string"):
        qc.Answers.from_label_sets(FRAME, LABELS, separator=separator)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_stated_loss_of_a_set_is_that_of_all_sets_of_reports(count):
    epsilon = 2.0
    mechanism = qc.RandomizedResponse(domain=YES_OR_NO, epsilon=epsilon / count)
    one = np.asarray(mechanism.channel.probabilities)
    sets = list(product(range(2), repeat=count))
    distribution = np.array(
        [[one[list(held), list(told)].prod() for told in sets] for held in sets]
    )
    loss = np.log(distribution[:, np.newaxis] / distribution).max()
    assert mechanism.guarantee(answers=count).total_epsilon == pytest.approx(loss, abs=1e-12)
    whole = mechanism.guarantee(answers=10 * count, linked=count)
    assert whole.linked_epsilon == pytest.approx(loss, abs=1e-12)
    assert loss == pytest.approx(epsilon, abs=1e-7)
    assert whole.linked_epsilon <= epsilon


def test_a_ledger_adds_up_the_labels_of_a_task():
    mechanism = qc.RandomizedResponse(domain=YES_OR_NO, epsilon=2.0 / len(LABELS))
    reports = mechanism.randomize(qc.Answers.from_label_sets(FRAME, LABELS))
    ledger = qc.PrivacyLedger.of_reports(reports)
    assert ledger.spent("b").total_epsilon == pytest.approx(2.0, abs=1e-7)  # one task
    assert ledger.spent("a").total_epsilon == pytest.approx(4.0, abs=1e-7)  # two


TOGETHER = pd.DataFrame(
    {
        "task": ["p: 1", "p: 1", "p: 2", "p: 2"],
        "worker": [*"abab"],
        "label": [["cat", "dog"], ["cat"], [], []],
    }
)


def test_sets_come_back():
    found = qc.MajorityVote().fit(qc.Answers.from_label_sets(TOGETHER, LABELS)).label_sets()
    assert found["task"].tolist() == ["p: 1", "p: 2"]
    assert found["labels"].map(list).tolist() == [["cat", "dog"], []]
    assert found[["p(cat)", "p(dog)", "p(tree)"]].to_numpy().tolist() == [[1, 0.5, 0], [0, 0, 0]]


def test_a_threshold_may_be_higher_or_lower():
    estimate = qc.MajorityVote().fit(qc.Answers.from_label_sets(TOGETHER, LABELS))
    assert list(estimate.label_sets(threshold=0.51)["labels"][0]) == ["cat"]
    assert list(estimate.label_sets(threshold=0.5)["labels"][0]) == ["cat", "dog"]
    for wrong in (0, 1, "half"):
        with pytest.raises(ParameterError, match="threshold"):
            estimate.label_sets(threshold=wrong)


def test_sets_are_the_same_from_a_frame_of_bits():
    bits = qc.Answers.from_label_sets(TOGETHER, LABELS).to_frame()
    answers = qc.Answers.from_frame(bits, qc.Categorical(["yes", "no"]))
    found = qc.MajorityVote().fit(answers).label_sets(backend="pyarrow")
    assert found["labels"].to_pylist() == [["cat", "dog"], []]


def test_what_nobody_answered_is_not_known():
    answers = qc.Answers.from_label_sets(TOGETHER, LABELS, tasks=["p: 3", "p: 1", "p: 2"])
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
        qc.MajorityVote().fit(other, non_private=True).label_sets()
    with pytest.raises(ParameterError, match="needs an estimate of labels from 'no', 'yes'"):
        qc.MajorityVote().fit(other.assign(label=["cat", "dog"]), non_private=True).label_sets()
    with pytest.raises(ParameterError, match="needs an estimate of labels from 'no', 'yes'"):
        qc.Mean().fit(other.assign(label=[1.0, 2.0]), non_private=True).label_sets()


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

import numpy as np
import pandas as pd
import pytest
from attrs import evolve

import quietcrowd as qc
from quietcrowd.exceptions import AnswerError, DroppedRowsWarning, ParameterError
from quietcrowd.mechanisms import MatrixFactorization, Mechanism, Mixture, NonPrivate
from quietcrowd.report_domains import OneOf

DOMAIN = qc.Categorical(["ant", "bee", "cat"])
ROWS = [
    (task, worker, DOMAIN.labels[(task + ord(worker)) % 3]) for task in (7, 8) for worker in "abcd"
]
FRAME = pd.DataFrame(ROWS, columns=["task", "worker", "label"])
LOW, HIGH = (qc.RandomizedResponse(domain=DOMAIN, epsilon=epsilon) for epsilon in (0.5, 4.0))
SETS = qc.SubsetSelection(domain=DOMAIN, epsilon=1.0, set_size=2)


def sent(mechanism, workers, frame=FRAME):
    rows = frame[frame["worker"].isin([*workers])]
    return mechanism.randomize(qc.Answers.from_frame(rows, mechanism.domain))


def same(one, other):
    names = ("domain", "tasks", "workers", "offsets", "worker_codes", "values")
    return one.mechanism == other.mechanism and all(
        np.array_equal(getattr(one.table, name), getattr(other.table, name))
        if isinstance(getattr(one.table, name), np.ndarray)
        else getattr(one.table, name) == getattr(other.table, name)
        for name in names
    )


def test_joined_reports_do_not_depend_on_the_order():
    parts = [sent(LOW, "ab"), sent(HIGH, "c"), sent(SETS, "d")]
    joined = qc.join_reports(*parts)
    assert same(joined, qc.join_reports(*reversed(parts)))
    assert same(joined, qc.join_reports(qc.join_reports(*parts[:2]), parts[2]))
    assert set(joined.mechanisms) == {LOW, HIGH, SETS}
    assert Mechanism.from_dict(joined.mechanism.to_dict()) == joined.mechanism
    assert len(joined) == 8


def test_split_undoes_the_join():
    parts = {one.mechanism: one for one in (sent(LOW, "ab"), sent(HIGH, "c"), sent(SETS, "d"))}
    joined = qc.join_reports(*parts.values())
    assert np.bincount(joined.part_codes).sum() == len(joined)
    for one in joined.split():
        assert same(one, parts[one.mechanism])
    assert sent(LOW, "ab").split()[0].mechanisms == (LOW,)


def test_reports_of_one_mechanism_keep_it():
    first, second = sent(LOW, "ab"), sent(LOW, "cd")
    joined = qc.join_reports(second, first)
    assert joined.mechanism == LOW
    assert joined.table.domain == DOMAIN
    assert joined.table.workers.to_pylist() == [*"abcd"]
    assert qc.join_reports(first) is first


def test_numbers_of_all_kinds_come_back():
    domain = qc.Interval(low=-1, high=3)
    frame = FRAME.assign(label=np.linspace(-1, 3, len(FRAME)))
    laplace, piecewise = (
        qc.LaplaceMechanism(domain=domain, epsilon=0.5, fill=None),
        (qc.PiecewiseMechanism(domain=domain, epsilon=4)),
    )
    answers = qc.Answers.from_frame(frame[frame["worker"] == "d"], domain)
    parts = [sent(laplace, "ab", frame), sent(piecewise, "c", frame), answers]
    joined = qc.join_reports(*parts)
    found = {one.mechanism: one.table for one in joined.split()}
    for one in parts[:2]:
        assert np.array_equal(found[one.mechanism].values, one.table.values)
    plain = found[NonPrivate(domain=domain)]
    assert np.allclose(plain.domain.numbers(plain.values), answers.values, atol=4 / 1024)
    assert joined.mechanism.guarantee().epsilon == np.inf


def test_levels_are_labels_or_numbers_like_the_reports():
    domain = qc.Ordinal([0, 1, 5])
    frame = FRAME.assign(label=5)
    answers = qc.Answers.from_frame(frame[frame["worker"] == "d"], domain)
    for mechanism, numbers in [
        (qc.RandomizedResponse(domain=domain, epsilon=1.0), False),
        (qc.LaplaceMechanism(domain=domain, epsilon=1.0, fill=None), True),
    ]:
        joined = qc.join_reports(sent(mechanism, "ab", frame), answers)
        plain = NonPrivate(domain=domain, as_numbers=numbers)
        assert plain in joined.mechanisms
        table = joined.split()[joined.mechanisms.index(plain)].table
        assert set(table.domain.decode(table.values).to_pylist()) == {5}


def test_a_worker_reports_a_task_once():
    with pytest.raises(AnswerError, match=r"worker 'b' has several reports on task 7 \(2 such"):
        qc.join_reports(sent(LOW, "ab"), sent(HIGH, "bc"))
    other = FRAME.assign(task=FRAME["task"] + 2)
    mixing = qc.join_reports(sent(LOW, "ab"), sent(HIGH, "bc", other))
    assert mixing.table.answers_per_worker.tolist() == [2, 4, 2]


def test_ids_match_if_they_print_alike():
    texts = FRAME.assign(task=FRAME["task"].astype(str))
    joined = qc.join_reports(sent(LOW, "ab"), sent(HIGH, "cd", texts))
    assert joined.table.tasks.to_pylist() == ["7", "8"]


def test_reports_sent_again_count_once():
    again = np.array([True, False, False, True])
    marked = evolve(sent(LOW, "ab"), again=again, campaign="one")
    within = qc.join_reports(marked, evolve(sent(HIGH, "cd"), campaign="one"))
    assert within.campaign == "one"
    assert within.again.tolist() == [True, False, False, False, False, True, False, False]
    for campaign in ("two", None):
        with pytest.warns(DroppedRowsWarning, match="2 of 8 reports were sent again"):
            across = qc.join_reports(marked, evolve(sent(HIGH, "cd"), campaign=campaign))
        assert len(across) == 6
        assert across.again is None


@pytest.mark.parametrize(
    ("mechanism", "reason"),
    [
        (
            qc.RandomizedResponse(domain=DOMAIN, epsilon=1.0, missing="category"),
            "without an answer",
        ),
        (qc.LaplaceMechanism(domain=qc.Ordinal([0, 1]), epsilon=1.0), "without an answer"),
        (MatrixFactorization(domain=qc.Ordinal([0, 1]), epsilon=1.0), "without an answer"),
    ],
)
def test_what_cannot_be_joined(mechanism, reason):
    frame = FRAME.assign(label=mechanism.domain.labels[0])
    with pytest.raises(ParameterError, match=f"cannot be joined with others: .*{reason}"):
        qc.join_reports(sent(mechanism, "ab", frame), sent(mechanism, "c", frame))


def test_invalid_joins():
    with pytest.raises(ParameterError, match="at least one"):
        qc.join_reports()
    with pytest.raises(ParameterError, match="must be Reports"):
        qc.join_reports(FRAME)
    other = qc.RandomizedResponse(domain=qc.Categorical(["ant", "bee"]), epsilon=1.0)
    with pytest.raises(AnswerError, match="domain"):
        qc.join_reports(sent(LOW, "a"), sent(other, "b", FRAME.assign(label="ant")))
    with pytest.raises(ParameterError, match="only describes reports"):
        qc.join_reports(sent(LOW, "a"), sent(HIGH, "b")).mechanism.randomize(FRAME)


def test_a_mixture_has_the_largest_loss():
    mixture = Mixture.of([LOW, HIGH])
    assert mixture.guarantee(answers=3).total_epsilon == HIGH.guarantee(answers=3).total_epsilon
    assert mixture.channel_identity == Mixture.of([HIGH, LOW, LOW]).channel_identity
    assert "mixture" not in Mechanism.registry()
    assert isinstance(mixture.report_domain, OneOf)

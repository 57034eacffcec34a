import numpy as np
import pandas as pd
import pytest
from attrs import evolve

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import suggesting
from quietcrowd.inference.suggesting import block_values

pytestmark = pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.QuietcrowdWarning")


def reports_of(crowd, mechanism):
    return mechanism.simulate(crowd.answers, random_state=1)


@pytest.fixture(scope="module")
def labels():
    """Return an estimate of labels from noisy reports."""
    crowd = qc.make_crowd(tasks=60, workers=20, answers_per_task=6, random_state=1)
    mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=2.0)
    return qc.NoiseAware().fit(reports_of(crowd, mechanism))


@pytest.fixture(scope="module")
def numbers():
    """Return an estimate of numbers, of which some tasks have few reports."""
    crowd = qc.make_crowd(
        kind="sparse", tasks=40, workers=60, sparsity=0.6, truths="uniform", random_state=1
    )
    frame = crowd.answers.to_frame()
    few = frame["task"].isin(frame["task"].unique()[:8]) & (frame["worker"] > 15)
    answers = qc.Answers.from_frame(frame[~few], domain=crowd.answers.domain)
    mechanism = qc.LaplaceMechanism(domain=answers.domain, epsilon=4.0, fill=None)
    return qc.NoiseAware().fit(mechanism.simulate(answers, random_state=1))


def test_the_least_sure_labels_come_first(labels):
    asked = labels.suggest_tasks(20)
    truths = labels.truths.set_index("task")["confidence"]
    assert asked["answers"].sum() == 20
    assert asked["answers"].between(1, 1).all()  # three times a third of a report
    assert asked["error"].to_numpy() == pytest.approx(1 - truths.loc[asked["task"]].to_numpy())
    left = truths.drop(asked["task"])
    assert 1 - left.max() < asked["error"].mean()
    assert asked["error"].mean() > (1 - left).mean()


def test_numbers_of_few_reports_come_first(numbers):
    asked = numbers.suggest_tasks(8, per_task=1)
    errors = numbers.truths.set_index("task")["standard_error"]
    worst = set(errors.nlargest(8).index)
    assert set(asked["task"]) == worst
    said = np.sqrt(2 / np.pi) * errors.loc[asked["task"]].to_numpy()
    assert asked["error"].to_numpy() == pytest.approx(said, rel=1e-6)


def test_equally_known_numbers_are_asked_evenly():
    from quietcrowd.inference.further_report import FurtherNumber

    errors = FurtherNumber(precision=0.1).errors(np.full(10, 2.0), suggesting._SIZES)
    counts = suggesting._allotted(errors, np.full(10, 1), 10)
    assert counts.tolist() == [1] * 10


def test_all_answers_go_where_they_are_worth_most():
    """Against every allotment of a few reports, of concave curves."""
    from itertools import product

    from quietcrowd.inference.further_report import FurtherNumber

    spreads = np.array([3.0, 1.0, 2.0])
    distribution = FurtherNumber(precision=0.5)
    errors = distribution.errors(spreads, suggesting._SIZES)
    counts = suggesting._allotted(errors, np.full(3, 64), 6)
    exact = distribution.errors(spreads, np.arange(7))
    sums = {
        one: sum(exact[task, number] for task, number in enumerate(one))
        for one in product(range(7), repeat=3)
        if sum(one) == 6
    }
    assert sums[tuple(counts.tolist())] <= min(sums.values()) * 1.02


def test_blocks_are_looked_at_where_one_report_changes_nothing():
    errors = np.array([[0.3, 0.3, 0.3, 0.3, 0.26, 0.2, 0.1, 0.02], [0.1, 0.099] + [0.099] * 6])
    assert block_values(errors) == pytest.approx([0.2 / 32, 0.001])
    counts = suggesting._allotted(errors, np.array([64, 64]), 10)
    assert counts.tolist() == [10, 0]


def test_known_truths_are_not_asked(labels):
    names = labels.truths["task"].head(30)
    gold = pd.DataFrame({"task": names, "label": labels.truths["truth"].head(30)})
    crowd = qc.make_crowd(tasks=60, workers=20, answers_per_task=6, random_state=1)
    mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=2.0)
    estimate = qc.NoiseAware().fit(reports_of(crowd, mechanism), gold=gold)
    asked = estimate.suggest_tasks(1000, per_task=2)
    assert set(asked["task"]).isdisjoint(names)
    assert asked["answers"].tolist() == [2] * 30


def test_a_worker_is_asked_once_and_nothing_twice(labels):
    frame = labels.answers.to_frame()
    worker = frame["worker"].iloc[0]
    done = set(frame.loc[frame["worker"] == worker, "task"])
    asked = labels.suggest_tasks(1000, worker=worker)
    assert set(asked["task"]) == set(labels.truths["task"]) - done
    assert (asked["answers"] == 1).all()
    with pytest.raises(ParameterError, match="has no report in the estimate"):
        labels.suggest_tasks(worker="nobody")


def test_a_better_worker_is_worth_more(labels):
    quality = labels.workers.dropna(subset="accuracy").sort_values("accuracy")
    values = [
        labels.suggest_tasks(1, worker=who)["value"].iloc[0]
        for who in quality["worker"].iloc[[0, -1]]
    ]
    assert values[0] < values[1]


def test_it_is_computed_from_the_estimate_alone(labels):
    one, two = (labels.suggest_tasks(30) for _ in range(2))
    assert one.equals(two)
    assert labels.suggest_tasks(30, backend="pyarrow").to_pandas()["task"].tolist() == (
        one["task"].tolist()
    )


def test_half_of_the_tasks_to_check_are_a_random_sample(labels):
    found = labels.suggest_gold(20)
    assert found["chosen"].tolist() == ["at random"] * 10 + ["uncertain"] * 10
    assert found["task"].is_unique
    confidence = labels.truths.set_index("task")["confidence"]
    np.testing.assert_allclose(found["error"], 1 - confidence.loc[found["task"]])
    sampled = found["task"][:10]
    rest = confidence.drop(sampled)
    assert set(found["task"][10:]) == set(rest.nsmallest(10).index)
    assert (1 - confidence.loc[sampled]).mean() < found["error"][10:].mean()
    gold = dict.fromkeys(found["task"], "no")
    told = qc.NoiseAware().fit(labels.answers, gold=gold)
    assert set(told.suggest_gold(200)["task"]) == set(confidence.index) - set(gold)
    other = evolve(labels.method, random_state=1).fit(labels.answers).suggest_gold(20)
    assert set(other["task"][:10]) != set(sampled)


def test_the_least_certain_numbers_are_checked(numbers):
    found = numbers.suggest_gold(5)
    errors = numbers.truths.set_index("task")["standard_error"]
    np.testing.assert_allclose(found["error"], errors.loc[found["task"]])
    rest = errors.drop(found["task"][:3])
    assert set(found["task"][3:]) == set(rest.nlargest(2).index)
    mean = qc.Mean().fit(numbers.answers)
    with pytest.raises(ParameterError, match=r"suggest_gold needs an estimate with a posterior"):
        mean.suggest_gold()


def test_methods_that_do_not_say_what_a_report_would_tell_are_refused():
    crowd = qc.make_crowd(tasks=10, workers=5, answers_per_task=3, random_state=1)
    with pytest.raises(ParameterError, match=r"^MajorityVote cannot predict .* use NoiseAware"):
        qc.MajorityVote().fit(crowd.answers).suggest_tasks()


@pytest.mark.slow
def test_reports_of_every_task_are_refused():
    crowd = qc.make_crowd(tasks=20, workers=15, answers_per_task=5, random_state=1)
    null = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=2.0, missing="category")
    with pytest.raises(ParameterError, match="there is no task to choose"):
        qc.NoiseAware().fit(reports_of(crowd, null)).suggest_tasks()
    rated = qc.make_crowd(
        kind="sparse", tasks=20, workers=15, sparsity=0.5, truths="uniform", random_state=1
    )
    filled = qc.LaplaceMechanism(domain=rated.answers.domain, epsilon=4.0)
    with pytest.raises(ParameterError, match="there is no task to choose"):
        qc.NoiseAware().fit(reports_of(rated, filled)).suggest_tasks()


@pytest.mark.slow
def test_of_sets_the_least_sure_labels_come_first():
    crowd = qc.make_crowd(
        tasks=60, workers=20, labels=list("abcde"), answers_per_task=6, random_state=1
    )
    sets = qc.SubsetSelection(domain=crowd.answers.domain, epsilon=2.0, set_size=2)
    estimate = qc.NoiseAware().fit(reports_of(crowd, sets))
    asked = estimate.suggest_tasks(20)
    truths = estimate.truths.set_index("task")["confidence"]
    assert asked["answers"].sum() == 20
    assert asked["error"].to_numpy() == pytest.approx(1 - truths.loc[asked["task"]].to_numpy())
    assert asked["error"].mean() > (1 - truths.drop(asked["task"])).mean()
    worker = estimate.answers.to_frame()["worker"].iloc[0]
    assert (estimate.suggest_tasks(10, worker=worker)["value"] > 0).any()


@pytest.mark.slow
def test_bounded_numbers_are_taken():
    rated = qc.make_crowd(
        kind="sparse", tasks=20, workers=15, sparsity=0.5, truths="uniform", random_state=1
    )
    bounded = qc.PiecewiseMechanism(domain=rated.answers.domain, epsilon=4.0)
    asked = qc.NoiseAware().fit(reports_of(rated, bounded)).suggest_tasks(10)
    assert asked["answers"].sum() == 10
    assert (asked["value"] > 0).all()


@pytest.mark.parametrize(
    "more", [{"answers": 0}, {"per_task": 0}, {"answers": 1.5}], ids=["none", "no-task", "half"]
)
def test_numbers_out_of_range_are_refused(labels, more):
    with pytest.raises(ParameterError, match="must be a whole number"):
        labels.suggest_tasks(**more)


def test_an_estimate_without_a_posterior_suggests_nothing(labels):
    with pytest.raises(ParameterError, match="needs an estimate with a posterior"):
        evolve(labels, partition=None).suggest_tasks(3)

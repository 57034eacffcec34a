import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.inference import CRH, ignores_noise
from quietcrowd.inference.labels.accuracies import Accuracies, OwnVotes
from quietcrowd.inference.partition import Partition, Summary
from quietcrowd.mechanisms.channels.table import TableChannel

pytestmark = pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.QuietcrowdWarning")

METHODS = {
    "majority": qc.MajorityVote(),
    "weighted-vote": qc.WeightedVote(),
    "dawid-skene": qc.DawidSkene(),
    "dawid-skene-coin": qc.DawidSkene(one_coin=True),
    "glad": qc.GLAD(),
    "crh": CRH(loss="zero-one"),
}
COLUMNS = ["accuracy", "accuracy_low", "accuracy_high"]


def crowd(labels=2, tasks=200, workers=100, each=50, right=(0.55, 0.95), seed=0):
    """Return answers, truths and the workers' accuracies; every worker answers as often."""
    rng = np.random.default_rng(seed)
    accuracy = rng.uniform(*right, workers)
    truth = rng.integers(0, labels, tasks)
    rounds = [rng.permutation(workers) for _ in range(tasks * each // workers)]
    worker, task = np.concatenate(rounds), np.repeat(np.arange(tasks), each)
    wrong = (truth[task] + rng.integers(1, labels, len(task))) % labels
    label = np.where(rng.random(len(task)) < accuracy[worker], truth[task], wrong)
    frame = pd.DataFrame({"task": task, "worker": worker, "label": label})
    frame = frame.drop_duplicates(["task", "worker"])
    answers = qc.Answers.from_frame(frame, qc.Categorical(range(labels)))
    return answers, pd.DataFrame({"task": np.arange(tasks), "label": truth}), accuracy


def noisy(answers, epsilon, seed=1, **options):
    mechanism = qc.RandomizedResponse(domain=answers.domain, epsilon=epsilon, **options)
    return mechanism.simulate(answers, random_state=seed)


def judged(method, data, **options):
    """Return the columns of the workers, in the order of their ids."""
    workers = method.fit(data, **options, non_private=True).workers_as("pandas")
    return workers.set_index("worker").sort_index()[COLUMNS]


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    ("labels", "epsilon", "most"), [nightly(2, 1.0, 0.075), nightly(5, 1.0, 0.095), (2, 3.0, 0.042)]
)
def test_quality_is_the_accuracy_of_answers(name, labels, epsilon, most):
    """All is drawn from fixed seeds: a failure is no accident.

    Who knew the truths and the distribution of the accuracies would err by .061, .080 and .035.
    """
    errors, covered, widths = [], [], []
    for seed in range(4):
        answers, _, accuracy = crowd(labels=labels, seed=seed)
        with ignores_noise():
            found = judged(METHODS[name], noisy(answers, epsilon, seed=seed))
        errors.append(abs(found["accuracy"] - accuracy).mean())
        covered.append(found["accuracy_low"].le(accuracy) & found["accuracy_high"].ge(accuracy))
        widths.append((found["accuracy_high"] - found["accuracy_low"]).median())
    assert np.mean(errors) < most
    assert 0.84 < np.mean(covered) < 0.95
    assert np.mean(widths) < 0.4


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_nobody_is_right_because_the_truths_are_of_his_own_making(name):
    """Few noisy reports a task: truths agree with those who made them, and say little of them."""
    answers, _, accuracy = crowd(tasks=500, each=3, workers=15, right=(0.5, 0.6))
    with ignores_noise():
        found = judged(METHODS[name], noisy(answers, 1.0))
    assert not (found["accuracy_low"] > accuracy.max() + 0.1).any()


@pytest.mark.parametrize("name", METHODS)
def test_known_truths_tell_most(name):
    """With all truths known a worker of 100 answers is judged as by counting."""
    answers, truths, _ = crowd()
    found = judged(METHODS[name], answers, gold=truths)
    right = answers.values == truths["label"].to_numpy()[answers.task_codes]
    counts = np.bincount(answers.worker_codes, right) / answers.answers_per_worker
    order = np.argsort(answers.workers.to_numpy(zero_copy_only=False))
    assert abs(found["accuracy"].to_numpy() - counts[order]).max() < 0.06
    assert abs(found["accuracy"].to_numpy() - counts[order]).mean() < 0.02


def test_silence_that_is_hidden_is_taken_out():
    rng = np.random.default_rng(5)
    answers, _, accuracy = crowd(labels=3, tasks=400, each=100)
    kept = answers.to_frame()[rng.random(len(answers)) < 0.3]
    with ignores_noise():
        reports = noisy(qc.Answers.from_frame(kept, answers.domain), 3.0, missing="category")
        found = judged(qc.WeightedVote(), reports)
    assert abs(found["accuracy"] - accuracy).mean() < 0.06
    assert abs((found["accuracy"] - accuracy).mean()) < 0.02


def test_a_channel_that_is_no_randomised_response():
    """Labels are mistaken for their neighbours: a table, and no two numbers."""
    answers, _, accuracy = crowd(labels=3)
    weights = np.array([[12, 3, 1], [4, 8, 4], [1, 3, 12]]) * 2**28
    channel, rng = TableChannel(weights=weights), np.random.default_rng(2)
    words = lambda count: rng.integers(0, 2**32, count, dtype=np.uint32)  # noqa: E731
    reports = evolve(answers, values=channel.sample(answers.values, words))
    summary = Summary.of(reports, channel)
    accuracies = Accuracies.of(summary)
    found = accuracies.estimate(accuracies.histograms(Partition.of(reports), OwnVotes()))
    order = answers.workers.to_numpy(zero_copy_only=False)
    assert abs(found["accuracy"] - accuracy[order]).mean() < 0.07
    assert (
        np.mean(
            (found["accuracy_low"] <= accuracy[order]) & (accuracy[order] <= found["accuracy_high"])
        )
        > 0.84
    )


@pytest.mark.parametrize("epsilon", [0.0, 0.02])
def test_quality_is_missing_where_nothing_tells(epsilon):
    answers, _, _ = crowd(tasks=20, workers=20, each=10)
    with ignores_noise():
        assert judged(qc.MajorityVote(), noisy(answers, epsilon)).isna().all(axis=None)


def test_who_is_alone_or_silent_has_no_quality():
    frame = pd.DataFrame({"task": ["a", "b"], "worker": ["u", "v"], "label": [0, 1]})
    answers = qc.Answers.from_frame(frame, qc.Categorical([0, 1]), workers=["u", "v", "w"])
    assert judged(qc.MajorityVote(), answers).isna().all(axis=None)


def test_with_one_label_every_answer_is_right():
    frame = pd.DataFrame({"task": ["a", "a"], "worker": ["u", "v"], "label": ["x", "x"]})
    assert (judged(qc.MajorityVote(), frame) == 1.0).all(axis=None)


def test_more_answers_make_the_interval_narrower():
    answers, truths, accuracy = crowd(tasks=8_000, each=20, workers=20)
    found = judged(qc.WeightedVote(), answers, gold=truths)
    assert (found["accuracy_high"] - found["accuracy_low"]).max() < 0.02
    assert abs(found["accuracy"] - accuracy).max() < 0.02


def test_neither_threads_nor_more_tasks_in_a_second_step_change_much_or_a_bit():
    answers, _, _ = crowd(tasks=400)
    method = qc.DawidSkene()
    whole = judged(method, answers, n_jobs=1)
    pd.testing.assert_frame_equal(whole, judged(method, answers, n_jobs=3), check_exact=True)
    frame = answers.to_frame()
    first = method.fit(frame[frame["task"] < 300], non_private=True)
    more = method.extend(first, frame[frame["task"] >= 300], non_private=True).workers_as("pandas")
    more = more.set_index("worker").sort_index()[COLUMNS]
    assert abs(more - whole).max(axis=None) < 0.02

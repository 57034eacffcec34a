import itertools

import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.datasets import make_crowd
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd_research.label_oracle import counted_confusions, label_posterior


def by_hand(reports, distribution, table):
    """Return the posterior of every task, each sum written out."""
    labels = len(distribution.prior)
    found = np.zeros((len(reports.tasks), labels))
    for task, truth in itertools.product(range(len(found)), range(labels)):
        mine = np.flatnonzero(reports.task_codes == task)
        for lure in (None, *(label for label in range(labels) if label != truth)):
            chance = 1 - distribution.misled if lure is None else distribution.misled / (labels - 1)
            for row in mine:
                answer = distribution.confusions[reports.worker_codes[row], truth]
                if lure is not None:
                    answer = (1 - distribution.pull) * answer + distribution.pull * np.eye(labels)[
                        lure
                    ]
                chance *= answer @ table[:, reports.values[row]]
            found[task, truth] += distribution.prior[truth] * chance
    return found / found.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("misled", [0.0, 0.3])
@pytest.mark.parametrize("epsilon", [None, 1.0])
def test_the_posterior_is_that_of_bayes(misled, epsilon):
    crowd = make_crowd(
        kind="guessing",
        tasks=10,
        workers=6,
        answers_per_task=4,
        labels=["a", "b", "c"],
        truths=(0.5, 0.3, 0.2),
        misled=misled,
    )
    reports, table, distribution = crowd.answers, np.eye(3), crowd.distribution
    if epsilon is not None:
        mechanism = qc.RandomizedResponse(domain=reports.domain, epsilon=epsilon)
        reports = mechanism.simulate(reports, random_state=0).table
        table = mechanism.channel.probabilities
    found = label_posterior(
        reports,
        confusions=distribution.confusions,
        prior=distribution.prior,
        channel=None if epsilon is None else table,
        misled=distribution.misled,
        pull=distribution.pull,
    )
    assert found == pytest.approx(by_hand(reports, distribution, table))


def test_a_channel_of_each_worker():
    crowd = make_crowd(kind="guessing", tasks=20, workers=6, answers_per_task=4)
    distribution, table = crowd.distribution, np.array([[0.7, 0.3], [0.3, 0.7]])
    found = [
        label_posterior(
            crowd.answers,
            confusions=distribution.confusions,
            prior=distribution.prior,
            channel=channel,
        )
        for channel in (table, np.tile(table, (6, 1, 1)))
    ]
    assert np.array_equal(*found)


def test_a_task_without_reports_has_the_prior():
    crowd = make_crowd(kind="guessing", tasks=3, workers=2, answers_per_task=1, truths=(0.9, 0.1))
    frame = crowd.answers.to_frame()
    answers = qc.Answers.from_frame(
        frame[frame["task"] > 0], crowd.answers.domain, tasks=range(3), workers=range(2)
    )
    found = label_posterior(
        answers, confusions=crowd.distribution.confusions, prior=crowd.distribution.prior
    )
    assert found[0] == pytest.approx([0.9, 0.1])


def test_confidences_are_right_on_its_own_crowds():
    crowd = make_crowd(kind="guessing", tasks=4_000, workers=50, misled=0.2)
    distribution = crowd.distribution
    found = label_posterior(
        crowd.answers,
        confusions=distribution.confusions,
        prior=distribution.prior,
        misled=distribution.misled,
        pull=distribution.pull,
    )
    known = np.array(crowd.truths["label"].to_pylist()) == "yes"
    right = (found[:, 1] > 0.5) == known
    assert right.mean() == pytest.approx(found.max(axis=1).mean(), abs=0.03)  # five deviations


def test_counts_are_smoothed_by_the_crowd():
    frame = {"task": [0, 1, 2, 0], "worker": [0, 0, 0, 1], "label": ["a", "a", "b", "b"]}
    answers = qc.Answers.from_frame(
        pd.DataFrame(frame), qc.Categorical(["a", "b"]), workers=range(3)
    )
    known = pd.DataFrame({"task": [0, 1], "label": ["a", "a"]})
    confusions, prior = counted_confusions(answers, known, strength=2.0)
    crowd = np.array([3 / 5, 2 / 5])  # two "a" and one "b" to tasks of "a", each counted once more
    assert confusions[0, 0] == pytest.approx((np.array([2, 0]) + 2 * crowd) / 4)
    assert confusions[1, 0] == pytest.approx((np.array([0, 1]) + 2 * crowd) / 3)
    assert confusions[2, 0] == pytest.approx(crowd)
    assert confusions[:, 1] == pytest.approx(0.5)
    assert prior == pytest.approx([3 / 4, 1 / 4])


def test_what_does_not_fit():
    crowd = make_crowd(kind="guessing", tasks=5, workers=4, answers_per_task=2)
    distribution, answers = crowd.distribution, crowd.answers
    with pytest.raises(ParameterError, match="confusions"):
        label_posterior(answers, confusions=distribution.confusions[1:], prior=distribution.prior)
    with pytest.raises(ParameterError, match="channel"):
        label_posterior(
            answers, confusions=distribution.confusions, prior=distribution.prior, channel=np.eye(3)
        )
    never = np.tile([[1.0, 0.0], [1.0, 0.0]], (4, 1, 1))
    with pytest.raises(ParameterError, match="cannot be"):
        label_posterior(answers, confusions=never, prior=distribution.prior)
    numbers = qc.make_crowd(kind="sensors", tasks=3, workers=2)
    with pytest.raises(AnswerError, match="labels"):
        counted_confusions(numbers.answers, numbers.truths)

import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.campaign.results.consistency import FEWEST, too_consistent

RNG = np.random.default_rng(5)


def crowd_of(labels, accuracy, workers=400):
    return qc.synthetic_crowd(
        tasks=2_000,
        workers=workers,
        answers_per_task=20,
        labels=range(labels),
        accuracy=accuracy,
        seed=labels,
    ).answers


def reports_of(answers, epsilon, liars=0, null=None):
    """Return reports of which the first workers' are their answers."""
    mechanism = qc.RandomizedResponse(domain=answers.domain, epsilon=epsilon, null=null)
    reports = mechanism.randomize(answers, rng=np.random.default_rng(1))
    if liars:
        plain = answers.worker_codes < liars
        reports.table.values.flags.writeable = True
        reports.table.values[plain] = answers.values[plain]
    return reports


@pytest.mark.parametrize("accuracy", [(0.99, 1.0), (0.4, 0.9)])
@pytest.mark.parametrize(("labels", "epsilon"), [(2, 0.5), (2, 3.0), (4, 1.0)])
def test_honest_workers_are_hardly_ever_named(labels, epsilon, accuracy):
    found = too_consistent(reports_of(crowd_of(labels, accuracy), epsilon))
    assert len(found) <= 0.01 * 400


@pytest.mark.parametrize(("labels", "epsilon"), [(2, 0.5), (2, 2.0), (4, 1.0)])
def test_most_workers_who_do_not_randomise_are_named(labels, epsilon):
    found = too_consistent(reports_of(crowd_of(labels, (0.95, 1.0)), epsilon, liars=30))
    assert np.sum(found < 30) >= 24
    assert np.sum(found >= 30) <= 3


def test_few_reports_are_not_judged():
    answers = crowd_of(2, (0.95, 1.0), workers=2_000)
    assert answers.answers_per_worker.max() < FEWEST
    assert not len(too_consistent(reports_of(answers, 1.0, liars=2_000)))


@pytest.mark.parametrize(
    "mechanism",
    [
        qc.TwoLayerRandomizedResponse(domain=qc.Categorical(range(2)), low=0.1, high=0.5),
        qc.RandomizedResponse(domain=qc.Categorical(range(2)), epsilon=0.0),
        qc.RandomizedResponse(domain=qc.Categorical(range(2)), epsilon=1.0, null="category"),
    ],
    ids=["unknown laws", "nothing told", "every task"],
)
def test_nobody_is_named_where_nothing_bounds_the_agreement(mechanism):
    reports = mechanism.randomize(crowd_of(2, (0.99, 1.0), workers=40))
    assert not len(too_consistent(reports))

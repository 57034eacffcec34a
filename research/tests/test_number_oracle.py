import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.datasets import make_crowd
from quietcrowd.exceptions import AnswerError
from quietcrowd.mechanisms import DuchiMechanism
from quietcrowd_research.number_oracle import (
    counted_number_distribution,
    number_posterior,
    quantiles,
)


@pytest.mark.nightly
def test_plain_normal_answers_have_the_normal_posterior():
    crowd = make_crowd(
        kind="numbers",
        tasks=5,
        workers=6,
        answers_per_task=4,
        sigmas=(0.2, 0.4),
        domain=qc.Interval(low=0, high=9),
    )
    truths, posterior = number_posterior(crowd.answers, crowd.distribution, points=900)
    weights = crowd.distribution.sigma[crowd.answers.worker_codes].reshape(5, 4) ** -2.0
    precision = weights.sum(axis=1) + crowd.distribution.spread**-2
    sums = (weights * crowd.answers.values.reshape(5, 4)).sum(axis=1)
    mean = (sums + crowd.distribution.middle * crowd.distribution.spread**-2) / precision
    assert posterior @ truths == pytest.approx(mean, abs=0.01)
    squares = posterior @ truths**2 - (posterior @ truths) ** 2
    assert squares == pytest.approx(1 / precision, rel=0.02)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "options", [{}, {"outliers": 0.1}, {"bias": 1.0}, {"scales": (0.4, 1.0)}, {"spread": 6.0}]
)
@pytest.mark.parametrize("epsilon", [None, 3.0])
def test_intervals_cover_on_its_own_crowds(options, epsilon):
    crowd = make_crowd(kind="numbers", tasks=400, **options)
    reports, shift = crowd.answers, None
    if epsilon is not None:
        mechanism = qc.LaplaceMechanism(domain=reports.domain, epsilon=epsilon, fill=None)
        reports = mechanism.simulate(reports, random_state=0).table
        shift = mechanism.channel.shift
    truths, posterior = number_posterior(reports, crowd.distribution, shift, points=100)
    low, high = quantiles(truths, posterior, (0.05, 0.95)).T
    known = crowd.truths["label"].to_numpy()
    inside = np.mean((low <= known) & (known <= high))
    assert inside == pytest.approx(0.9, abs=0.08)  # five standard deviations of 400 coins


@pytest.mark.nightly
@pytest.mark.parametrize(
    "kind", [qc.PiecewiseMechanism, DuchiMechanism], ids=["piecewise", "duchi"]
)
def test_intervals_cover_where_reports_are_bounded(kind):
    crowd = make_crowd(kind="numbers", tasks=400)
    mechanism = kind(domain=crowd.answers.domain, epsilon=3.0)
    reports = mechanism.simulate(crowd.answers, random_state=0).table
    distribution = mechanism.channel.bounded_distribution
    truths, posterior = number_posterior(reports, crowd.distribution, distribution, points=100)
    low, high = quantiles(truths, posterior, (0.05, 0.95)).T
    known = crowd.truths["label"].to_numpy()
    inside = np.mean((low <= known) & (known <= high))
    assert inside == pytest.approx(0.9, abs=0.08)  # five standard deviations of 400 coins


def test_a_counted_distribution():
    crowd = make_crowd(kind="numbers", tasks=400, workers=10, sigmas=(0.2, 0.8))
    distribution = counted_number_distribution(crowd.answers, crowd.truths)
    assert distribution.sigma == pytest.approx(crowd.distribution.sigma, rel=0.25)
    known = crowd.truths["label"].to_numpy()
    assert (distribution.middle, distribution.spread) == pytest.approx((known.mean(), known.std()))


def test_a_counted_distribution_of_few_answers_is_that_of_the_crowd():
    crowd = make_crowd(kind="numbers", tasks=2, workers=40, answers_per_task=2)
    distribution = counted_number_distribution(crowd.answers, crowd.truths)
    silent = distribution.sigma[crowd.answers.answers_per_worker == 0]
    assert np.ptp(silent) == 0
    labels = qc.make_crowd(tasks=3, workers=10)
    with pytest.raises(AnswerError, match="interval"):
        counted_number_distribution(labels.answers, labels.truths)

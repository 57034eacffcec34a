import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.datasets import synthetic_crowd
from quietcrowd.mechanisms.taskwise import TaskwiseMechanism

COINS = qc.Categorical([0, 1])
NUMBERS = qc.Interval(low=0, high=10)


@pytest.mark.parametrize(
    ("mechanism", "shape"),
    [
        (qc.RandomizedResponse(domain=COINS, epsilon=1.0), None),
        (qc.LaplacePerturbation(domain=NUMBERS, epsilon=1.0), None),
        (qc.TwoLayerRandomizedResponse(domain=COINS, low=0.1, high=0.4), (1, 9)),
        (
            qc.TwoLayerRandomizedResponse(
                domain=COINS, epsilon=1.0, law="epsilon", null="category"
            ),
            (2, 9),
        ),
        (qc.SampledVarianceGaussian(domain=NUMBERS, epsilon=1.0, delta=0.1), (9,)),
    ],
)
def test_what_a_worker_draws_once(mechanism, shape):
    for rng in (None, np.random.default_rng(1)):
        drawn = mechanism.draw_workers(9, rng)
        assert (None if drawn is None else drawn.shape) == shape


def test_what_was_drawn_is_what_is_used():
    answers = synthetic_crowd(tasks=40, workers=30, seed=1).answers.canonical
    mechanism = qc.TwoLayerRandomizedResponse(domain=answers.domain, low=0.0, high=1.0)
    drawn = np.zeros((1, 30), np.uint64)
    drawn[0, 15:] = 2**32
    reports = mechanism.randomize_tasks(answers, drawn, np.random.default_rng(2)).table
    flipped = reports.values != answers.values
    assert flipped.tolist() == (answers.worker_codes >= 15).tolist()


def test_sketches_are_of_all_tasks():
    assert not isinstance(qc.MatrixFactorization(domain=NUMBERS, epsilon=1.0), TaskwiseMechanism)

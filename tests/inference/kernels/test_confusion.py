import numpy as np
import pytest

from quietcrowd.inference.kernels.confusion import learn_coins, learn_confusions


@pytest.mark.parametrize(("workers", "labels"), [(1, 1), (3, 2), (700, 3), (2, 40)])
def test_log_probabilities_are_those_of_numpy(workers, labels):
    rng = np.random.default_rng(labels)
    counts = rng.integers(0, 2**40, (workers, labels, labels))
    counts[rng.random(counts.shape) < 0.3] = 0
    added, added_right, least = 2**30, 2**38, 2**33
    found = np.zeros(counts.shape, np.int32)
    one, unit = 2.0**26, 2.0**-4
    climbed = learn_confusions(
        counts.reshape(-1), labels, added, added_right, least, one, unit, found.reshape(-1)
    )
    right = np.eye(labels, dtype=bool)
    records = np.maximum(counts + np.where(right, added_right, added), least)
    logs = np.log(records / records.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found / one, logs, rtol=0, atol=0.51 / one)
    assert climbed / unit == pytest.approx((records * logs).sum(), rel=1e-11)


@pytest.mark.parametrize(("workers", "others"), [(1, 1), (700, 2), (2_000, 39)])
def test_log_odds_are_those_of_numpy(workers, others):
    rng = np.random.default_rng(others)
    one_answer = 2.0**30
    answers = rng.integers(0, 2**10, workers)
    counts = (answers * one_answer * rng.choice([0.0, 0.3, 1.0], workers)).astype(np.int64)
    added_wrong, added_right, least = 2**27, 2**30, 2**20
    found = np.zeros(workers, np.int32)
    one, unit = 2.0**26, 2.0**-4
    climbed = learn_coins(
        counts, answers, one_answer, others, added_wrong, added_right, least, one, unit, found
    )
    right = np.maximum(counts + added_right, least)
    wrong = np.maximum(answers * one_answer - counts + added_wrong, least)
    log_right, log_wrong = (np.log(part / (right + wrong)) for part in (right, wrong))
    each_wrong = log_wrong - np.log(others)
    np.testing.assert_allclose(found / one, log_right - each_wrong, rtol=0, atol=0.51 / one)
    expected = (right * log_right + wrong * each_wrong).sum()
    assert climbed / unit == pytest.approx(expected, rel=1e-11)

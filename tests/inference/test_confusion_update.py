import numpy as np
import pytest

from quietcrowd.inference.confusion_update import learn_confusions


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

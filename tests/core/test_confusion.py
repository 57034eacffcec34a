import numpy as np
import pytest
from tests.core.kernels import assert_recorded_bits, outside

from quietcrowd import _core
from quietcrowd.inference.integer_sums import shares

UNIT = 2.0**30


def partition_of(rng, labels, tasks=60, workers=50, per=6, dtype=np.uint8):
    """Return a partition, with empty tasks and known truths among the others."""
    sizes = rng.integers(0, 2 * per + 1, tasks)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    rows = int(offsets[-1])
    return (
        offsets,
        rng.integers(0, workers, rows, dtype=np.uint32),
        rng.integers(0, labels, rows).astype(dtype),
        rng.integers(0, 2**64, tasks, dtype=np.uint64),
        np.where(rng.random(tasks) < 0.1, rng.integers(0, labels, tasks), -1).astype(np.int32),
    )


def arguments_of(rng, labels, *, one_coin=False, voting=False, last=True, workers=50, **options):
    """Return the arguments of `infer_by_confusion`; half of the log-odds are coarse, for ties."""
    partition = partition_of(rng, labels, workers=workers, **options)
    cells = workers if one_coin else workers * labels**2
    log_odds = rng.integers(-(2**27), 2**20, 0 if voting else cells).astype(np.int32)
    log_odds[::2] &= -(2**26)
    room = len(partition[0]) - 1 if last else 0
    return (
        partition,
        log_odds,
        2.0**-24,
        np.log(np.full(labels, 1 / labels)),
        UNIT,
        shares(labels),
        7,
        np.zeros(cells, np.int64),
        np.zeros(labels, np.int64),
        np.zeros(workers, np.int64),
        (np.zeros(room, partition[2].dtype), np.zeros(room), np.zeros(room, bool)),
    )


@pytest.mark.parametrize("labels", [1, 2, 3, 4, 7, 8, 9, 20, 40])
def test_every_bit_of_a_sweep(labels):
    rng = np.random.default_rng(labels)
    for per in (1, 6, 200):
        for voting, last in ((True, True), (False, False), (False, True)):
            given = arguments_of(rng, labels, voting=voting, last=last, per=per)
            assert_recorded_bits("infer_by_confusion", *given)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
@pytest.mark.parametrize("one_coin", [False, True])
def test_every_width_of_values_and_one_coin(dtype, one_coin):
    given = arguments_of(np.random.default_rng(1), 4, dtype=dtype, one_coin=one_coin)
    assert_recorded_bits("infer_by_confusion", *given)


@pytest.mark.parametrize("one_coin", [False, True])
def test_tasks_longer_than_the_room_for_answers(one_coin):
    rng = np.random.default_rng(2)
    for labels in (3, 12):
        given = arguments_of(rng, labels, one_coin=one_coin, tasks=4, per=20_000)
        assert_recorded_bits("infer_by_confusion", *given)


@outside(50, 4, 4)
def test_what_lies_outside_is_refused(place, value, message):
    given = arguments_of(np.random.default_rng(3), 4)
    given[0][place][len(given[0][place]) // 2] = value
    with pytest.raises(ValueError, match=f"{message}.* task"):
        _core.infer_by_confusion(*given)


@pytest.mark.parametrize("place", [1, 5, 7, 8, 9])
def test_sizes_that_do_not_fit_are_refused(place):
    given = list(arguments_of(np.random.default_rng(4), 4))
    given[place] = given[place][1:]
    with pytest.raises(ValueError, match=r"must|out of range"):
        _core.infer_by_confusion(*given)


def test_arrays_of_other_types_are_never_converted():
    given = list(arguments_of(np.random.default_rng(5), 4))
    for place in (1, 3, 5, 7, 8, 9):
        changed = [*given]
        changed[place] = given[place].astype(np.float32)
        with pytest.raises(TypeError):
            _core.infer_by_confusion(*changed)


@pytest.mark.parametrize(("workers", "labels"), [(1, 1), (3, 2), (700, 3), (2, 40)])
def test_every_bit_of_learnt_tables(workers, labels):
    rng = np.random.default_rng(labels)
    counts = rng.integers(0, 2**40, workers * labels**2)
    counts[rng.random(counts.shape) < 0.3] = 0
    rest = (labels, 2**30, 2**38, 2**33, 2.0**26, 2.0**-4, np.zeros(counts.shape, np.int32))
    assert_recorded_bits("learn_confusions", counts, *rest)


@pytest.mark.parametrize(("workers", "others"), [(1, 1), (700, 2), (2_000, 39)])
def test_every_bit_of_learnt_coins(workers, others):
    rng = np.random.default_rng(others)
    answers = rng.integers(0, 2**10, workers)
    counts = (answers * 2.0**30 * rng.choice([0.0, 0.3, 1.0], workers)).astype(np.int64)
    rest = (2.0**30, others, 2**27, 2**30, 2**20, 2.0**26, 2.0**-4, np.zeros(workers, np.int32))
    assert_recorded_bits("learn_coins", counts, answers, *rest)


@pytest.mark.parametrize(("workers", "labels"), [(1, 1), (3, 2), (700, 3), (2, 40)])
def test_log_probabilities_are_those_of_numpy(workers, labels):
    rng = np.random.default_rng(labels)
    counts = rng.integers(0, 2**40, (workers, labels, labels))
    counts[rng.random(counts.shape) < 0.3] = 0
    added, added_right, least = 2**30, 2**38, 2**33
    found = np.zeros(counts.shape, np.int32)
    one, unit = 2.0**26, 2.0**-4
    climbed = _core.learn_confusions(
        counts.reshape(-1), labels, added, added_right, least, one, unit, found.reshape(-1)
    )
    right = np.eye(labels, dtype=bool)
    records = np.maximum(counts + np.where(right, added_right, added), least)
    logs = np.log(records / records.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found / one, logs, rtol=0, atol=0.51 / one)
    assert climbed / unit == pytest.approx((records * logs).sum(), rel=1e-11)


@pytest.mark.parametrize("labels", [2, 15, 16, 20, 64])
def test_rows_without_counts_are_learnt_like_any_other(labels):
    rng = np.random.default_rng(labels)
    counts = rng.integers(0, 2**40, (3, labels, labels))
    counts[:, rng.random(labels) < 0.7] = 0
    counts[2] = 0
    least = 2**33
    tiny = counts.copy()
    tiny[:, ~np.eye(labels, dtype=bool)] += counts[:, ~np.eye(labels, dtype=bool)] == 0
    results = []
    for given in (counts, tiny):  # a count of 1 is less than `least`: the records are equal
        found = np.zeros(given.size, np.int32)
        climbed = _core.learn_confusions(
            given.reshape(-1), labels, 2**30, 2**38, least, 2.0**26, 2.0**-4, found
        )
        results.append((climbed, found.tolist()))
    assert results[0] == results[1]


@pytest.mark.parametrize(("workers", "others"), [(1, 1), (700, 2), (2_000, 39)])
def test_log_odds_are_those_of_numpy(workers, others):
    rng = np.random.default_rng(others)
    one_answer = 2.0**30
    answers = rng.integers(0, 2**10, workers)
    counts = (answers * one_answer * rng.choice([0.0, 0.3, 1.0], workers)).astype(np.int64)
    added_wrong, added_right, least = 2**27, 2**30, 2**20
    found = np.zeros(workers, np.int32)
    one, unit = 2.0**26, 2.0**-4
    climbed = _core.learn_coins(
        counts, answers, one_answer, others, added_wrong, added_right, least, one, unit, found
    )
    right = np.maximum(counts + added_right, least)
    wrong = np.maximum(answers * one_answer - counts + added_wrong, least)
    log_right, log_wrong = (np.log(part / (right + wrong)) for part in (right, wrong))
    each_wrong = log_wrong - np.log(others)
    np.testing.assert_allclose(found / one, log_right - each_wrong, rtol=0, atol=0.51 / one)
    expected = (right * log_right + wrong * each_wrong).sum()
    assert climbed / unit == pytest.approx(expected, rel=1e-11)

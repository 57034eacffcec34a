import numpy as np
import pytest
from tests.inference.labels.groups.drawn_crowds import (
    channel,
    independent,
    partition_of,
    statistics_of,
)

from quietcrowd.inference.labels.groups import reports as module
from quietcrowd.inference.labels.groups.reports import (
    Crowd,
    GroupReports,
    busiest,
    merge_labels,
)


def test_busiest_workers_are_chosen_and_ties_go_to_the_first(monkeypatch):
    monkeypatch.setattr(module, "MOST_WORKERS", 2)

    assert busiest(np.array([3, 5, 3, 1])).tolist() == [True, True, False, False]


def test_partitions_add_up_to_the_same_crowd_in_any_order():
    answers, _ = independent(0, 30, 12, 3, 2.0, per_task=5)
    whole = partition_of(answers)
    chosen = np.arange(12) != 4

    def crowd(parts):
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return Crowd.of(total, channel(3, 2.0), 12)

    parts = [GroupReports.of(part, chosen, 150) for part in whole.split(4)]
    expected = crowd([GroupReports.of(whole, chosen, 150)])
    assert 4 not in expected.worker
    assert len(expected.first) == 30
    for found in (crowd(parts), crowd(parts[::-1])):
        for name in ("task", "worker", "value", "first", "known_truths"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_many_reports_are_limited_to_the_tasks_with_the_smallest_hashes(monkeypatch):
    answers, _ = independent(0, 400, 12, 2, None, per_task=3)
    monkeypatch.setattr(module, "MOST_REPORTS", 300)

    whole = partition_of(answers)
    found = GroupReports.of(whole, np.ones(12, bool), 1200)

    kept = whole.draws < 2**62
    assert len(found.draws) == 3 * kept.sum()
    assert set(found.draws) == set(whole.draws[kept])


def test_halves_follow_the_hash_of_the_task():
    answers, _ = independent(1, 50, 12, 2, None)
    found = Crowd.of(statistics_of(answers), np.eye(2), 12)

    np.testing.assert_array_equal(found.first, np.sort(partition_of(answers).draws) % 2 == 1)


def test_few_labels_are_not_merged():
    table = channel(5, 1.0)
    classes, merged = merge_labels(np.array([0, 4, 4]), table)

    np.testing.assert_array_equal(classes, np.arange(5))
    assert merged is table


@pytest.mark.parametrize("epsilon", [None, 2.0])
def test_many_labels_are_merged_into_balanced_classes_of_a_channel(epsilon):
    values = np.repeat(np.arange(40), 3)
    classes, merged = merge_labels(values, channel(40, epsilon))

    assert np.ptp(np.bincount(classes)) <= 1
    np.testing.assert_allclose(merged.sum(axis=1), 1.0)
    if epsilon is None:
        np.testing.assert_allclose(merged, np.eye(module.MOST_CLASSES), atol=1e-12)


def test_truths_are_merged_like_reports():
    answers, truths = independent(2, 40, 12, 20, None)
    found = Crowd.of(statistics_of(answers, truths), np.eye(20), 12)
    order = np.argsort(partition_of(answers).draws)
    classes, _ = merge_labels(statistics_of(answers).values, np.eye(20))

    np.testing.assert_array_equal(found.known_truths, classes[truths[order]])


def test_reports_that_are_not_answers_keep_the_truths_apart():
    table = np.full((3, 30), 0.5 / 30) + np.repeat(np.eye(3), 10, axis=1) * 0.05
    classes, merged = merge_labels(np.arange(30), table)

    assert merged.shape == (3, module.MOST_CLASSES)
    np.testing.assert_allclose(merged.sum(axis=1), table.sum(axis=1))
    assert len(classes) == 30


def test_signal_is_the_square_of_the_difference_of_the_channel():
    table = channel(4, 1.0)
    crowd = Crowd.of(statistics_of(independent(0, 9, 12, 4, 1.0)[0]), table, 12)

    assert crowd.signal == pytest.approx((table[0, 0] - table[0, 1]) ** 2)


def test_one_answer_of_equally_frequent_ones_agrees_by_the_signal_times_their_variety():
    crowd = Crowd.of(statistics_of(independent(0, 9, 12, 4, 1.0)[0]), channel(4, 1.0), 12)

    assert crowd.scale(np.arange(4)) == pytest.approx(crowd.signal * 0.75)

import numpy as np
import pytest
from tests.inference.labels.groups.drawn_crowds import (
    channel,
    independent,
    partition_of,
    statistics_of,
    with_copies,
)
from tests.nightly import nightly

from quietcrowd.inference.labels.groups.finding import find_groups
from quietcrowd.inference.labels.groups.reports import GroupReports

COPIES = np.arange(40, 52)


@pytest.mark.grid
@pytest.mark.parametrize("following", [0.85, 0.95, 0.7])
@pytest.mark.parametrize("epsilon", [3.0, None])
@pytest.mark.parametrize("labels", [4, 2])
def test_twelve_copies_are_a_group_and_no_honest_worker_is(following, epsilon, labels):
    lead = 0.35 if labels == 4 else 0.5
    answers, _ = with_copies(7, 12, following, epsilon=epsilon, labels=labels, lead=lead)

    (group,) = find_groups(statistics_of(answers), channel(labels, epsilon))

    np.testing.assert_array_equal(group.members, COPIES)
    np.testing.assert_array_equal(group.named, COPIES)
    assert group.following == pytest.approx(following, abs=0.05)


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(("copies", "rate", "epsilon"), [(48, 0.8, 3.0), (96, 0.1, 3.0)])
def test_more_copies_than_honest_workers_are_found_even_if_each_answers_few_tasks(
    copies, rate, epsilon
):
    answers, _ = with_copies(3, copies, 0.95, rate=rate, epsilon=epsilon)

    (group,) = find_groups(statistics_of(answers), channel(4, epsilon))

    assert group.members.min() >= 40
    assert len(group.members) >= 0.9 * copies
    assert set(group.named) <= set(group.members)


@pytest.mark.slow
def test_two_groups_are_found_one_after_another():
    first, _ = with_copies(1, 12, 0.95)
    second, _ = with_copies(2, 10, 0.95)
    answers = np.vstack([first, second[40:]])

    groups = find_groups(statistics_of(answers), np.eye(4))

    assert sorted(tuple(group.named) for group in groups) == [tuple(COPIES), tuple(range(52, 62))]


@pytest.mark.grid
@pytest.mark.parametrize(
    ("tasks", "workers", "labels", "epsilon", "per_task"),
    [
        (20, 200, 4, 1.0, None),
        (40, 200, 2, 1.0, None),
        (60, 60, 2, None, None),
        (300, 40, 4, 3.0, 12),
        (200, 20, 3, 0.5, None),
    ],
)
def test_independent_workers_are_no_group(tasks, workers, labels, epsilon, per_task):
    for seed in range(3):
        answers, _ = independent(seed, tasks, workers, labels, epsilon, per_task)
        assert find_groups(statistics_of(answers), channel(labels, epsilon)) == ()


@pytest.mark.parametrize("copies", [12, 48, 96])
def test_copies_are_found_by_their_uniformity_among_workers_of_different_skill(copies):
    answers, _ = with_copies(1, copies, 0.7)

    (group,) = find_groups(statistics_of(answers), np.eye(4))

    np.testing.assert_array_equal(group.named, np.arange(40, 40 + copies))


@pytest.mark.slow
def test_known_truths_decide_between_two_equal_sides():
    rng = np.random.default_rng(1)
    sources = rng.integers(4, size=(2, 300))
    follows = rng.random((40, 300)) < 0.7
    answers = np.where(follows, sources[np.arange(40) // 20], rng.integers(4, size=(40, 300)))
    assert find_groups(statistics_of(answers), np.eye(4)) == ()

    for honest, source in enumerate(sources):
        known = np.where(np.arange(300) < 20, source, -1)
        (group,) = find_groups(statistics_of(answers, known), np.eye(4))
        np.testing.assert_array_equal(group.named, np.flatnonzero(np.arange(40) // 20 != honest))


@pytest.mark.slow
def test_known_truths_acquit_experts():
    answers, _ = with_copies(1, 12, 0.95)
    assert find_groups(statistics_of(answers), np.eye(4))

    source = with_copies(1, 1, 1.0, rate=1.0)[0][40]
    known = np.where(np.arange(300) < 20, source, -1)
    assert find_groups(statistics_of(answers, known), np.eye(4)) == ()


@pytest.mark.slow
def test_partitions_and_the_order_of_workers_change_no_bit():
    answers, _ = with_copies(7, 12, 0.85, epsilon=3.0)
    whole = partition_of(answers)
    everybody = np.ones(52, bool)
    parts = [GroupReports.of(part, everybody, len(whole.values)) for part in whole.split(5)]
    mixed = parts[3] + parts[0] + (parts[4] + parts[2]) + parts[1]

    (one,) = find_groups(statistics_of(answers), channel(4, 3.0))
    (two,) = find_groups(mixed, channel(4, 3.0))

    np.testing.assert_array_equal(one.members, two.members)
    np.testing.assert_array_equal(one.named, two.named)
    assert one.following == two.following


def test_codes_are_those_of_all_workers_even_if_most_have_no_report():
    answers, _ = with_copies(7, 12, 0.95)
    spread = np.full((520, 300), -1)
    spread[::10] = answers

    (group,) = find_groups(statistics_of(spread), np.eye(4))

    np.testing.assert_array_equal(group.members, COPIES * 10)


@pytest.mark.parametrize(("workers", "tasks"), [(0, 0), (11, 100), (20, 29)])
def test_small_crowds_have_no_groups(workers, tasks):
    answers = np.zeros((workers, tasks), int)

    assert find_groups(statistics_of(answers), np.eye(3)) == ()


def test_reports_without_signal_have_no_groups():
    answers, _ = with_copies(7, 12, 0.95)

    assert find_groups(statistics_of(answers), np.full((4, 4), 0.25)) == ()
    assert find_groups(statistics_of(np.zeros((20, 60), int)), np.eye(4)) == ()


def test_groups_are_found_among_many_labels():
    answers, _ = with_copies(7, 12, 0.95, labels=60, lead=0.1)

    (group,) = find_groups(statistics_of(answers), np.eye(60))

    np.testing.assert_array_equal(group.named, COPIES)


@pytest.mark.slow
def test_an_honest_majority_is_no_group_even_if_the_rest_is_a_mixture():
    answers, _ = with_copies(0, 12, 0.7, honest=60, tasks=600)
    guesses = np.random.default_rng(0).integers(0, 4, (10, 600))
    guesses[np.random.default_rng(1).random((10, 600)) < 0.7] = -1

    groups = find_groups(statistics_of(np.vstack([answers, guesses])), np.eye(4))

    assert [group.named.tolist() for group in groups] in ([], [list(range(60, 72))])


@pytest.mark.parametrize(
    ("copies", "following", "epsilon"),
    [
        nightly(copies, following, epsilon)
        for copies in (12, 48, 96)
        for following in (0.95, 0.85, 0.7)
        for epsilon in (None, 3.0, 1.0)
    ],
)
def test_no_honest_worker_is_named_next_to_copies(copies, following, epsilon):
    table, named = channel(4, epsilon), 0
    for seed in range(100):
        answers, _ = with_copies(seed, copies, following, epsilon=epsilon)
        groups = find_groups(statistics_of(answers), table)
        named += any(group.named.min() < 40 for group in groups)
    assert named <= 1


@pytest.mark.parametrize(
    ("tasks", "workers", "labels", "epsilon"),
    [
        nightly(tasks, workers, labels, epsilon)
        for tasks, workers in ((20, 200), (40, 1000), (60, 20), (300, 60), (300, 200))
        for labels in (2, 5)
        for epsilon in (None, 2.0, 1.0, 0.5)
    ],
)
def test_independent_workers_are_not_named(tasks, workers, labels, epsilon):
    table, named = channel(labels, epsilon), 0
    for seed in range(100):
        answers, _ = independent(seed, tasks, workers, labels, epsilon, (None, 12)[seed % 2])
        named += bool(find_groups(statistics_of(answers), table))
    assert named <= 1

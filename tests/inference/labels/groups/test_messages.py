import itertools
import math

import numpy as np
import pytest
from attrs import evolve
from tests.inference.labels.groups.drawn_crowds import channel, partition_of

from quietcrowd.inference.labels.groups.finding import Group
from quietcrowd.inference.labels.groups.messages import (
    Sources,
    expected_logs,
    group_messages,
    prior_counts,
    source_counts,
)


def group(members, following):
    codes = np.array(members, np.int32)
    return Group(members=codes, named=codes, following=following)


def report_counts(answers, reports):
    return np.array([np.bincount(row[row >= 0], minlength=reports) for row in answers])


ANSWERS = np.array([[0, 1, -1, 2], [0, 0, -1, 2], [1, -1, -1, 2], [2, 2, 2, 0], [2, -1, 1, 0]])
GROUPS = [group([0, 2], 0.9), group([3, 4], 0.6)]


def sources(epsilon=1.0):
    return Sources.of(GROUPS, channel(3, epsilon), report_counts(ANSWERS, 3))


def likelihood(worker, report, answer, following, epsilon=1.0):
    counts = report_counts(ANSWERS, 3)[worker] + 1.0
    own = (counts / counts.sum())[report]
    return following * channel(3, epsilon)[answer, report] + (1 - following) * own


def test_evidence_is_the_product_of_the_members_likelihoods():
    evidence, answered = sources().evidence(partition_of(ANSWERS))

    assert answered.tolist() == [[True, True, False, True], [True, True, True, True]]
    for place, one in enumerate(GROUPS):
        for task, answer in itertools.product(range(4), range(3)):
            expected = sum(
                math.log(likelihood(worker, ANSWERS[worker, task], answer, one.following))
                for worker in one.members
                if ANSWERS[worker, task] >= 0
            )
            assert evidence[place, task, answer] == pytest.approx(expected, abs=1e-6)


def test_message_is_the_sum_over_the_answers_of_the_source():
    evidence, answered = sources().evidence(partition_of(ANSWERS))
    rng = np.random.default_rng(0)
    logs = np.log(rng.dirichlet(np.ones(3), (2, 3)))

    found = group_messages(evidence, answered, logs)

    for task, truth in itertools.product(range(4), range(3)):
        expected = sum(
            math.log(sum(np.exp(logs[place, truth] + evidence[place, task])))
            for place in range(2)
            if answered[place, task]
        )
        assert found[task, truth] == pytest.approx(expected)


def test_a_group_without_report_of_a_task_says_nothing():
    alone = Sources.of(GROUPS[:1], np.eye(3), report_counts(ANSWERS, 3))
    evidence, answered = alone.evidence(partition_of(ANSWERS))

    found = group_messages(evidence, answered, expected_logs(prior_counts(1, 3)))
    assert not found[2].any()
    assert found[[0, 1, 3]].all()

    counts = source_counts(np.full((4, 3), 1 / 3), evidence, answered, np.zeros((1, 3, 3)), 2.0**30)
    assert counts.sum() / 2.0**30 == pytest.approx(3.0)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("following", [0.3, 0.7, 0.98])
def test_one_report_moves_the_log_odds_of_truths_by_at_most_epsilon(epsilon, following):
    rng = np.random.default_rng(1)
    answers = rng.integers(0, 3, (9, 40))
    answers[rng.random(answers.shape) < 0.3] = -1
    table = channel(3, epsilon)
    found = Sources.of([group(range(9), following)], table, report_counts(answers, 3))
    logs = np.log(rng.dirichlet(np.full(3, 0.2), (1, 3)) + 1e-6)

    def odds(reports):
        messages = group_messages(*found.evidence(partition_of(reports)), logs)
        return messages[:, :, np.newaxis] - messages[:, np.newaxis, :]

    before = odds(answers)
    for worker in range(9):
        for report in range(3):
            changed = answers.copy()
            changed[worker] = np.where(answers[worker] < 0, report, answers[worker])
            assert np.abs(odds(changed) - before).max() <= epsilon


def test_expected_answers_of_the_sources_are_those_of_all_truths_and_answers():
    evidence, answered = sources().evidence(partition_of(ANSWERS))
    rng = np.random.default_rng(2)
    posterior = rng.dirichlet(np.ones(3), 4)
    logs = np.log(rng.dirichlet(np.ones(3), (2, 3)))

    found = source_counts(posterior, evidence, answered, logs, 2.0**40) / 2.0**40

    for place, truth in itertools.product(range(2), range(3)):
        likely = np.exp(logs[place, truth] + evidence[place])
        likely /= likely.sum(axis=1, keepdims=True)
        expected = (posterior[:, truth] * answered[place]) @ likely
        np.testing.assert_allclose(found[place, truth], expected, atol=1e-9)


def test_partitions_change_no_bit_of_evidence_and_counts():
    rng = np.random.default_rng(3)
    answers = rng.integers(-1, 3, (5, 50))
    whole = partition_of(answers)
    logs = expected_logs(prior_counts(2, 3))
    posterior = rng.dirichlet(np.ones(3), 50)

    evidence, answered = sources().evidence(whole)
    counts = source_counts(posterior, evidence, answered, logs, 2.0**40)

    parts = [(part, sources().evidence(part)) for part in whole.split(4)]
    np.testing.assert_array_equal(np.concatenate([one for _, (one, _) in parts], axis=1), evidence)
    ends = np.cumsum([part.tasks for part, _ in parts])[:-1]
    total = sum(
        source_counts(own, *found, logs, 2.0**40)
        for own, (_, found) in zip(np.split(posterior, ends), parts, strict=True)
    )
    np.testing.assert_array_equal(total, counts)


def test_copies_of_one_answer_count_like_one_report_of_the_source():
    answers = np.zeros((200, 1), int)
    found = Sources.of([group(range(200), 0.9)], channel(2, 1.0), report_counts(answers, 2))
    table = np.array([[[0.7, 0.3], [0.3, 0.7]]])

    (message,) = group_messages(*found.evidence(partition_of(answers)), np.log(table))

    assert message[0] - message[1] == pytest.approx(math.log(7 / 3))


def test_prior_is_a_source_that_is_mostly_right():
    (counts,) = prior_counts(1, 4)

    assert counts.sum(axis=1) == pytest.approx(6.0)
    assert counts[0] == pytest.approx([4.2, 0.6, 0.6, 0.6])
    assert np.exp(expected_logs(counts)).sum(axis=1).max() < 1


def test_a_worker_in_no_group_is_ignored():
    partition = partition_of(ANSWERS)
    other = ANSWERS.copy()
    other[1] = 2 - np.maximum(other[1], 0)
    evidence, answered = sources().evidence(partition)

    changed, also = sources().evidence(evolve(partition_of(other), draws=partition.draws))

    np.testing.assert_array_equal(evidence, changed)
    np.testing.assert_array_equal(answered, also)

import numpy as np
import pytest
from tests.inference.labels.groups.drawn_crowds import (
    channel,
    independent,
    statistics_of,
    with_copies,
)

from quietcrowd.inference.labels.groups.candidates import candidates, pair_agreement
from quietcrowd.inference.labels.groups.reports import Crowd


@pytest.mark.parametrize(("per_task", "tasks"), [(8, 20), (3, 900)])  # dense and sparse
def test_agreement_of_pairs_is_that_of_a_loop(per_task, tasks):
    workers = 10 if per_task == 8 else 150
    answers, _ = independent(1, tasks, workers, 3, 2.0, per_task=per_task)
    crowd = Crowd.of(statistics_of(answers), channel(3, 2.0), workers)
    half = crowd.halves[0]
    matrix = np.full((workers, tasks), -1)
    matrix[crowd.worker, crowd.task] = crowd.value
    matrix = matrix[:, crowd.first]

    pairs = pair_agreement(half)
    found = {(one, two): rest for one, two, *rest in zip(*pairs, strict=True)}
    scale = half.scale(half.value)
    assert len(found) == len(pairs.one)
    for one in range(4):
        for two in range(one + 1, 10):
            both = (matrix[one] >= 0) & (matrix[two] >= 0)
            number = both.sum()
            if number < 3:
                assert (one, two) not in found
                continue
            left, right = matrix[one, both], matrix[two, both]
            chance = sum((left == label).mean() * (right == label).mean() for label in range(3))
            expected = ((left == right).mean() - chance) * number / (number - 1) / scale
            agreement, precision = found[one, two]
            assert agreement == pytest.approx(expected)
            assert precision > 0


@pytest.mark.parametrize("lead", [0.35, 0.8])
def test_copies_are_a_candidate_even_if_their_source_is_often_right(lead):
    answers, _ = with_copies(0, 12, 0.95, epsilon=3.0, lead=lead)
    crowd = Crowd.of(statistics_of(answers), channel(4, 3.0), 52)

    found = candidates(crowd.halves[0], np.ones(52, bool))

    assert any((members == (np.arange(52) >= 40)).all() for members, _ in found)
    for members, rest in found:
        assert members.sum() >= 4
        assert not (members & rest).any()


def test_workers_of_a_group_that_was_found_are_no_candidates_again():
    answers, _ = with_copies(0, 12, 0.95)
    crowd = Crowd.of(statistics_of(answers), np.eye(4), 52)

    for members, rest in candidates(crowd.halves[0], np.arange(52) < 40):
        assert not members[40:].any()
        assert not rest[40:].any()


def test_workers_without_common_tasks_are_no_candidates():
    answers = np.full((14, 140), -1)
    for worker in range(14):
        answers[worker, worker * 10 : worker * 10 + 10] = 0
    crowd = Crowd.of(statistics_of(answers), np.eye(2), 14)

    assert candidates(crowd, np.ones(14, bool)) == []

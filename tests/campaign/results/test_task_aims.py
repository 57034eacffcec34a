import numpy as np
from attrs import make_class

from quietcrowd.campaign.results.task_aims import next_answers, task_aims

IDS = [bytes([place]) * 16 for place in range(4)]
Campaign = make_class("Campaign", ["config", "at_least"])


def aims_of(asked, reported, suggested):
    given = list(zip(IDS, asked, strict=True))
    found = list(task_aims(given, np.array(reported), np.array(suggested)))
    assert [one["task_id"] for one in found] == [one.hex() for one in IDS]
    return np.array([one["aim"] for one in found])


def test_where_everybody_answers_it_is_the_reports_and_what_is_suggested():
    assert aims_of([5, 5, 5, 5], [5, 5, 5, 5], [0, 2, 0, 1]).tolist() == [5, 7, 5, 6]


def test_who_never_answers_is_made_up_for_alike():
    """Half of those who were asked do not answer: nothing is still on its way of any task."""
    asked = [20, 10, 6, 4]
    ahead = np.array(asked) - aims_of(asked, [10, 5, 3, 2], [0, 0, 1, 0])
    assert ahead.tolist() == [0, 0, -1, 0]


def test_what_is_on_its_way_about_a_task_counts():
    asked = [14, 10, 10, 10]
    ahead = np.array(asked) - aims_of(asked, [10, 10, 10, 10], [2, 2, 2, 2])
    assert ahead[0] > ahead[1] == ahead[2] == ahead[3]


def test_answers_of_a_batch_of_workers_are_suggested_or_more():
    assert next_answers(Campaign('{"answers_per_participant": 5}', 20), 30) == 100
    assert next_answers(Campaign('{"answers_per_participant": 5}', 1), 301) == 151

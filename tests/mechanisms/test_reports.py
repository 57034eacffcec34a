import pytest

from quietcrowd.datasets import synthetic_crowd
from quietcrowd.domains import Categorical
from quietcrowd.exceptions import AnswerError
from quietcrowd.mechanisms import RandomizedResponse, Reports


def test_reports_lie_in_the_report_domain():
    crowd = synthetic_crowd(tasks=5, workers=10)
    mechanism = RandomizedResponse(domain=Categorical([0, 1]), epsilon=1.0)
    with pytest.raises(AnswerError, match="the mechanism gives"):
        Reports(table=crowd.answers, mechanism=mechanism)


def test_reports_show_their_size():
    crowd = synthetic_crowd(tasks=5, workers=10, answers_per_task=4)
    reports = RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0).randomize(crowd.answers)
    assert len(reports) == 20
    assert repr(reports).startswith("Reports(20 reports, 5 tasks, 10 workers, mechanism=Randomized")

import warnings

import numpy as np
import pandas as pd
import pytest

from quietcrowd.answers import Answers
from quietcrowd.datasets import synthetic_crowd
from quietcrowd.domains import Categorical, Interval
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import as_frame, mark_of
from quietcrowd.mechanisms import (
    LaplacePerturbation,
    MatrixFactorization,
    Mechanism,
    RandomizedResponse,
    Reports,
)


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


LABELS, NUMBERS = Categorical(["no", "yes"]), Interval(low=0, high=10)
KINDS = {
    "labels": RandomizedResponse(domain=LABELS, epsilon=1.0),
    "null": RandomizedResponse(domain=LABELS, epsilon=1.0, null="category"),
    "released": LaplacePerturbation(domain=NUMBERS, epsilon=1.0, participation="released"),
    "sketches": MatrixFactorization(domain=NUMBERS, epsilon=1.0, rank=2, variant="fill"),
}


def reports_of(name, rng=None):
    mechanism = KINDS[name]
    labels = ["no", "yes", "no"] if mechanism.domain == LABELS else [1.0, 2.0, 3.0]
    frame = pd.DataFrame({"task": ["t", "u", "u"], "worker": ["a", "a", "b"], "label": labels})
    return mechanism.randomize(Answers.from_frame(frame, mechanism.domain), rng)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("backend", ["pandas", "pyarrow"])
def test_a_frame_says_what_made_its_reports(name, backend):
    for rng in (None, np.random.default_rng(0)):
        mark = mark_of(reports_of(name, rng).to_frame(backend))
        assert set(mark) == {"mechanism", "simulated"}
        assert Mechanism.from_dict(mark["mechanism"]) == KINDS[name]
        assert mark["simulated"] == (rng is not None)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_reports_are_read_from_their_own_frame_without_a_warning(name, backend):
    pytest.importorskip(backend)
    reports = reports_of(name)
    table = as_frame(reports.to_frame(backend)).to_arrow()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        back = reports.mechanism.read_reports(
            table, reports.table.tasks, reports.table.workers, simulated=False
        )
    assert back.to_frame("pyarrow").equals(reports.to_frame("pyarrow"))


def test_a_mechanism_that_no_file_describes_is_named():
    class Unnamed(RandomizedResponse):
        pass

    mechanism = Unnamed(domain=LABELS, epsilon=1.0)
    frame = pd.DataFrame({"task": ["t"], "worker": ["a"], "label": ["no"]})
    sent = mechanism.randomize(Answers.from_frame(frame, LABELS)).to_frame()
    assert mark_of(sent) == {"mechanism": {"mechanism": "Unnamed"}, "simulated": False}

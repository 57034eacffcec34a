import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import quietcrowd as qc
from quietcrowd.answers import Answers
from quietcrowd.datasets import make_crowd
from quietcrowd.domains import Ordinal
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import (
    LaplaceMechanism,
    MatrixFactorization,
    RandomizedResponse,
    TwoLayerRandomizedResponse,
    taskwise,
)
from quietcrowd.mechanisms.taskwise import TaskwiseMechanism

COINS = qc.Categorical([0, 1])
NUMBERS = qc.Interval(low=0, high=10)


@pytest.mark.parametrize(
    ("mechanism", "shape"),
    [
        (qc.RandomizedResponse(domain=COINS, epsilon=1.0), None),
        (qc.LaplaceMechanism(domain=NUMBERS, epsilon=1.0), None),
        (TwoLayerRandomizedResponse(domain=COINS, low=0.1, high=0.4), (1, 9)),
        (
            TwoLayerRandomizedResponse(
                domain=COINS, epsilon=1.0, distribution="epsilon", missing="category"
            ),
            (2, 9),
        ),
    ],
)
def test_what_a_worker_draws_once(mechanism, shape):
    for rng in (None, np.random.default_rng(1)):
        drawn = mechanism.draw_workers(9, rng)
        assert (None if drawn is None else drawn.shape) == shape


def test_what_was_drawn_is_what_is_used():
    answers = make_crowd(tasks=40, workers=30, random_state=1).answers.canonical
    mechanism = TwoLayerRandomizedResponse(domain=answers.domain, low=0.0, high=1.0)
    drawn = np.zeros((1, 30), np.uint64)
    drawn[0, 15:] = 2**32
    reports = mechanism.randomize_tasks(answers, drawn, np.random.default_rng(2)).table
    flipped = reports.values != answers.values
    assert flipped.tolist() == (answers.worker_codes >= 15).tolist()


def test_sketches_are_of_all_tasks():
    assert not isinstance(MatrixFactorization(domain=NUMBERS, epsilon=1.0), TaskwiseMechanism)


STARS = Ordinal(range(5))
HIDING = [
    RandomizedResponse(domain=STARS, epsilon=1.0, missing="category"),
    TwoLayerRandomizedResponse(
        domain=STARS, epsilon=1.0, distribution="epsilon", missing="category"
    ),
    LaplaceMechanism(domain=STARS, epsilon=1.0),
    LaplaceMechanism(domain=STARS, epsilon=1.0, participation="released"),
    MatrixFactorization(domain=STARS, epsilon=1.0),
    MatrixFactorization(domain=STARS, epsilon=1.0, variant="statistics"),
]


@pytest.mark.parametrize("block", [1, 7, 10**6])
def test_blocks_of_workers_make_up_the_table(monkeypatch, block):
    monkeypatch.setattr(taskwise, "BLOCK", block)
    answers = make_crowd(kind="sparse", tasks=9, workers=13, sparsity=0.6, random_state=1).answers
    values = answers.values.astype(np.int16)
    table = np.full((13, 9), -7)
    for workers, cells in taskwise.dense_blocks(answers, values, null=-1):
        assert cells.dtype == np.int16
        table[workers] = cells
    expected = np.full((13, 9), -1)
    expected[answers.worker_codes, answers.task_codes] = answers.values
    assert np.array_equal(table, expected)


@pytest.mark.parametrize("mechanism", HIDING, ids=str)
def test_a_device_whose_worker_answered_nothing_reports_like_any_other(mechanism):
    nothing = pd.DataFrame({"task": [], "worker": [], "label": []})
    tasks = [f"task {place}" for place in range(40)]
    silent = Answers.from_frame(nothing, STARS, tasks=tasks, workers=["ann"])
    busy = pd.DataFrame({"task": tasks, "worker": "ann", "label": 4})
    answered = Answers.from_frame(busy, STARS, tasks=tasks, workers=["ann"])
    one, other = (
        mechanism.randomize(answers).to_frame("pyarrow") for answers in (silent, answered)
    )
    assert one.schema == other.schema
    assert len(one) == len(other)
    assert one.drop_columns(one.column_names[2:]).equals(other.drop_columns(one.column_names[2:]))


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("mechanism", HIDING, ids=str)
def test_ten_billion_cells_are_refused_before_anything_is_allocated(mechanism):
    answers = Answers(
        domain=STARS,
        tasks=pa.array(np.arange(10**4)),
        workers=pa.array(np.arange(10**6)),
        offsets=np.zeros(10**4 + 1),
        worker_codes=np.zeros(0),
        values=np.zeros(0, np.uint8),
    )
    with pytest.raises(ParameterError, match="10,000,000,000 reports"):
        mechanism.randomize(answers)


def test_reports_take_the_smallest_types():
    answers = make_crowd(kind="sparse", tasks=50, workers=30, sparsity=0.9, levels=range(5)).answers
    labels = HIDING[0].randomize(answers).table
    assert (labels.values.dtype, labels.worker_codes.dtype) == (np.uint8, np.int32)
    assert HIDING[2].randomize(answers).table.values.dtype == np.int32


def test_a_mechanism_that_draws_per_worker_needs_a_guarantee_of_its_own():
    class Drawn(qc.RandomizedResponse):
        worker_channel = None

    drawn = Drawn(domain=COINS, epsilon=1.0)
    assert not drawn.independent_reports
    with pytest.raises(NotImplementedError, match="Drawn samples once for all answers"):
        drawn.guarantee(answers=2)


def test_what_is_drawn_once_is_not_taken_for_fresh_noise():
    with pytest.raises(TypeError, match="its worker_channel differs from its channel"):

        class TruthfulOrNoise(RandomizedResponse):
            def draw_workers(self, workers, rng):  # noqa: ARG002
                return np.zeros(workers, bool)


def test_a_table_of_another_shape_is_refused_before_anything_is_drawn():
    class NoRowForNull(RandomizedResponse):
        @property
        def channel(self):
            return RandomizedResponse(domain=self.domain, epsilon=self.epsilon).channel

        def replace(self, cells, workers, drawn, words):
            return super(RandomizedResponse, self).replace(cells, workers, drawn, words)

    mechanism = NoRowForNull(domain=COINS, epsilon=1.0, missing="category")
    all_answered = pd.DataFrame({"task": [1, 2], "worker": [1, 1], "label": [0, 1]})
    for rows in (all_answered, all_answered.iloc[:1]):
        answers = Answers.from_frame(rows, COINS, tasks=[1, 2])
        with pytest.raises(ParameterError, match="must have 3 rows, one per answer, and 3 columns"):
            mechanism.randomize(answers)

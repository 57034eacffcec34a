import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import CRH, METHODS
from quietcrowd.inference.labels.model import CategoricalMethod

CROWD = qc.make_crowd(tasks=40, workers=12, answers_per_task=4, labels=[*"abc"], random_state=3)
FRAME = CROWD.answers.to_frame()
WITH = [
    *(
        kind()
        for kind in METHODS.values()
        if issubclass(kind, CategoricalMethod) or kind is qc.NoiseAware
    ),
    qc.DawidSkene(one_coin=True),
]


@pytest.mark.parametrize("method", WITH, ids=str)
def test_the_truth_has_the_confidence_and_rows_sum_to_one(method):
    more = qc.Answers.from_frame(FRAME, CROWD.answers.domain, tasks=[*range(40), 99])
    estimate = method.fit(more, gold={0: "b", 1: "c"})
    wide = estimate.probabilities()
    truths = estimate.truths.set_index("task")
    assert wide.drop(index=99).sum(axis=1).to_numpy() == pytest.approx(1)
    assert wide.loc[99].isna().all()
    assert wide.loc[0].to_dict() == {"a": 0, "b": 1, "c": 0}
    rows = truths.drop(index=99)
    of_truth = [wide.loc[task, label] for task, label in rows["truth"].items()]
    assert of_truth == pytest.approx(rows["confidence"].to_numpy(), abs=1e-9)
    long = estimate.posterior.pivot(index="task", columns="label", values="probability")
    pd.testing.assert_frame_equal(long, wide, check_names=False)


def test_dawid_skene_multiplies_what_the_confusions_say():
    estimate = qc.DawidSkene().fit(CROWD.answers)
    state = estimate.state
    rows = FRAME[FRAME["task"] == 5]
    odds = state.priors.copy()
    for worker, label in zip(rows["worker"], rows["label"], strict=True):
        place = estimate.answers.workers.to_pylist().index(worker)
        odds *= state.confusion[place, :, "abc".index(label)]
    expected = odds / odds.sum()
    assert estimate.probabilities().loc[5].to_numpy() == pytest.approx(expected, abs=1e-6)


def test_frames_of_probabilities_are_of_the_library_that_came_in():
    expected = qc.WeightedVote().fit_predict_proba(FRAME)
    polars = qc.WeightedVote().fit_predict_proba(pl.from_pandas(FRAME))
    assert isinstance(polars, pl.DataFrame)
    assert polars.columns == ["task", "a", "b", "c"]
    assert np.array_equal(polars.drop("task").to_numpy(), expected.to_numpy())
    table = qc.WeightedVote().fit_predict_proba(pa.Table.from_pandas(FRAME))
    assert isinstance(table, pa.Table)


@pytest.mark.parametrize(
    ("method", "message"),
    [(qc.Mean(), "estimates numbers"), (CRH(loss="zero-one"), "no posterior")],
)
def test_methods_without_probabilities_say_so(method, message):
    numbers = FRAME.assign(label=FRAME["task"] % 3)
    with pytest.raises(ParameterError, match=message):
        method.fit_predict_proba(numbers)

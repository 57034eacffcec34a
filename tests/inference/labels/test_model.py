import warnings

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.exceptions import (
    AnswerError,
    NoiseIgnoredWarning,
    ParameterError,
    SimilarLabelsWarning,
)
from quietcrowd.inference import CRH, METHODS, MajorityVote, WeightedVote, ignores_noise
from quietcrowd.inference.labels.model import CategoricalMethod
from quietcrowd.mechanisms import TwoLayerRandomizedResponse
from quietcrowd.testing import crowds

FEW = qc.make_crowd(tasks=40, workers=12, answers_per_task=4, labels=[*"abc"], random_state=3)
FEW_FRAME = FEW.answers.to_frame()
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
    more = qc.Answers.from_frame(FEW_FRAME, FEW.answers.domain, tasks=[*range(40), 99])
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
    estimate = qc.DawidSkene().fit(FEW.answers)
    state = estimate.state
    rows = FEW_FRAME[FEW_FRAME["task"] == 5]
    odds = state.priors.copy()
    for worker, label in zip(rows["worker"], rows["label"], strict=True):
        place = estimate.answers.workers.to_pylist().index(worker)
        odds *= state.confusion[place, :, "abc".index(label)]
    expected = odds / odds.sum()
    assert estimate.probabilities().loc[5].to_numpy() == pytest.approx(expected, abs=1e-6)


def test_frames_of_probabilities_are_of_the_library_that_came_in():
    expected = qc.WeightedVote().fit_predict_proba(FEW_FRAME, non_private=True)
    polars = qc.WeightedVote().fit_predict_proba(pl.from_pandas(FEW_FRAME), non_private=True)
    assert isinstance(polars, pl.DataFrame)
    assert polars.columns == ["task", "a", "b", "c"]
    assert np.array_equal(polars.drop("task").to_numpy(), expected.to_numpy())
    table = qc.WeightedVote().fit_predict_proba(pa.Table.from_pandas(FEW_FRAME), non_private=True)
    assert isinstance(table, pa.Table)


@pytest.mark.parametrize(
    ("method", "message"),
    [(qc.Mean(), "estimates numbers"), (CRH(loss="zero-one"), "no posterior")],
)
def test_methods_without_probabilities_say_so(method, message):
    numbers = FEW_FRAME.assign(label=FEW_FRAME["task"] % 3)
    with pytest.raises(ParameterError, match=message):
        method.fit_predict_proba(numbers, non_private=True)


CROWD = qc.make_crowd(tasks=2_000, workers=40, answers_per_task=10, random_state=6)


@pytest.mark.parametrize("method", [MajorityVote(), WeightedVote()])
def test_reports_warn_and_plain_answers_do_not(method):
    reports = qc.RandomizedResponse(domain=CROWD.answers.domain, epsilon=1.0).randomize(
        CROWD.answers
    )
    with pytest.warns(
        NoiseIgnoredWarning, match="reads the reports of RandomizedResponse as non-private"
    ):
        method.fit(reports)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        method.fit(CROWD.answers)
        method.fit(reports.table)


@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")
def test_quality_is_corrected_for_a_known_channel():
    mechanism = qc.RandomizedResponse(domain=CROWD.answers.domain, epsilon=1.5)
    reports = mechanism.simulate(CROWD.answers, random_state=3)
    with ignores_noise():
        workers = WeightedVote().fit(reports).workers
    plain = WeightedVote().fit(CROWD.answers).workers
    assert workers["agreement"].max() < 0.9
    assert abs(workers["accuracy"] - plain["accuracy"]).mean() < 0.05
    assert workers["accuracy"].between(workers["accuracy_low"], workers["accuracy_high"]).all()


@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")
def test_quality_is_that_of_answers_though_flips_are_secret():
    """Which flip a worker drew nobody else knows: what its distribution tells is taken out."""
    mechanism = TwoLayerRandomizedResponse(domain=CROWD.answers.domain, low=0.1, high=0.3)
    reports = mechanism.simulate(CROWD.answers, random_state=3)
    with ignores_noise():
        workers = WeightedVote().fit(reports).workers.set_index("worker")
    frame = CROWD.answers.to_frame().merge(CROWD.truths.to_pandas(), on="task")
    right = (frame["label_x"] == frame["label_y"]).groupby(frame["worker"]).mean()
    assert abs(workers["accuracy"] - right).mean() < 0.08
    assert (workers["accuracy"] - workers["agreement"]).mean() > 0.05


@pytest.mark.parametrize("labels", [2, 3, nightly(4), 5, nightly(7)])
@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.NoSignalWarning")
def test_quality_is_missing_where_reports_tell_nothing(labels):
    crowd = qc.make_crowd(tasks=30, workers=20, labels=range(labels))
    mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=0.0)
    with ignores_noise():
        workers = MajorityVote().fit(mechanism.randomize(crowd.answers)).workers
    assert workers["accuracy"].isna().all()
    assert workers["agreement"].notna().all()


def test_a_warm_start_matches_workers_by_id():
    cold = WeightedVote().fit(CROWD.answers)
    frame = CROWD.answers.to_frame()
    half = frame[frame["worker"] >= 20]
    domain = CROWD.answers.domain
    answers = qc.Answers.from_frame(half, domain)
    aligned = cold.state_of(answers.workers)
    for place, worker in enumerate(answers.workers.to_pylist()):
        assert aligned.accuracy[place] == cold.state.accuracy[worker]
    assert WeightedVote().fit(answers, init=cold).converged
    texts = qc.Answers.from_frame(half.astype({"worker": str}), CROWD.answers.domain)
    by_text = cold.state_of(texts.workers).accuracy
    assert sorted(by_text) == sorted(aligned.accuracy)
    strangers = qc.Answers.from_frame(half.assign(worker="x" + half["worker"].astype(str)), domain)
    middle = np.sort(cold.state.accuracy)[20]
    assert (cold.state_of(strangers.workers).accuracy == middle).all()


def test_a_warm_start_of_another_method_is_refused():
    with pytest.raises(ParameterError, match="init must be an estimate of WeightedVote"):
        WeightedVote().fit(CROWD.answers, init=MajorityVote().fit(CROWD.answers))
    MajorityVote().fit(CROWD.answers, init=MajorityVote().fit(CROWD.answers))
    with pytest.raises(ParameterError, match="init must be a TruthEstimate; got str"):
        WeightedVote().fit(CROWD.answers, init="warm")
    three = qc.make_crowd(tasks=20, workers=40, labels=range(3)).answers
    with pytest.raises(
        ParameterError, match=r"init must be an estimate for Categorical\(\[0, 1, 2"
    ):
        WeightedVote().fit(three, init=WeightedVote().fit(CROWD.answers))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([1, 2, 3], "expected a pandas, Polars or PyArrow dataframe; got int"),
        (pd.DataFrame({"task": [1], "worker": [1]}), "column 'label' is missing"),
        (pd.DataFrame({"task": [1], "worker": [1], "label": [None]}), "there is no answer"),
        (
            pd.DataFrame({"task": [1, 1], "worker": [2, 2], "label": [0, 1]}),
            "worker 2 answered task 1",
        ),
    ],
)
def test_bad_data(data, message):
    with pytest.raises(AnswerError, match=message):
        MajorityVote().fit(data, non_private=True)


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        (["yes", "no", "Yes", "YES"], "the labels 'YES' and 'Yes' differ"),
        (["no way", "no  way", "maybe"], "the labels 'no  way' and 'no way' differ"),
        (["yes", "no", "yes!"], None),
        ([0, 1, 1], None),
    ],
)
def test_labels_that_are_spelt_alike_are_told(labels, told):
    frame = pd.DataFrame({"task": range(len(labels)), "worker": "w", "label": labels})
    if told is None:
        qc.MajorityVote().fit(frame, non_private=True)
        return
    with pytest.warns(SimilarLabelsWarning, match=told):
        estimate = qc.NoiseAware().fit(frame, non_private=True)
    assert set(estimate.truths["truth"]) <= set(labels)
    qc.NoiseAware().fit(qc.Answers.from_frame(frame, qc.Categorical(sorted(set(labels)))))


def test_numbers_need_another_method():
    frame = pd.DataFrame({"task": [1], "worker": [1], "label": [0.5]})
    answers = qc.Answers.from_frame(frame, qc.Interval(low=0, high=1))
    with pytest.raises(
        AnswerError, match="MajorityVote needs labels, a Categorical or Ordinal domain"
    ):
        MajorityVote().fit(answers)


def test_fit_predict_is_what_crowd_kit_returns():
    frame = pd.DataFrame({"task": ["t"] * 3, "worker": list("uvw"), "label": ["x", "y", "x"]})
    series = MajorityVote().fit_predict(frame, non_private=True)
    expected = pd.Series(["x"], index=pd.Index(["t"], name="task"), name="agg_label")
    pd.testing.assert_series_equal(series, expected)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(
    "method", [WeightedVote(), *map(nightly, [MajorityVote(), WeightedVote(smoothing=3)])]
)
@given(
    frame=crowds(max_tasks=10), random=st.randoms(use_true_random=False), seed=st.integers(0, 99)
)
def test_no_estimate_depends_on_the_order_of_rows_or_the_names_of_workers(
    method, frame, random, seed
):
    order = list(range(len(frame)))
    random.shuffle(order)
    places = list(range(100, 100 + frame["worker"].nunique()))
    random.shuffle(places)
    names = dict(zip(frame["worker"].unique(), map(str, places), strict=True))
    method = attrs.evolve(method, random_state=seed)
    one = method.fit(frame, non_private=True)
    other = method.fit(
        frame.iloc[order].assign(worker=frame["worker"].map(names)), non_private=True
    )
    columns = ["task", "truth", "confidence", "answers", "tied"]
    left, right = (
        estimate.truths[columns].sort_values("task").reset_index(drop=True)
        for estimate in (one, other)
    )
    pd.testing.assert_frame_equal(left, right, check_exact=True)
    columns = ["agreement", "accuracy", "accuracy_low", "accuracy_high"]
    renamed = one.workers.assign(worker=one.workers["worker"].map(names)).set_index("worker")
    found = other.workers.set_index("worker").loc[renamed.index]
    pd.testing.assert_frame_equal(renamed[columns], found[columns], check_exact=True)
    assert one.history == other.history


def test_known_truths_stay_in_what_is_predicted():
    votes = pd.DataFrame({"task": [*"aab"], "worker": [*"uvu"], "label": [*"xxy"]})
    for method in (qc.MajorityVote(), qc.DawidSkene(), qc.MACE()):
        gold = pd.Series({"a": "y"})
        assert method.fit_predict(data=votes, gold=gold, non_private=True).to_dict() == {
            "a": "y",
            "b": "y",
        }
        assert method.fit_predict_proba(data=votes, gold=gold, non_private=True).loc[
            "a"
        ].to_dict() == {
            "x": 0.0,
            "y": 1.0,
        }


def test_known_truths_in_place_of_a_start_say_where_they_go():
    votes = pd.DataFrame({"task": [*"aab"], "worker": [*"uvu"], "label": [*"xxy"]})
    with pytest.raises(ParameterError, match=r"got Series. Pass known truths as gold="):
        qc.DawidSkene().fit(votes, pd.Series({"a": "y"}), non_private=True)

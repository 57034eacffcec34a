"""Mean, median and weighted mean against plain NumPy."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quietcrowd.answers import Answers
from quietcrowd.datasets import make_crowd
from quietcrowd.domains import Interval
from quietcrowd.exceptions import AnswerError, NoiseIgnoredWarning, ParameterError
from quietcrowd.inference import MajorityVote, Mean, Median, WeightedMean, ignores_noise
from quietcrowd.mechanisms import LaplaceMechanism, RandomizedResponse

pytestmark = pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")

CROWD = make_crowd(
    kind="sparse", tasks=40, workers=30, sparsity=0.6, truths="uniform", random_state=3
)


@st.composite
def tables(draw):
    rows = draw(
        st.dictionaries(
            st.tuples(st.integers(0, 5), st.integers(0, 5)),
            st.floats(-1e6, 1e6).map(lambda x: round(x, 3)),
            min_size=1,
        )
    )
    return pd.DataFrame(
        [(task, worker, label) for (task, worker), label in rows.items()],
        columns=["task", "worker", "label"],
    )


@pytest.mark.nightly
@pytest.mark.slow
@given(tables())
@settings(deadline=None)
def test_mean_and_median_are_those_of_pandas(frame):
    scale = max(1.0, frame["label"].abs().max())
    grouped = frame.groupby("task", sort=False)["label"]
    for method, expected in ((Mean(), grouped.mean()), (Median(), grouped.median())):
        found = method.fit_predict(frame, non_private=True)
        assert found.loc[expected.index].to_numpy() == pytest.approx(
            expected.to_numpy(), abs=1e-8 * scale
        )


def algorithm_1(answers, floor, sweeps):
    """Equations 1 and 2 in plain NumPy."""
    values = answers.domain.numbers(answers.values)
    tasks, workers = answers.task_codes, answers.worker_codes
    quality = np.ones(len(answers.workers))
    for _ in range(sweeps):
        truths = np.bincount(tasks, quality[workers] * values) / np.bincount(
            tasks, quality[workers]
        )
        squared = np.bincount(workers, (values - truths[tasks]) ** 2)
        error = np.sqrt(squared / np.bincount(workers))
        quality = 1 / np.maximum(error, floor * np.ptp(values))
    return truths, error


def test_weighted_mean_is_algorithm_1():
    estimate = WeightedMean(smoothing=0.0, tol=0.0, max_iter=60).fit(CROWD.answers)
    truths, error = algorithm_1(CROWD.answers, 1e-3, 61)
    assert estimate.estimates.truths == pytest.approx(truths, abs=1e-6)
    assert estimate.error == pytest.approx(error, abs=1e-6)
    # The weights that gave the truths are those of the sweep before.
    assert estimate.weight == pytest.approx((1 / error) / (1 / error).sum(), rel=1e-5)


@pytest.mark.nightly
@pytest.mark.slow
@given(tables(), st.sampled_from([0.0, 0.3, 1.0, 10.0]))
@settings(deadline=None)
def test_the_loop_cannot_fall(frame, smoothing):
    history = WeightedMean(max_iter=20, smoothing=smoothing).fit(frame, non_private=True).history
    assert all(after >= before - 1e-9 for before, after in pairwise(history))


def test_a_worker_alone_on_a_task_does_not_capture_it():
    rows = [
        (0, "alone", 9.0),
        *((task, f"w{i}", 3.0 + i) for task in range(1, 6) for i in range(4)),
    ]
    rows += [(task, "alone", 3.0) for task in range(1, 6)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    estimate = WeightedMean(floor=0.05).fit(frame, non_private=True)
    assert estimate.weight.max() < 0.9
    assert np.isfinite(estimate.estimates.truths).all()


def test_good_workers_count_more():
    estimate = WeightedMean().fit(CROWD.answers)
    truths = CROWD.truths["label"].to_numpy()
    errors = np.abs(CROWD.answers.values - truths[CROWD.answers.task_codes])
    true_error = np.bincount(CROWD.answers.worker_codes, errors) / np.bincount(
        CROWD.answers.worker_codes
    )
    assert np.corrcoef(estimate.weight, -true_error)[0, 1] > 0.7


@pytest.mark.parametrize("method", [Mean(), Median(), WeightedMean()])
@pytest.mark.parametrize("unit", [1e-300, 1e-5, 1.0, 1e12, 1e300])
def test_any_unit_of_measurement(method, unit):
    frame = pd.DataFrame(
        {"task": [0, 0, 0, 1, 1], "worker": [0, 1, 2, 0, 1], "label": [1.0, 2.0, 6.0, 3.0, 4.0]}
    )
    plain = method.fit(frame, non_private=True)
    scaled = method.fit(frame.assign(label=frame["label"] * unit), non_private=True)
    assert scaled.estimates.truths / unit == pytest.approx(plain.estimates.truths, rel=1e-9)
    assert scaled.error / unit == pytest.approx(plain.error, rel=1e-6)


def test_reports_are_read_as_answers_with_one_warning():
    mechanism = LaplaceMechanism(domain=CROWD.answers.domain, epsilon=1.0)
    reports = mechanism.randomize(CROWD.answers)
    with pytest.warns(NoiseIgnoredWarning, match="noise for a missing answer") as seen:
        estimate = Mean().fit(reports)
    assert len(seen) == 1
    assert (estimate.truths["answers"] == 30).all()
    alone = LaplaceMechanism(domain=CROWD.answers.domain, epsilon=1.0, fill=None)
    with pytest.warns(NoiseIgnoredWarning) as seen:
        Mean().fit(alone.randomize(CROWD.answers))
    assert "no answer" not in str(seen[0].message)


def test_the_warning_points_at_the_caller_and_comes_after_all_errors():
    mechanism = LaplaceMechanism(domain=CROWD.answers.domain, epsilon=1.0)
    reports = mechanism.randomize(CROWD.answers)
    for call in (Mean().fit, Mean().fit_predict):
        with pytest.warns(NoiseIgnoredWarning) as seen:
            call(reports)
        assert [warning.filename for warning in seen] == [__file__]
    unknown = pd.DataFrame({"task": ["none"], "label": [1.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(AnswerError, match="not in the answers"):
            Mean().fit(reports, gold=unknown)
        with pytest.raises(ParameterError, match="init must be an estimate of Mean"):
            Mean().fit(reports, init=Median().fit(CROWD.answers))


def test_null_reports_are_dropped_and_counted():
    mechanism = RandomizedResponse(domain=CROWD.answers.domain, epsilon=3.0, missing="category")
    reports = mechanism.simulate(CROWD.answers, random_state=0)
    null = int((reports.table.values == 10).sum())
    frame = reports.to_frame().dropna()
    with ignores_noise():
        estimate = Mean().fit(reports)
    assert estimate.answers.dropped.null_reports == null == 1200 - len(frame)
    expected = frame.groupby("task")["label"].mean()
    assert estimate.estimates.truths == pytest.approx(expected.to_numpy())


def test_labels_are_not_averaged():
    crowd = make_crowd(tasks=5, workers=10)
    with pytest.raises(AnswerError, match="Mean needs numbers"):
        Mean().fit(crowd.answers)
    numbers = CROWD.answers.with_values(Interval(low=0, high=9), CROWD.answers.values)
    with pytest.raises(AnswerError, match="Categorical or Ordinal"):
        MajorityVote().fit(numbers)


@pytest.mark.parametrize("floor", [0.0, 1.0, -0.1, float("nan"), "small"])
def test_a_floor_is_a_share(floor):
    with pytest.raises(ParameterError, match="floor must be"):
        WeightedMean(floor=floor)


def test_text_is_no_number():
    frame = pd.DataFrame({"task": ["a"], "worker": ["u"], "label": ["many"]})
    with pytest.raises(AnswerError, match="row 0, column 'label': 'many' is not a number"):
        Mean().fit(frame, non_private=True)
    assert Mean().fit_predict(frame.assign(label="2.5"), non_private=True).tolist() == [2.5]


def test_a_start_from_other_workers():
    cold = WeightedMean().fit(CROWD.answers)
    some = Answers.from_frame(CROWD.answers.to_frame().query("worker >= 10"), CROWD.answers.domain)
    warm = WeightedMean(max_iter=1).fit(some, init=cold)
    assert len(warm.weight) == 20
    with pytest.raises(ParameterError, match="init must be an estimate of WeightedMean"):
        WeightedMean().fit(some, init=Mean().fit(some))


def test_standard_errors_say_how_far_means_are_off():
    crowd = make_crowd(
        kind="sparse", tasks=400, workers=500, sparsity=0.8, truths="uniform", random_state=8
    )
    mechanism = LaplaceMechanism(domain=crowd.answers.domain, epsilon=2.0, fill=None)
    reports = mechanism.simulate(crowd.answers, random_state=0)
    plain = Mean().fit(crowd.answers).estimates.truths
    with ignores_noise():
        found = Mean().fit(reports).estimates
        assert np.isnan(Median().fit(reports).estimates.standard_error).all()
    ratios = (found.truths - plain) / found.standard_error
    assert 0.8 < np.sqrt((ratios**2).mean()) < 1.1  # the answers' own spread is in both


def test_numbers_too_near_each_other_for_floats_are_an_error():
    """`NoiseAware` gave NaN without a word where the range was 1e-320."""
    frame = pd.DataFrame({"task": [*"aa"], "worker": [*"uv"], "label": [1e-320, 4e-320]})
    with pytest.raises(AnswerError, match="too close to each other for floats"):
        Mean().fit(frame, non_private=True)

"""Who is told what of reports: simulated, in a frame, or of an epsilon of 0."""

import warnings

import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import (
    AnswerError,
    ConvergenceWarning,
    NoiseIgnoredWarning,
    NoSignalWarning,
    SimulatedNoiseWarning,
)
from quietcrowd.inference import RatioMean, ignores_noise
from quietcrowd.mechanisms import TwoLayerRandomizedResponse
from quietcrowd.scale import infer_store, partition_parquet

CROWD = qc.make_crowd(tasks=20, workers=10, answers_per_task=5, random_state=1)
DOMAIN = CROWD.answers.domain
MECHANISM = qc.RandomizedResponse(domain=DOMAIN, epsilon=1.0)
REAL = MECHANISM.randomize(CROWD.answers)
SIMULATED = MECHANISM.simulate(CROWD.answers, random_state=0)
METHODS = (qc.MajorityVote(), qc.WeightedVote(), qc.DawidSkene(), qc.GLAD())


def told(call, *given, **options):
    """Return the kinds of warnings about noise that a call gives, all of them about this file."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        call(*given, **options)
    assert {one.filename for one in seen} <= {__file__}
    return [one.category for one in seen if one.category is not ConvergenceWarning]


@pytest.mark.parametrize("method", METHODS)
def test_simulated_reports_are_called_so_and_real_ones_are_not(method):
    for call in (method.fit, method.fit_predict):
        assert told(call, SIMULATED) == [SimulatedNoiseWarning, NoiseIgnoredWarning]
        assert told(call, REAL) == [NoiseIgnoredWarning]
        assert told(call, CROWD.answers) == []


def test_reports_that_are_extended_by_are_told_too():
    with ignores_noise():
        start = qc.MajorityVote().fit(REAL)
    moved = CROWD.answers.to_frame().assign(task=lambda rows: rows["task"] + 1000)
    answers = qc.Answers.from_frame(moved, DOMAIN)
    extend = qc.MajorityVote().extend
    simulated = MECHANISM.simulate(answers, random_state=0)
    assert told(extend, start, simulated) == [SimulatedNoiseWarning, NoiseIgnoredWarning]
    assert told(extend, start, MECHANISM.randomize(answers)) == [NoiseIgnoredWarning]


def test_a_method_that_knows_the_noise_tells_of_simulations_too():
    numbers = qc.make_crowd(
        kind="sparse", tasks=20, workers=300, sparsity=0.5, random_state=1
    ).answers
    mechanism = qc.LaplaceMechanism(domain=numbers.domain, epsilon=50.0, participation="released")
    reports = mechanism.simulate(numbers, random_state=0)
    assert told(RatioMean().fit, reports) == [SimulatedNoiseWarning]
    with pytest.warns(SimulatedNoiseWarning, match="simulated and protect no one"):
        RatioMean().fit(reports)


def test_warnings_come_after_all_errors():
    unknown = pd.DataFrame({"task": ["none"], "label": [DOMAIN.labels[0]]})
    marked = SIMULATED.to_frame()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data in (SIMULATED, marked):
            with pytest.raises(AnswerError, match="not in the answers"):
                qc.MajorityVote().fit(data, gold=unknown)
        with pytest.raises(AnswerError, match="column 'label' is missing"):
            qc.MajorityVote().fit(marked.drop(columns="label"))


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("method", METHODS)
def test_a_frame_of_reports_is_read_as_reports(method, backend):
    real, simulated = (reports.to_frame(backend) for reports in (REAL, SIMULATED))
    given = {"mechanisms": [MECHANISM]}
    for call in (method.fit, method.fit_predict):
        assert told(call, real, **given) == [NoiseIgnoredWarning]
        assert told(call, simulated, **given) == [SimulatedNoiseWarning, NoiseIgnoredWarning]


def test_frames_that_are_extended_by_are_told_too():
    with ignores_noise():
        start = qc.MajorityVote().fit(REAL)
    more = REAL.to_frame()
    more["task"] += 1000
    assert told(qc.MajorityVote().extend, start, more) == [NoiseIgnoredWarning]


@pytest.mark.parametrize("null", [None, "category"])
@pytest.mark.parametrize("method", METHODS)
def test_an_epsilon_of_0_is_told(method, null):
    nothing = qc.RandomizedResponse(domain=DOMAIN, epsilon=0.0, missing=null)
    with ignores_noise():
        assert told(method.fit, nothing.randomize(CROWD.answers)) == [
            NoSignalWarning,
            NoiseIgnoredWarning,
        ]
    with (
        ignores_noise(),
        pytest.warns(
            NoSignalWarning, match=r"RandomizedResponse carry no information .* epsilon is 0"
        ),
    ):
        method.fit(nothing.randomize(CROWD.answers))


@pytest.mark.parametrize("mechanism", [qc.RandomizedResponse, qc.LaplaceMechanism])
def test_an_epsilon_of_0_is_told_once(mechanism, tmp_path):
    crowd, more = CROWD, {}
    if mechanism is qc.LaplaceMechanism:
        crowd, more = qc.make_crowd(kind="numbers", tasks=30, workers=12), {"fill": None}
    nothing = mechanism(domain=crowd.answers.domain, epsilon=1e-9, **more)
    reports = nothing.randomize(crowd.answers)
    assert told(qc.NoiseAware().fit, reports) == [NoSignalWarning]
    qc.write_reports(reports, tmp_path / "reports.parquet")
    store = partition_parquet(tmp_path / "reports.parquet", tmp_path / "store", partitions=2)
    target = tmp_path / "truths.parquet"
    assert told(infer_store, store, qc.NoiseAware(), target) == [NoSignalWarning]


def test_a_secret_probability_around_a_half_is_not_called_nothing():
    mechanism = TwoLayerRandomizedResponse(domain=DOMAIN, low=0.0, high=1.0)
    assert mechanism.channel.epsilon == 0
    reports = mechanism.randomize(CROWD.answers)
    assert told(qc.MajorityVote().fit, reports) == [NoiseIgnoredWarning]


SLOW = qc.make_crowd(tasks=80, workers=20, answers_per_task=5, random_state=2).answers


def test_a_fit_that_stops_before_it_rests_says_so_and_how_to_go_on():
    method = qc.GLAD(tol=0)
    with pytest.warns(ConvergenceWarning, match="GLAD did not converge in 100 .*max_iter=1000"):
        assert not method.fit(SLOW).converged


@pytest.mark.parametrize(
    "method",
    [qc.GLAD(tol=0, max_iter=5), qc.NoiseAware(tol=0), qc.WeightedVote()],
    ids=["a lower limit was asked for", "its limit is enough", "it rests"],
)
def test_nothing_is_said_of_a_fit_that_stops_where_it_should(method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        method.fit(SLOW)

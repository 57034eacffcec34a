"""GTM against plain NumPy."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quietcrowd.answers import Answers
from quietcrowd.datasets import make_crowd
from quietcrowd.domains import Interval
from quietcrowd.exceptions import ParameterError
from quietcrowd.inference import GTM, Mean
from quietcrowd.inference.partition import Summary

CROWD = make_crowd(
    kind="sparse", tasks=40, workers=30, sparsity=0.6, truths="uniform", random_state=3
)


def expectation_maximisation(answers, sweeps, alpha, beta, prior_mean, prior_sd):
    """Zhao and Han's steps, with the variance of the truths, in plain NumPy."""
    tasks, workers = answers.task_codes, answers.worker_codes
    values = answers.values.astype(float)
    grouped = pd.Series(values).groupby(tasks)
    centre, scale = grouped.mean().to_numpy(), grouped.std(ddof=0).to_numpy()
    z = (values - centre[tasks]) / scale[tasks]
    variance = np.full(len(answers.workers), beta / (alpha + 1))
    for sweep in range(sweeps + 1):
        precision = 1 / prior_sd**2 + np.bincount(tasks, 1 / variance[workers])
        mean = (prior_mean / prior_sd**2 + np.bincount(tasks, z / variance[workers])) / precision
        if sweep < sweeps:
            squares = np.bincount(workers, (z - mean[tasks]) ** 2 + 1 / precision[tasks])
            variance = (2 * beta + squares) / (2 * (alpha + 1) + np.bincount(workers))
    return centre + scale * mean, scale / np.sqrt(precision), variance


@pytest.mark.parametrize("sweeps", [1, 5, 40])
@pytest.mark.parametrize("prior", [(10.0, 10.0, 0.0, 1.0), (0.5, 2.0, 0.3, 0.4)])
def test_it_is_its_equations(sweeps, prior):
    alpha, beta, mean, sd = prior
    found = GTM(
        alpha=alpha,
        beta=beta,
        prior_mean=mean,
        prior_sd=sd,
        outliers=1e9,
        max_iter=sweeps,
        tol=0.0,
    ).fit(CROWD.answers)
    truths, errors, variance = expectation_maximisation(CROWD.answers, found.n_iter, *prior)
    assert found.estimates.truths == pytest.approx(truths, abs=1e-8)
    assert found.estimates.standard_error == pytest.approx(errors, rel=1e-6)
    assert found.state.variance == pytest.approx(variance, rel=1e-7)


@pytest.mark.nightly
@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(-50, 50)),
        min_size=1,
        unique_by=lambda row: row[:2],
    ),
    st.floats(0.1, 20),
    st.floats(0.1, 20),
)
@settings(deadline=None)
def test_the_evidence_cannot_fall(rows, alpha, beta):
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    history = GTM(alpha=alpha, beta=beta, tol=0.0, max_iter=30).fit(frame, non_private=True).history
    assert all(after >= before - 1e-6 for before, after in pairwise(history))


def test_an_outlier_counts_neither_for_the_truth_nor_for_its_worker():
    rng = np.random.default_rng(0)
    rows = [(task, i, rng.normal(task, 0.5)) for task in range(30) for i in range(9)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    broken = frame.copy()
    broken.loc[4, "label"] = 1e6
    clean = GTM().fit(
        Answers.from_frame(frame.drop(4), Interval(low=-9, high=1e7), workers=range(9))
    )
    spoilt = GTM().fit(broken, non_private=True)
    assert spoilt.estimates.truths == pytest.approx(clean.estimates.truths, abs=1e-3)
    assert spoilt.state.variance == pytest.approx(clean.state.variance, rel=1e-3)
    assert spoilt.error[4] > 1e4, "the error that is reported is that of all answers"
    with_outlier = GTM(outliers=1e12).fit(broken, non_private=True)
    assert abs(with_outlier.estimates.truths[0]) > 100


def test_a_worker_of_one_answer_does_not_capture_its_task():
    rng = np.random.default_rng(7)
    rows = [(task, f"w{i}", rng.normal(5, 1)) for task in range(20) for i in range(6)]
    lone = np.mean([row[2] for row in rows if row[0] == 0]) + 0.01
    frame = pd.DataFrame([*rows, (0, "lone", lone)], columns=["task", "worker", "label"])
    quality = GTM().fit(frame, non_private=True).workers.set_index("worker")["weight"]
    assert quality["lone"] < 2 * quality.drop("lone").median()


def test_degenerate_tables():
    def fit(rows):
        return GTM().fit(pd.DataFrame(rows, columns=["task", "worker", "label"]), non_private=True)

    assert fit([("a", "u", 3.0)]).estimates.truths.tolist() == [3.0]
    one_worker = fit([(task, "u", float(task)) for task in range(5)])
    assert one_worker.estimates.truths == pytest.approx(np.arange(5.0))
    one_task = fit([("a", i, float(i)) for i in range(5)])
    assert one_task.estimates.truths == pytest.approx([2.0])
    constant = fit([(task, i, 7.0) for task in "ab" for i in range(3)])
    assert constant.estimates.truths.tolist() == [7.0, 7.0]
    assert np.isfinite(constant.state.variance).all()


def test_it_is_better_than_the_mean():
    truths = CROWD.truths["label"].to_numpy()
    plain, model = (
        np.abs(method.fit(CROWD.answers).estimates.truths - truths).mean()
        for method in (Mean(), GTM())
    )
    assert model < 0.95 * plain


@pytest.mark.parametrize("name", ["alpha", "beta", "prior_sd", "outliers"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), "many"])
def test_bad_parameters(name, value):
    with pytest.raises(ParameterError, match=name):
        GTM(**{name: value})


def test_the_mean_of_the_prior_is_finite():
    assert GTM(prior_mean=-2).prior_mean == -2
    for value in (float("nan"), float("inf"), float("-inf")):
        with pytest.raises(ParameterError, match="prior_mean"):
            GTM(prior_mean=value)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("alpha", 1e-4, 1e4),
        ("beta", 1e-4, 1e4),
        ("prior_mean", -2, 2),
        ("prior_sd", 0.01, 100),
    ],
)
def test_parameters_have_limits(name, low, high):
    for value in (low, high):
        assert getattr(GTM(**{name: value}), name) == value
    for value in (low - 1e-5, high * 1.01):
        with pytest.raises(ParameterError, match=f"{name} must be a number from {low:g} to"):
            GTM(**{name: value})


@pytest.mark.parametrize("shapes", [(1e-4, 1e4), (1e4, 1e-4), (1e4, 1e4), (1e-4, 1e-4)])
@pytest.mark.parametrize("mean", [-2.0, 2.0])
@pytest.mark.parametrize("sd", [0.01, 100.0])
def test_nothing_overflows_at_the_limits(shapes, mean, sd):
    crowd = make_crowd(
        kind="sparse", tasks=100, workers=20, sparsity=0.5, truths="uniform", random_state=1
    )
    alpha, beta = shapes
    model = GTM(alpha=alpha, beta=beta, prior_mean=mean, prior_sd=sd, tol=0.0, max_iter=30)
    found = model.fit(crowd.answers)
    assert all(after >= before - 1e-6 * abs(before) for before, after in pairwise(found.history))
    assert (found.state.variance > 0).all()


def test_a_narrow_prior_far_off_is_refused_for_many_tasks():
    counts = np.array([10**8])
    domain = Interval(low=0, high=1)
    summary = Summary(
        domain=domain, answers_per_worker=counts, tasks=10**8, longest_task=1, low=0.0, high=1.0
    )
    model = GTM(prior_mean=2.0, prior_sd=0.01).bind(summary)
    with pytest.raises(ParameterError, match=r"prior_mean=2\.0 with prior_sd=0\.01 is too narrow"):
        model.sweep(None, None, None)

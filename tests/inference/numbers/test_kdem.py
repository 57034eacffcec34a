"""KDEm against dense NumPy, closed forms, and what its densities promise."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import median_abs_deviation

from quietcrowd.datasets import make_crowd
from quietcrowd.exceptions import NoiseIgnoredWarning, ParameterError
from quietcrowd.inference import CRH, METHODS, KDEm
from quietcrowd.mechanisms import LaplaceMechanism

CROWD = make_crowd(
    kind="sparse", tasks=40, workers=30, sparsity=0.6, truths="uniform", random_state=3
)


def frame_of(*rows):
    return pd.DataFrame(rows, columns=["task", "worker", "label"])


def one_task(*claims):
    return frame_of(*((0, worker, claim) for worker, claim in enumerate(claims)))


def noisy(answers):
    """Return numbers that all differ, as a frame."""
    frame = answers.to_frame()
    return frame.assign(label=frame["label"] + np.random.default_rng(7).normal(0, 0.4, len(frame)))


class Dense:
    """The method as its paper has it: one matrix per task."""

    def __init__(self, frame, known=None):
        self.known = known or {}
        self.workers = sorted(frame["worker"].unique())
        self.claims = dict(iter(frame.groupby("task")))
        self.counts = frame["worker"].value_counts().reindex(self.workers).to_numpy()
        self.answers = len(frame)

    def kernel(self, task, left, right):
        numbers = self.claims[task]["label"].to_numpy()
        if task in self.known:
            numbers = np.append(numbers, self.known[task])
        width = max(median_abs_deviation(numbers), 1e-10 * numbers.std())
        if width == 0:
            return np.ones((len(left), len(right)))
        return np.exp(-(((left[:, None] - right[None, :]) / width) ** 2) / 2)

    def shares(self, task, reliability):
        weights = reliability[np.searchsorted(self.workers, self.claims[task]["worker"])]
        return weights / weights.sum()

    def losses(self, reliability):
        losses = np.zeros(len(self.workers))
        for task, rows in self.claims.items():
            numbers = rows["label"].to_numpy()
            if task in self.known:
                truth = np.array([self.known[task]])
                residuals = 2 - 2 * self.kernel(task, numbers, truth)[:, 0]
            else:
                matrix, share = self.kernel(task, numbers, numbers), self.shares(task, reliability)
                residuals = 1 - 2 * matrix @ share + share @ matrix @ share
            np.add.at(losses, np.searchsorted(self.workers, rows["worker"]), residuals / len(rows))
        return losses

    def run(self, n_iter):
        reliability, history = np.ones(len(self.workers)), []
        for _ in range(n_iter):
            losses = self.losses(reliability)
            reliability = -np.log(np.maximum(losses / losses.sum(), 1e-12) / self.counts)
            history.append(-(reliability @ losses) / self.answers)
        return reliability, history

    def mean(self, task, reliability):
        return self.shares(task, reliability) @ self.claims[task]["label"].to_numpy()

    def mode(self, task, reliability):
        """Return the maximum of the density next to the densest claim."""
        numbers, share = self.claims[task]["label"].to_numpy(), self.shares(task, reliability)
        width = median_abs_deviation(numbers)
        best = numbers[np.argmax(self.kernel(task, numbers, numbers) @ share)]

        def slope(place):
            distance = (numbers - place) / width
            return (share * distance * np.exp(-(distance**2) / 2)).sum()

        places = best + np.sign(slope(best)) * np.linspace(0, 1, 2001) * np.ptp(numbers)
        first = np.argmax([slope(place) * slope(best) <= 0 for place in places])
        return brentq(slope, places[first - 1], places[first], xtol=1e-13)


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("n_iter", [1, 2, 5])
@pytest.mark.parametrize("frame", [CROWD.answers.to_frame(), noisy(CROWD.answers)])
@pytest.mark.parametrize("known", [{}, {3: 2.5, 4: 11.0, 17: 0.0}])
def test_iterations_are_those_of_dense_matrices(frame, n_iter, known):
    dense = Dense(frame, known)
    reliability, history = dense.run(n_iter)
    gold = pd.DataFrame({"task": list(known), "label": list(known.values())}) if known else None
    method = KDEm(truth="mean", max_iter=n_iter, tol=0.0)
    estimate = method.fit(frame, gold=gold, non_private=True)
    assert estimate.n_iter == n_iter
    assert estimate.history == pytest.approx(history, abs=1e-10)
    quality = pd.Series(estimate.weight, index=estimate.workers["worker"])
    expected = reliability / reliability.sum()
    assert quality.loc[dense.workers].to_numpy() == pytest.approx(expected, abs=1e-10)
    for task, truth in estimate.truths[["task", "truth"]].itertuples(index=False):
        mean = known.get(task, dense.mean(task, reliability))
        assert truth == pytest.approx(mean, abs=1e-8)


@pytest.mark.nightly
@pytest.mark.slow
def test_modes_are_where_the_density_no_longer_rises():
    frame = noisy(CROWD.answers)
    dense = Dense(frame)
    reliability, _ = dense.run(3)
    estimate = KDEm(max_iter=3, tol=0.0).fit(frame, non_private=True)
    for task, truth in estimate.truths[["task", "truth"]].itertuples(index=False):
        assert truth == pytest.approx(dense.mode(task, reliability), abs=1e-8)
    assert estimate.truths["standard_error"].isna().all()


def test_two_claims():
    # The bandwidth is 1 and the kernels of both overlap in exp(-2).
    estimate = KDEm(max_iter=1).fit(one_task(3.0, 5.0), non_private=True)
    residual = (1 - np.exp(-2)) / 2
    assert estimate.history == pytest.approx([-np.log(2) * residual / 2], abs=1e-14)
    assert estimate.estimates.truths.tolist() == [4.0]
    assert estimate.weight.tolist() == [0.5, 0.5]


def test_claims_of_which_most_are_equal():
    # There is no deviation: kernels of different claims do not overlap.
    estimate = KDEm(max_iter=1).fit(one_task(0.0, 0.0, 3.0), non_private=True)
    losses = np.array([2, 2, 8]) / 9 / 3
    shares = losses / losses.sum()
    assert estimate.history == pytest.approx([losses @ np.log(shares) / 3], abs=1e-14)
    assert estimate.weight == pytest.approx(np.log(shares) / np.log(shares).sum(), abs=1e-14)
    assert estimate.estimates.truths.tolist() == [0.0]


def test_a_known_truth_is_a_single_kernel():
    gold = pd.DataFrame({"task": [0], "label": [4.0]})
    estimate = KDEm(max_iter=1).fit(one_task(3.0, 5.0), gold=gold, non_private=True)
    residual = 2 * (1 - np.exp(-1 / 2))
    assert estimate.history == pytest.approx([-np.log(2) * residual / 2], abs=1e-14)
    assert estimate.truths["truth"].tolist() == [4.0]
    assert estimate.truths["standard_error"].tolist() == [0.0]
    assert estimate.truths["spread"].tolist() == [1.0]


def test_known_truths_tell_who_is_right():
    rows = [(task, worker, float(task + worker // 3)) for task in range(6) for worker in range(6)]
    gold = pd.DataFrame({"task": range(5), "label": np.arange(5.0)})
    estimate = KDEm().fit(frame_of(*rows), gold=gold, non_private=True)
    assert estimate.weight[:3].min() > 2 * estimate.weight[3:].max()
    assert estimate.estimates.truths[5] < 5.1


@pytest.mark.parametrize("outlier", [30.0, 300.0, 3e5])
def test_a_mode_ignores_an_outlier(outlier):
    claims = [4.1, 4.5, 4.7, 4.9, 5.0, 5.2, 5.3, 5.8]
    with_it = KDEm().fit(one_task(*claims, outlier), non_private=True).estimates.truths[0]
    far_off = KDEm().fit(one_task(*claims, 1e4), non_private=True).estimates.truths[0]
    assert with_it == pytest.approx(far_off, abs=1e-9)
    assert 4.7 < with_it < 5.3
    assert (
        KDEm(truth="mean").fit(one_task(*claims, outlier), non_private=True).estimates.truths[0] > 6
    )


def test_a_worker_who_is_always_far_off_counts_less():
    rng = np.random.default_rng(0)
    rows = [(task, worker, rng.normal(task, 1.0)) for task in range(30) for worker in range(8)]
    rows += [(task, 8, task + 40.0) for task in range(30)]
    estimate = KDEm().fit(frame_of(*rows), non_private=True)
    assert np.argmin(estimate.weight) == 8
    assert np.abs(estimate.estimates.truths - np.arange(30)).max() < 1.5


def test_claims_that_differ_by_rounding_are_as_good_as_equal():
    nearly = (
        KDEm()
        .fit(one_task(0.3, 0.1 + 0.2, 0.1 + 0.2, 0.1, 0.9, 0.8), non_private=True)
        .estimates.truths[0]
    )
    equal = KDEm().fit(one_task(0.3, 0.3, 0.3, 0.1, 0.9, 0.8), non_private=True).estimates.truths[0]
    assert nearly == pytest.approx(equal, abs=1e-10)
    assert abs(equal - 0.3) > 1e-3


@st.composite
def tables(draw):
    cells = st.tuples(st.integers(0, 4), st.integers(0, 5))
    numbers = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e6, 1e6))
    rows = draw(st.dictionaries(cells, numbers, min_size=1))
    return frame_of(*((task, worker, label) for (task, worker), label in rows.items()))


@pytest.mark.nightly
@pytest.mark.slow
@given(tables(), st.sampled_from(["mode", "mean"]))
def test_any_table(frame, truth):
    estimate = KDEm(truth=truth, max_iter=20, tol=0.0).fit(frame, non_private=True)
    assert all(after >= before - 1e-8 for before, after in pairwise(estimate.history))
    claims = frame.groupby("task")["label"].agg(["min", "max"])
    found = estimate.truths.set_index("task").loc[claims.index, "truth"]
    slack = 1e-9 * (1 + np.ptp(frame["label"]) + frame["label"].abs().max())
    assert (found >= claims["min"] - slack).all()
    assert (found <= claims["max"] + slack).all()
    assert estimate.weight.sum() == pytest.approx(1)


def test_one_worker_alone():
    estimate = KDEm().fit(frame_of((0, "u", 1.0), (1, "u", 7.0), (2, "u", 3.0)), non_private=True)
    assert estimate.estimates.truths.tolist() == [1.0, 7.0, 3.0]
    assert estimate.weight.tolist() == [1.0]
    assert estimate.converged


def test_a_worker_with_one_answer_and_a_constant_task():
    rows = [(0, w, 5.0) for w in range(4)] + [(1, w, float(w)) for w in range(3)]
    estimate = KDEm().fit(frame_of(*rows), non_private=True)
    assert estimate.estimates.truths.tolist() == pytest.approx([5.0, 1.0])
    assert estimate.estimates.spread[0] == 0.0
    # Nothing speaks against worker 3, and the task it answered costs nobody anything.
    assert estimate.weight.argmax() == 3
    assert np.isfinite(estimate.weight).all()


def test_a_mean_has_the_standard_error_of_a_weighted_mean():
    mean = KDEm(truth="mean").fit(one_task(1.0, 2.0, 4.0), non_private=True)
    weights, truth = mean.weight, mean.estimates.truths[0]
    parts = weights * (np.array([1.0, 2.0, 4.0]) - truth)
    expected = np.sqrt((parts**2).sum() * 3 / 2)
    assert mean.estimates.standard_error == pytest.approx([expected], rel=1e-9)


@pytest.mark.parametrize("truth", ["mode", "mean"])
@pytest.mark.parametrize("unit", [1e-300, 1e-5, 1e12, 1e300])
def test_any_unit_of_measurement(truth, unit):
    frame = frame_of((0, 0, 1.0), (0, 1, 2.0), (0, 2, 6.0), (1, 0, 3.0), (1, 1, 4.5), (1, 3, 4.0))
    method = KDEm(truth=truth)
    plain, scaled = (
        method.fit(frame, non_private=True),
        method.fit(frame.assign(label=frame["label"] * unit), non_private=True),
    )
    assert scaled.estimates.truths / unit == pytest.approx(plain.estimates.truths, rel=1e-8)


@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")
def test_reports_are_read_as_answers_with_a_warning():
    mechanism = LaplaceMechanism(domain=CROWD.answers.domain, epsilon=2.0, fill=None)
    with pytest.warns(NoiseIgnoredWarning, match="KDEm ignores the noise"):
        KDEm().fit(mechanism.simulate(CROWD.answers, random_state=0))


def test_a_start_of_another_method_is_refused():
    with pytest.raises(ParameterError, match="init must be an estimate of KDEm"):
        KDEm().fit(CROWD.answers, init=CRH().fit(CROWD.answers))


def test_parameters():
    assert METHODS["kdem"] is KDEm
    with pytest.raises(ParameterError, match="truth must be one of 'mode', 'mean'"):
        KDEm(truth="median")


@pytest.mark.parametrize("order", [1, -1])
def test_claims_that_differ_by_rounding_have_their_median(order):
    claims = [5.0, 5.0 + 1e-9, 5.0 + 2e-9, 5.0 + 3e-9, 5.0 + 8e-9]
    rows = [(0, worker, claim) for worker, claim in enumerate(claims)]
    rows += [(1, worker, 1e6 * (worker % 2)) for worker in range(5)]
    found = (
        KDEm(max_iter=1).fit(frame_of(*rows[::order]), non_private=True).truths.set_index("task")
    )
    assert found.loc[0, "truth"] == pytest.approx(5.0 + 2e-9, abs=3e-10)

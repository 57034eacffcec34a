"""Weights against plain NumPy, closed forms and an optimiser."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis.kde import EPANECHNIKOV, GAUSSIAN, KERNELS, distances
from quietcrowd.synthesis.weights import (
    combined_weights,
    floored_weights,
    global_weights,
    hampel_loss,
    hampel_psi,
    local_weights,
    uniform_weights,
)

BOTH = pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
WORKERS = 25
UNRELIABLE = np.arange(WORKERS) % 5 == 0


def crowd(tasks=60, seed=0):
    """Return offsets, codes, values and bandwidths; one worker in five is unreliable."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, WORKERS, tasks)
    codes = np.concatenate([rng.choice(WORKERS, size, replace=False) for size in sizes])
    middle = np.repeat(rng.normal(0, 50, tasks), sizes)
    rows = len(codes)
    errors = np.where(UNRELIABLE[codes], rng.uniform(-15, 15, rows), rng.normal(0, 1, rows))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return offsets, codes.astype(np.int32), middle + errors, rng.uniform(0.4, 1.2, tasks)


OFFSETS, CODES, VALUES, BANDWIDTHS = crowd()
ROWS = [slice(start, end) for start, end in pairwise(OFFSETS)]


def squared_distances(kernel, claims, weights, bandwidth):
    """Return squared distances in squared lengths of a kernel, by a matrix."""
    gram = kernel.feature_inner(claims[:, None] - claims, bandwidth)
    gram /= kernel.feature_inner(0.0, bandwidth)
    return np.diag(gram) - 2 * gram @ weights + weights @ gram @ weights


def plain_global(kernel, n_iter, per_claim):
    counts = np.bincount(CODES, minlength=WORKERS)
    weights = np.ones(WORKERS)
    for _ in range(n_iter):
        sums = np.zeros(WORKERS)
        for rows, bandwidth in zip(ROWS, BANDWIDTHS, strict=True):
            shares = weights[CODES[rows]] / weights[CODES[rows]].sum()
            found = squared_distances(kernel, VALUES[rows], shares, bandwidth)
            np.add.at(sums, CODES[rows], found)
        sums = sums / counts if per_claim else sums
        weights = -np.log(sums / sums.sum())
    return weights


def plain_local(kernel, claims, bandwidth, n_iter):
    weights = np.full(len(claims), 1 / len(claims))
    thresholds = None
    for _ in range(n_iter):
        residuals = np.sqrt(squared_distances(kernel, claims, weights, bandwidth))
        if thresholds is None:
            thresholds = np.quantile(residuals, [0.5, 0.75, 0.85])
        first, second, third = thresholds
        with np.errstate(divide="ignore", invalid="ignore"):
            falling = first * (third - residuals) / (third - second)
        slopes = np.select(
            [residuals <= first * (1 + 1e-9), residuals < second, residuals < third],
            [residuals, first, falling],
        )
        weights = slopes / residuals
        weights /= weights.sum()
    return weights


def sums(weights, offsets=OFFSETS):
    return np.array([weights[start:end].sum() for start, end in pairwise(offsets) if end > start])


@BOTH
@pytest.mark.parametrize("n_iter", [1, 2, 6])
@pytest.mark.parametrize("per_claim", [True, False])
def test_global_weights_are_those_of_matrices(kernel, n_iter, per_claim):
    found = global_weights(
        OFFSETS,
        CODES,
        VALUES,
        BANDWIDTHS,
        kernel=kernel,
        workers=WORKERS,
        per_claim=per_claim,
        max_iter=n_iter,
        tol=0,
    )
    assert found.n_iter == n_iter
    assert not found.converged
    assert found.weights == pytest.approx(plain_global(kernel, n_iter, per_claim), abs=1e-9)


@BOTH
@pytest.mark.parametrize("n_iter", [1, 2, 6])
def test_local_weights_are_those_of_matrices(kernel, n_iter):
    found = local_weights(OFFSETS, VALUES, BANDWIDTHS, kernel=kernel, max_iter=n_iter, tol=0)
    assert sums(found) == pytest.approx(1, abs=1e-12)
    for rows, bandwidth in zip(ROWS, BANDWIDTHS, strict=True):
        if rows.stop - rows.start > 2:
            expected = plain_local(kernel, VALUES[rows], bandwidth, n_iter)
            assert found[rows] == pytest.approx(expected, abs=1e-9)


@BOTH
def test_unreliable_workers_weigh_less(kernel):
    found = global_weights(OFFSETS, CODES, VALUES, BANDWIDTHS, kernel=kernel, workers=WORKERS)
    assert found.converged
    assert found.weights[UNRELIABLE].max() < 0.9 * found.weights[~UNRELIABLE].min()


def test_more_claims_do_not_cost_a_worker_weight():
    # Worker 0 claims on all tasks and the others on one in four; all err alike.
    rng = np.random.default_rng(3)
    codes = np.concatenate([[0, *range(1 + task % 4 * 5, 6 + task % 4 * 5)] for task in range(400)])
    offsets, values = np.arange(0, len(codes) + 1, 6), rng.normal(0, 1, len(codes))
    both = [
        global_weights(
            offsets, codes, values, np.ones(400), kernel=GAUSSIAN, workers=21, per_claim=per_claim
        ).weights
        for per_claim in (True, False)
    ]
    assert both[0][0] == pytest.approx(both[0][1:].mean(), rel=0.02)
    assert both[1][0] < 0.7 * both[1][1:].mean()


@BOTH
def test_an_outlier_has_no_local_weight(kernel):
    claims = [0.0, 0.2, -0.1, 0.3, 0.1, -0.2, 0.4, 40.0]
    found = local_weights([0, 8], claims, [1.0], kernel=kernel)
    assert found[-1] == 0
    assert found[:5].min() > 0.1
    agreeing = local_weights([0, 8], [1.0] * 7 + [40.0], [1.0], kernel=kernel)
    assert agreeing == pytest.approx([1 / 7] * 7 + [0], abs=1e-12)


@BOTH
def test_local_weights_do_not_raise_the_objective(kernel):
    start = uniform_weights(OFFSETS)
    end = local_weights(OFFSETS, VALUES, BANDWIDTHS, kernel=kernel)
    before, after = (
        np.sqrt(distances(OFFSETS, VALUES, weights, BANDWIDTHS, kernel)) for weights in (start, end)
    )
    for rows in ROWS:
        if rows.stop - rows.start > 2:
            thresholds = np.quantile(before[rows], [0.5, 0.75, 0.85])
            lower, upper = (hampel_loss(r[rows], *thresholds).sum() for r in (after, before))
            assert lower <= upper * (1 + 1e-9)


def test_psi_is_the_derivative_of_the_loss():
    step, thresholds = 1e-6, (0.7, 1.5, 2.2)
    places = np.linspace(0.01, 3, 777)
    above, below = (hampel_loss(places + way, *thresholds) for way in (step, -step))
    slopes = (above - below) / (2 * step)
    assert hampel_psi(places, *thresholds) == pytest.approx(slopes, abs=1e-5)
    assert hampel_loss([0, 9, 99], *thresholds).tolist() == pytest.approx([0, 1.05, 1.05])
    assert hampel_psi(np.zeros((2, 3)), *thresholds).shape == (2, 3)
    assert hampel_loss(2.0, 1.0, 1.0, 1.0) == hampel_loss(1.0, 1.0, 1.0, 1.0) == 0.5


@pytest.mark.parametrize("seed", range(3))
def test_geometric_weights_are_closest_to_both(seed):
    rng = np.random.default_rng(seed)
    local, reliability = rng.dirichlet(np.ones(6)), rng.uniform(0.5, 3, 6)
    share = reliability / reliability.sum()

    def divergence(logits):
        c = np.exp(logits - np.logaddexp.reduce(logits))
        return (c * (2 * np.log(c) - np.log(local) - np.log(share))).sum()

    best = minimize(divergence, np.zeros(6), tol=1e-12).x
    expected = np.exp(best - np.logaddexp.reduce(best))
    codes = rng.permutation(6)
    given_order = np.empty(6)
    given_order[codes] = reliability
    found = combined_weights([0, 6], codes, local, given_order, "geometric")
    assert found == pytest.approx(expected, abs=1e-5)
    product = combined_weights([0, 6], codes, local, given_order)
    assert product == pytest.approx(local * reliability / (local @ reliability))
    assert divergence(np.log(product)) > divergence(np.log(found)) + 1e-3


def test_uniform_and_combined_and_floored():
    uniform = uniform_weights(OFFSETS)
    assert sums(uniform) == pytest.approx(1)
    local = local_weights(OFFSETS, VALUES, BANDWIDTHS, kernel=GAUSSIAN)
    reliability = np.arange(1.0, WORKERS + 1)
    for how in ("product", "geometric"):
        combined = combined_weights(OFFSETS, CODES, local, reliability, how)
        assert sums(combined) == pytest.approx(1)
        assert ((combined == 0) == (local == 0)).all()
        nothing = combined_weights(OFFSETS, CODES, local, np.zeros(WORKERS), how)
        np.testing.assert_array_equal(nothing, uniform)
    for floor in (0.0, 0.3, 1.0):
        floored = floored_weights(OFFSETS, local, floor)
        assert sums(floored) == pytest.approx(1)
        assert (floored >= floor * uniform * (1 - 1e-12)).all()
    np.testing.assert_array_equal(floored, uniform)
    np.testing.assert_array_equal(floored_weights(OFFSETS, local, 0.0), local)


@BOTH
def test_small_tasks(kernel):
    # No claim; one; two that differ; three that agree; four in two pairs.
    offsets = [0, 0, 1, 3, 6, 10]
    values = [7.0, 0.0, 5.0, 2.0, 2.0, 2.0, -3.0, -3.0, 3.0, 3.0]
    bandwidths = np.ones(5)
    found = local_weights(offsets, values, bandwidths, kernel=kernel)
    np.testing.assert_allclose(found, uniform_weights(offsets), rtol=1e-12)
    assert local_weights([0], [], [], kernel=kernel).shape == (0,)
    assert uniform_weights([0, 0]).shape == (0,)


@BOTH
def test_workers_who_cannot_be_told_apart(kernel):
    def weights(offsets, codes, values, workers):
        tasks = len(offsets) - 1
        return global_weights(
            offsets, codes, values, np.ones(tasks), kernel=kernel, workers=workers
        )

    agreed = weights([0, 2, 4], [0, 2, 0, 2], [1.0, 1.0, 4.0, 4.0], 3)
    assert agreed.weights.tolist() == [1, 0, 1]
    assert agreed.converged
    alone = weights([0, 2], [0, 0], [0.0, 1.0], 2)  # all distances are of one worker
    assert alone.weights.tolist() == [0, 0]
    assert not np.signbit(alone.weights).any()
    both = weights([0, 2], [1, 0], [0.0, 1.0], 2)
    assert both.weights == pytest.approx(np.log(2))
    none = weights([0, 0], [], [], 2)
    assert none.weights.tolist() == [0, 0]
    single = weights([0, 1, 3], [2, 0, 1], [5.0, 0.0, 9.0], 3)  # a claim alone is at no distance
    assert single.weights == pytest.approx([np.log(2), np.log(2), -np.log(1e-12)])


@BOTH
def test_threads_change_no_bit(kernel):
    one, *several = (
        (
            global_weights(
                OFFSETS, CODES, VALUES, BANDWIDTHS, kernel=kernel, workers=WORKERS, n_jobs=n_jobs
            ).weights,
            local_weights(OFFSETS, VALUES, BANDWIDTHS, kernel=kernel, n_jobs=n_jobs),
        )
        for n_jobs in (1, 2, 3, 7)
    )
    for other in several:
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


@BOTH
@pytest.mark.parametrize(("scale", "shift"), [(1.0, 1000.0), (0.125, 0.0), (64.0, -3.0)])
def test_shift_and_scale_change_no_weight(kernel, scale, shift):
    values, bandwidths = scale * VALUES + shift, scale * BANDWIDTHS
    before, after = (
        (
            global_weights(OFFSETS, CODES, claims, widths, kernel=kernel, workers=WORKERS).weights,
            local_weights(OFFSETS, claims, widths, kernel=kernel),
        )
        for claims, widths in ((VALUES, BANDWIDTHS), (values, bandwidths))
    )
    assert after[0] == pytest.approx(before[0], abs=1e-7)
    assert after[1] == pytest.approx(before[1], abs=1e-6)


def test_a_task_in_another_unit_counts_the_same():
    scales = np.random.default_rng(4).choice([0.5, 1.0, 1024.0], len(BANDWIDTHS))
    values = VALUES * np.repeat(scales, np.diff(OFFSETS))
    before, after = (
        global_weights(OFFSETS, CODES, claims, widths, kernel=GAUSSIAN, workers=WORKERS).weights
        for claims, widths in ((VALUES, BANDWIDTHS), (values, BANDWIDTHS * scales))
    )
    assert after == pytest.approx(before, abs=1e-9)


def test_a_task_of_many_claims_takes_little_room():
    claims = np.random.default_rng(0).normal(0, 1, 3000)
    found = local_weights([0, 3000], claims, [0.3], kernel=EPANECHNIKOV, max_iter=3)
    assert found.sum() == pytest.approx(1)
    assert found[abs(claims) > 2.5].max() < found[abs(claims) < 0.5].min()


GLOBAL = {
    "offsets": [0, 2],
    "worker_codes": [0, 1],
    "values": [0.0, 1.0],
    "bandwidths": [1.0],
    "kernel": GAUSSIAN,
    "workers": 2,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"offsets": [0, 3]}, "worker_codes must be 3 whole numbers"),
        ({"worker_codes": [0.0, 1.0]}, "worker_codes must be 2 whole numbers"),
        ({"worker_codes": [0, 2]}, "0 to 1, as there are 2 workers; row 1 is 2"),
        ({"worker_codes": [-1, 0]}, "row 0 is -1"),
        ({"values": [0.0, np.inf]}, "values must be finite; row 1, of task 0, is inf"),
        ({"bandwidths": [-1.0]}, "bandwidths must be finite and above 0; that of task 0 is -1.0"),
        ({"workers": 0}, "workers must be"),
        ({"kernel": "gaussian"}, "kernel must be one of"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"tol": -1.0}, "tol must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_global_weights_refuse(change, message):
    with pytest.raises(ParameterError, match=message):
        global_weights(**{**GLOBAL, **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"quantiles": (0.5, 0.4, 0.9)}, "quantiles must be three ascending numbers"),
        ({"quantiles": (0.5, 0.9)}, "quantiles must be three"),
        ({"quantiles": (0.5, 0.9, 1.1)}, "quantiles must be three"),
        ({"max_iter": 1.5}, "max_iter must be"),
        ({"tol": np.nan}, "tol must be"),
        ({"kernel": None}, "kernel must be one of"),
        ({"values": [0.0]}, "values must be 2 numbers, one per row"),
    ],
)
def test_local_weights_refuse(change, message):
    known = {"offsets": [0, 2], "values": [0.0, 1.0], "bandwidths": [1.0], "kernel": GAUSSIAN}
    with pytest.raises(ParameterError, match=message):
        local_weights(**{**known, **change})


def test_the_others_refuse():
    with pytest.raises(ParameterError, match="how must be one of 'product', 'geometric'; got 'x'"):
        combined_weights([0, 1], [0], [1.0], [1.0], "x")
    with pytest.raises(ParameterError, match=r"global_ .* got -1.0 of worker 1"):
        combined_weights([0, 1], [0], [1.0], [1.0, -1.0])
    with pytest.raises(ParameterError, match=r"global_ .* got shape \(\)"):
        combined_weights([0, 1], [0], [1.0], 1.0)
    with pytest.raises(ParameterError, match="local must sum to 1"):
        combined_weights([0, 1], [0], [0.9], [1.0])
    with pytest.raises(ParameterError, match="floor must be a number from 0 to 1"):
        floored_weights([0, 1], [1.0], 1.5)
    with pytest.raises(ParameterError, match="floor must be"):
        floored_weights([0, 1], [1.0], -0.5)
    with pytest.raises(ParameterError, match="the thresholds must be at least 0 and ascend"):
        hampel_psi([1.0], 2.0, 1.0, 3.0)
    with pytest.raises(ParameterError, match="residuals must be at least 0"):
        hampel_loss([1.0, -1.0], 1.0, 2.0, 3.0)


@given(
    st.lists(st.lists(st.floats(-1e9, 1e9), max_size=6), max_size=5),
    st.floats(1e-3, 1e6),
    st.sampled_from(list(KERNELS.values())),
)
def test_any_claims_have_weights(tasks, bandwidth, kernel):
    offsets = np.concatenate([[0], np.cumsum([len(task) for task in tasks], dtype=int)])
    offsets = offsets.astype(np.int64)
    values = np.array([claim for task in tasks for claim in task])
    codes = np.array([code for task in tasks for code in range(len(task))], np.int32)
    bandwidths = np.full(len(tasks), bandwidth)
    local = local_weights(offsets, values, bandwidths, kernel=kernel)
    found = global_weights(offsets, codes, values, bandwidths, kernel=kernel, workers=6)
    assert np.isfinite(found.weights).all()
    for how in ("product", "geometric"):
        combined = combined_weights(offsets, codes, local, found.weights, how)
        assert (combined >= 0).all()
        assert sums(combined, offsets) == pytest.approx(1)


@given(
    st.lists(st.integers(-1, 4), max_size=4),
    st.lists(st.one_of(st.floats(), st.integers(-3, 9)), max_size=4),
    st.lists(st.integers(-1, 3), max_size=4),
    st.lists(st.floats(), max_size=3),
)
def test_any_arrays_have_weights_or_are_refused(offsets, values, codes, bandwidths):
    try:
        found = global_weights(offsets, codes, values, bandwidths, kernel=GAUSSIAN, workers=3)
        local = local_weights(offsets, values, bandwidths, kernel=GAUSSIAN)
    except ParameterError:
        return
    assert np.isfinite(found.weights).all()
    assert len(local) == len(values) == len(codes)

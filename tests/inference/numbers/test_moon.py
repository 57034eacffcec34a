"""MOON: its bars, its equations, its limits."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize
from tests.nightly import nightly

from quietcrowd.answers import Answers
from quietcrowd.domains import Categorical, Interval, Ordinal
from quietcrowd.exceptions import (
    AnswerError,
    NoiseIgnoredWarning,
    NoSignalWarning,
    ParameterError,
    SimulatedNoiseWarning,
)
from quietcrowd.inference import (
    CRH,
    MOON,
    Mean,
    Median,
    WeightedMean,
    ignores_noise,
    method_from_dict,
)
from quietcrowd.inference.numbers.moon_updates import ErrorModel
from quietcrowd.inference.numbers.normal_laplace import NormalLaplace
from quietcrowd.inference.reading import Observations
from quietcrowd.mechanisms import LaplaceMechanism, RandomizedResponse
from quietcrowd.testing import check_method

pytestmark = [
    pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.NoSignalWarning"),
    pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning"),
]

DOMAIN = Interval(low=0, high=10)
VARIANTS = ("mixture", "variance", "quadratic")
SOLVERS = ("em", "lagrange")


def crowd(workers=60, tasks=100, share=1.0, seed=0, sigmas=(0.3, 3.0)):
    """Half of the workers are good and half are bad; answers are clipped to the domain."""
    rng = np.random.default_rng(seed)
    truths = rng.uniform(0, 10, tasks)
    sigma = np.repeat(sigmas, workers // len(sigmas))
    answers = np.clip(truths + sigma[:, None] * rng.normal(size=(workers, tasks)), 0, 10)
    worker, task = np.nonzero(rng.random((workers, tasks)) < share)
    frame = pd.DataFrame({"task": task, "worker": worker, "label": answers[worker, task]})
    table = Answers.from_frame(frame, DOMAIN, tasks=range(tasks), workers=range(workers))
    return table, truths, sigma


def reports_of(answers, epsilon, seed=0, **parameters):
    mechanism = LaplaceMechanism(domain=answers.domain, epsilon=epsilon, fill=None, **parameters)
    return mechanism.simulate(answers, random_state=seed)


def error_of(estimate, truths):
    return np.abs(estimate.estimates.truths - truths).mean()


def oracle(reports, sigma):
    """Return the most likely truths where every sigma is known."""
    method = MOON()
    model, partition, _ = method.prepare(Observations.read(reports, method))
    summary = model.summary
    state = ErrorModel.of(summary, (sigma / summary.extent) ** 2, 1.0)
    room = model.empty(partition.tasks)
    model.sweep(partition, state, room)
    return room.truths * summary.extent + summary.middle


@pytest.mark.nightly
@pytest.mark.parametrize("epsilon", [1.0, 5.0, 10.0])
@pytest.mark.parametrize(
    ("workers", "share", "most"), [(60, 1.0, 1.15), (200, 0.2, 1.20)], ids=["dense", "sparse"]
)
def test_it_is_nearly_as_good_as_if_it_knew_the_workers(workers, share, most, epsilon):
    """Means of 30 seeds; and at least 12 % better than CRH on the same reports."""
    found = []
    for seed in range(30):
        answers, truths, sigma = crowd(workers, share=share, seed=seed)
        reports = reports_of(answers, epsilon, seed)
        with ignores_noise():
            naive = CRH().fit(reports)
        best = np.abs(oracle(reports, sigma) - truths).mean()
        found.append((error_of(MOON().fit(reports), truths), best, error_of(naive, truths)))
    ours, best, naive = np.mean(found, axis=0)
    assert ours <= most * best
    assert ours <= 0.88 * naive


@pytest.mark.nightly
@pytest.mark.slow
def test_the_battery_with_a_prior_of_the_truths():
    check_method(MOON(truth_prior="normal"), LaplaceMechanism, epsilon=1.0, fill=None)
    check_method(MOON(truth_prior="normal"))


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": 1.0, "fill": None},
        nightly({"epsilon": 10.0, "fill": None, "step": 0.25}),
        nightly({"epsilon": 1.0, "fill": "midpoint"}),
        {"epsilon": 2.0, "participation": "released"},
    ],
)
def test_the_battery_on_reports(variant, solver, parameters):
    check_method(MOON(variant=variant, solver=solver), LaplaceMechanism, **parameters)


def posterior(answers, scale, alpha, beta, truths, variance):
    """Return the log posterior of truths and variances in plain NumPy."""
    errors = answers.domain.numbers(answers.values) - truths[answers.task_codes]
    distribution = NormalLaplace(np.sqrt(variance)[answers.worker_codes], scale)
    likely = distribution.log_density(errors).sum()
    return likely - ((alpha + 1) * np.log(variance) + beta / variance).sum()


@pytest.mark.slow
def test_em_finds_the_mode_of_the_posterior():
    """An optimiser of SciPy, started at it and elsewhere, finds nothing better."""
    answers, truths, _ = crowd(12, 15, seed=4)
    reports = reports_of(answers, 6.0)
    method = MOON(truth_prior=None, tol=1e-13, max_iter=1000)
    found = method.fit(reports)
    scale = reports.mechanism.channel.scale
    extent = np.ptp(reports.table.domain.numbers(reports.table.values))
    beta = (method.alpha + 1) * method.prior_share * found.state.pooled * extent**2

    def loss(point):
        return -posterior(reports.table, scale, method.alpha, beta, point[:15], np.exp(point[15:]))

    here = np.concatenate([found.estimates.truths, 2 * np.log(found.error_sd)])
    bounds = [(0, DOMAIN.width)] * 15 + [(None, None)] * 12
    for start in (here, np.concatenate([np.clip(truths, 0, 10), np.zeros(12)])):
        best = optimize.minimize(loss, start, bounds=bounds, method="L-BFGS-B", tol=1e-14)
        assert loss(here) <= best.fun + 1e-6
    again = optimize.minimize(loss, here, bounds=bounds, method="L-BFGS-B", tol=1e-14)
    assert again.x[:15] == pytest.approx(found.estimates.truths, abs=2e-3)
    likelihood = found.history[-1] * len(reports.table)
    constant = len(reports.table) * np.log(scale) + 12 * 2 * (method.alpha + 1) * np.log(extent)
    assert likelihood == pytest.approx(-loss(here) + constant, rel=1e-6)


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("variant", ["mixture", "variance", "quadratic"])
@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 4), st.floats(0, 10)),
        min_size=1,
        unique_by=lambda row: row[:2],
    ),
    st.sampled_from([0.1, 1.0, 10.0, 300.0]),
)
def test_the_posterior_cannot_fall(variant, rows, epsilon):
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    reports = reports_of(Answers.from_frame(frame, DOMAIN), epsilon)
    with ignores_noise():
        method = MOON(variant=variant, truth_prior=None, tol=0.0, max_iter=40)
        history = method.fit(reports).history
    slack = 1e-5 if variant == "mixture" else 1e-8  # a pass finds truths to 1/20 standard error
    best = history[0]
    for before, after in pairwise(history):
        assert max(before, after) >= best - slack, "a pass that lowers it is not undone"
        best = max(best, after)


@pytest.mark.parametrize("variant", VARIANTS)
def test_lagrange_rests_where_its_equations_hold(variant):
    answers, _, _ = crowd(20, 60, seed=1)
    reports = reports_of(answers, 5.0)
    with ignores_noise():
        method = MOON(variant=variant, solver="lagrange", tol=1e-14, max_iter=300)
        found = method.fit(reports)
    channel, table = reports.mechanism.channel, reports.table
    numbers = table.domain.numbers(table.values)
    errors = numbers - found.estimates.truths[table.task_codes]
    squares = np.bincount(table.worker_codes, errors**2)
    noise = 0.0 if variant == "quadratic" else channel.variance * table.answers_per_worker
    own = np.maximum(squares - noise, 0.02 * squares) / table.answers_per_worker
    weights = -np.log(own / own.sum())
    assert found.state.weights == pytest.approx(weights / weights.max(), rel=1e-3)
    weight = found.state.weights[table.worker_codes]
    if variant == "mixture":
        distribution = NormalLaplace(found.error_sd[table.worker_codes], channel.scale)
        slopes = weight * distribution.score(errors)
    else:
        slopes = weight * errors
    inside = (found.estimates.truths > 0.01) & (found.estimates.truths < 9.99)
    size = np.bincount(table.task_codes, np.abs(slopes))
    assert np.abs(np.bincount(table.task_codes, slopes) / size)[inside].max() < 1e-4


def test_the_variants_agree_where_there_is_hardly_any_noise():
    answers, _, _ = crowd(20, 40, seed=2)
    reports = reports_of(answers, 1e5, step=2.0**-16)
    found = [MOON(variant=variant, truth_prior=None) for variant in VARIANTS]
    with ignores_noise():
        mixture, variance, quadratic = (method.fit(reports).estimates.truths for method in found)
    assert mixture == pytest.approx(variance, abs=1e-3)
    assert variance == pytest.approx(quadratic, abs=1e-4)
    plain = MOON().fit(answers)
    assert plain.estimates.truths == pytest.approx(quadratic, abs=1e-2)


def test_much_noise_gives_nearly_the_median():
    answers, _, _ = crowd(60, 40, seed=2, sigmas=(1e-3,))
    reports = reports_of(answers, 0.5)
    with ignores_noise():
        middle = np.clip(Median().fit(reports).estimates.truths, 0, 10)
        mean = np.clip(Mean().fit(reports).estimates.truths, 0, 10)
    found = oracle(reports, np.full(60, 1e-3))
    assert np.abs(found - middle).mean() < 0.25 * np.abs(found - mean).mean()


def test_it_tells_the_workers_apart():
    answers, _, sigma = crowd(60, 400, seed=3)
    found = MOON().fit(reports_of(answers, 50.0))
    good, bad = found.error_sd[sigma < 1], found.error_sd[sigma > 1]
    assert np.median(good) == pytest.approx(0.3, abs=0.05)
    # Answers that leave the domain are clipped: the bad workers' errors are less than 3.
    assert np.median(bad) == pytest.approx(2.5, abs=0.4)
    assert good.max() < bad.min()
    assert found.workers["error_sd"].to_numpy() == pytest.approx(found.error_sd)
    assert np.nansum(found.weight) == pytest.approx(1.0)


@pytest.mark.parametrize("epsilon", [2.0, 10.0])
def test_standard_errors_are_those_of_the_truths(epsilon):
    answers, truths, _ = crowd(100, 400, seed=5, sigmas=(0.3, 1.0))
    found = MOON().fit(reports_of(answers, epsilon))
    inside = (truths > 2) & (truths < 8)
    standardised = (found.estimates.truths - truths) / found.estimates.standard_error
    # The variances are taken as known, so that errors are a little larger than they are said to be.
    assert 0.9 < np.std(standardised[inside]) < 1.25


def test_truths_stay_in_the_domain():
    answers, _, _ = crowd(4, 50, seed=6)
    for variant in VARIANTS:
        for solver in SOLVERS:
            with ignores_noise():
                method = MOON(variant=variant, solver=solver, truth_prior=None)
                found = method.fit(reports_of(answers, 0.2))
            truths = found.estimates.truths
            assert truths.min() >= 0
            assert truths.max() <= reports_of(answers, 0.2).mechanism.channel.grid.width
            assert (truths == 0).any(), "a bound is reached, or the test shows nothing"


def test_filled_reports_are_read_with_a_warning():
    answers, truths, _ = crowd(400, 50, share=0.5, seed=7)
    filled = LaplaceMechanism(domain=DOMAIN, epsilon=5.0, fill="midpoint")
    reports = filled.simulate(answers, random_state=0)
    with pytest.warns(NoiseIgnoredWarning, match="not for missing answers") as seen:
        found = MOON().fit(reports)
    assert [one.category for one in seen] == [SimulatedNoiseWarning, NoiseIgnoredWarning]
    # It is drawn to the middle of the domain, as the warning says.
    slope = np.polyfit(truths, found.estimates.truths, 1)[0]
    assert 0.2 < slope < 0.9


def test_the_naive_variant_warns():
    answers, _, _ = crowd(10, 10)
    with pytest.warns(NoiseIgnoredWarning, match="ignores the noise"):
        MOON(variant="quadratic").fit(reports_of(answers, 1.0))


@pytest.mark.parametrize("variant", ["mixture", "variance"])
def test_other_noise_is_refused(variant):
    stars = Ordinal(range(5))
    frame = pd.DataFrame({"task": [1, 1, 2], "worker": [1, 2, 1], "label": [3, 4, 2]})
    answers = Answers.from_frame(frame, stars)
    reports = RandomizedResponse(domain=stars, epsilon=1.0).randomize(answers)
    with pytest.raises(AnswerError, match="needs reports with Laplace noise"):
        MOON(variant=variant).fit(reports)
    with ignores_noise():
        assert np.isfinite(MOON(variant="quadratic").fit(reports).estimates.truths).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_reports_of_labels_are_told_to_be_no_numbers(variant):
    frame = pd.DataFrame({"task": [1, 1, 2], "worker": [1, 2, 1], "label": ["a", "b", "a"]})
    labels = Categorical(["a", "b"])
    reports = RandomizedResponse(domain=labels, epsilon=1.0).randomize(
        Answers.from_frame(frame, labels)
    )
    with pytest.raises(AnswerError, match="MOON needs numbers, an Ordinal or Interval domain"):
        MOON(variant=variant).fit(reports)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 1000.0])
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_degenerate_tables(variant, solver, epsilon):
    tables = {
        "one answer": [(0, 0, 3.0)],
        "one worker": [(task, 0, float(task)) for task in range(5)],
        "one task": [(0, worker, float(worker)) for worker in range(5)],
        "all equal": [(task, worker, 7.0) for task in range(3) for worker in range(3)],
        "constant columns": [(task, worker, task) for task in range(3) for worker in range(3)],
    }
    for name, rows in tables.items():
        frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
        reports = reports_of(Answers.from_frame(frame, DOMAIN), epsilon)
        with ignores_noise():
            found = MOON(variant=variant, solver=solver).fit(reports)
        assert np.isfinite(found.estimates.truths).all(), name
        assert np.isfinite(found.error_sd).all(), name
        assert np.isfinite(found.history).all(), name


def test_a_single_report_is_the_truth():
    frame = pd.DataFrame({"task": [0], "worker": [0], "label": [3.0]})
    reports = reports_of(Answers.from_frame(frame, DOMAIN), 5.0)
    found = MOON(truth_prior=None).fit(reports)
    expected = np.clip(reports.table.domain.numbers(reports.table.values), 0, 10)
    assert found.estimates.truths == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("epsilon", [5.0, 50.0, None])
def test_a_worker_of_one_answer_does_not_capture_its_task(solver, epsilon):
    answers, _, _ = crowd(12, 40, seed=8, sigmas=(1.0,))
    frame = answers.to_frame()
    lone = frame[frame["task"] == 0]["label"].mean() + 0.01
    frame.loc[len(frame)] = [0, 99, lone]
    table = Answers.from_frame(frame.astype({"task": int, "worker": int}), DOMAIN)
    data = table if epsilon is None else reports_of(table, epsilon)
    found = MOON(solver=solver).fit(data).workers.set_index("worker")["weight"]
    assert found[99] < 9 * found.drop(99).median(), "it counts no more than the prior allows"


@pytest.mark.parametrize("ratio", [1e-6, 1e-3, 1.0, 1e3, 1e6])
def test_any_ratio_of_errors_to_noise(ratio):
    """No overflow where errors are a million times the noise, or a millionth of it."""
    rng = np.random.default_rng(9)
    epsilon = 10.0
    width = 1.0 if ratio >= 1 else 1.0 / ratio
    domain = Interval(low=0, high=width)
    spread = width / epsilon * ratio
    values = np.clip(width / 2 + spread * rng.normal(size=(20, 30)), 0, width)
    task, worker = np.nonzero(np.ones((20, 30)))
    frame = pd.DataFrame({"task": task, "worker": worker, "label": values[task, worker]})
    reports = reports_of(Answers.from_frame(frame, domain), epsilon)
    found = MOON().fit(reports)
    assert np.isfinite(found.estimates.truths).all()
    assert np.isfinite(found.estimates.standard_error).all()
    model, partition, _ = MOON().prepare(Observations.read(reports, MOON()))
    state = ErrorModel.of(model.summary, np.full(30, (ratio / epsilon) ** 2), 1.0)
    tally = model.sweep(partition, state, None)
    assert np.isfinite(tally.own).all()


@pytest.mark.parametrize(
    "parameters",
    [
        {"variant": "cubic"},
        {"solver": "magic"},
        {"alpha": 0.0},
        {"alpha": 1e200},
        {"prior_share": -1.0},
        {"prior_share": 1e300},
        {"tol": -1e-9},
    ],
)
def test_bad_parameters(parameters):
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        MOON(**parameters)


def test_better_than_what_ignores_the_noise():
    answers, truths, _ = crowd(80, 200, seed=10)
    reports = reports_of(answers, 10.0)
    with ignores_noise():
        naive = [error_of(kind().fit(reports), truths) for kind in (Mean, Median, WeightedMean)]
    assert error_of(MOON().fit(reports), truths) < 0.9 * min(naive)


def test_where_noise_hides_the_truths_it_says_so():
    answers, _, _ = crowd(20, 50, seed=11)
    with pytest.warns(NoSignalWarning, match="truth_prior='normal'"):
        MOON(truth_prior=None).fit(reports_of(answers, 0.2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SimulatedNoiseWarning)
        MOON(truth_prior=None).fit(reports_of(answers, 10.0))
        MOON(truth_prior="normal").fit(reports_of(answers, 10.0))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.0])
def test_a_normal_prior_of_the_truths_helps_where_it_is_true(epsilon):
    rng = np.random.default_rng(12)
    found = []
    for seed in range(6):
        truths = np.clip(rng.normal(5, 1.2, 80), 0, 10)
        values = np.clip(truths + rng.normal(size=(40, 80)), 0, 10)
        worker, task = np.nonzero(np.ones((40, 80)))
        frame = pd.DataFrame({"task": task, "worker": worker, "label": values[worker, task]})
        table = Answers.from_frame(frame, DOMAIN, tasks=range(80), workers=range(40))
        reports = reports_of(table, epsilon, seed)
        drawn = MOON(truth_prior="normal").fit(reports)
        constant = np.abs(truths - np.median(truths)).mean()
        flat = MOON(truth_prior=None).fit(reports)
        found.append((error_of(drawn, truths), error_of(flat, truths), constant))
        standardised = (drawn.estimates.truths - truths) / drawn.estimates.standard_error
        assert 0.4 < np.std(standardised) < 1.35
    drawn_error, flat_error, constant = np.mean(found, axis=0)
    assert drawn_error < flat_error
    assert drawn_error < 1.15 * constant
    if epsilon < 1:
        assert drawn_error < 0.4 * flat_error


def test_the_prior_is_learnt():
    answers, truths, _ = crowd(60, 300, seed=13)
    found = MOON(truth_prior="normal").fit(reports_of(answers, 20.0))
    prior, table = found.state.truths, reports_of(answers, 20.0).table
    numbers = table.domain.numbers(table.values)
    low, high = min(numbers.min(), 0), max(numbers.max(), 10)
    assert prior.mean * (high - low) + (high + low) / 2 == pytest.approx(truths.mean(), abs=0.05)
    assert (high - low) / np.sqrt(prior.precision) == pytest.approx(truths.std(), rel=0.02)


def test_one_task_does_not_tell_how_truths_vary():
    frame = pd.DataFrame({"task": 0, "worker": range(5), "label": [4.0, 5, 6, 5, 5]})
    found = MOON(truth_prior="normal").fit(reports_of(Answers.from_frame(frame, DOMAIN), 5.0))
    assert found.estimates.standard_error[0] > 0.3


@pytest.mark.parametrize("other", [{"variant": "variance"}, {"solver": "lagrange"}])
def test_the_prior_goes_with_the_posterior_alone(other):
    with pytest.raises(ParameterError, match="truth_prior='normal' requires"):
        MOON(truth_prior="normal", **other)
    assert MOON(**other).truth_prior is None


def test_the_prior_is_the_default():
    assert MOON() == MOON(truth_prior="normal")
    assert method_from_dict(MOON().to_dict() | {"truth_prior": None}) == MOON(truth_prior=None)


@pytest.mark.parametrize(
    "method", [MOON(truth_prior=None), MOON(truth_prior="normal"), MOON(solver="lagrange")]
)
@pytest.mark.parametrize("earlier", [0.3, 5.0, 50.0])
def test_a_warm_start_ends_where_a_cold_one_does(method, earlier):
    """Reports of another range are of another scale; the prior is that of the reports at hand."""
    answers, _, _ = crowd(40, 80, seed=14)
    start = method.fit(reports_of(answers, earlier, seed=1))
    reports = reports_of(answers, 5.0, seed=2)
    cold, warm = method.fit(reports), method.fit(reports, init=start)
    assert warm.estimates.truths == pytest.approx(cold.estimates.truths, abs=0.03)
    assert warm.error_sd == pytest.approx(cold.error_sd, rel=0.1)


def test_with_a_prior_the_warning_says_where_truths_are_drawn_to():
    answers, _, _ = crowd(10, 40, seed=15)
    with pytest.warns(NoSignalWarning, match="All truths are pulled towards"):
        MOON(truth_prior="normal").fit(reports_of(answers, 0.1))


def test_standard_errors_are_at_most_those_of_even_truths():
    answers, _, _ = crowd(4, 60, seed=16)
    found = MOON(truth_prior=None).fit(reports_of(answers, 0.2)).estimates
    assert found.standard_error.max() <= 10.01 / np.sqrt(12)
    assert set(found.truths[found.truths < 1e-6]) == {0.0}


@pytest.mark.parametrize("scale", [2.0**600, 2.0**-600])
@pytest.mark.parametrize("parameters", [{}, {"variant": "variance"}, {"solver": "lagrange"}])
def test_a_range_whose_square_no_float_holds(parameters, scale):
    """Units are powers of two: what is found in them is the same to the bit."""
    found = []
    for unit in (1.0, scale):
        domain = Interval(low=0.0, high=10.0 * unit)
        labels = np.array([2.0, 3.0, 7.0, 9.0]) * unit
        frame = pd.DataFrame({"task": [*"aabb"], "worker": [*"uvuv"], "label": labels})
        reports = reports_of(Answers.from_frame(frame, domain), 4.0)
        truths = MOON(**parameters).fit(reports).truths
        found.append(truths[["truth", "standard_error"]].to_numpy() / unit)
    np.testing.assert_array_equal(found[1], found[0])

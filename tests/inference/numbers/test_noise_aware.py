"""The model of numbers that knows the noise."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from tests.core.held_weights import held_weights

import quietcrowd as qc
from quietcrowd.datasets import make_crowd
from quietcrowd.exceptions import AnswerError, NoSignalWarning, ParameterError
from quietcrowd.inference import MOON, ignores_noise
from quietcrowd.inference.loop import run_loop
from quietcrowd.inference.numbers import noise_aware as noise_aware_numbers
from quietcrowd.inference.numbers.noise_aware import LEVELS
from quietcrowd.inference.reading import Observations
from quietcrowd.mechanisms import MatrixFactorization

pytestmark = pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")

CROWD = make_crowd(kind="sensors", tasks=60, workers=30, share=0.5, random_state=1)
DOMAIN = CROWD.answers.domain


def noisy(epsilon=4.0, crowd=CROWD, **options):
    options = options or {"fill": None}
    mechanism = qc.LaplaceMechanism(domain=crowd.answers.domain, epsilon=epsilon, **options)
    return mechanism.simulate(crowd.answers, random_state=2)


def numbers(**options):
    """Return the method, with more and finer iterations than by default."""
    return qc.NoiseAware(**{"max_iter": 100, "tol": 1e-7, **options})


def prepared(data, method=None, gold=None):
    method = method or numbers()
    return method.prepare(Observations.read(data, method), gold)[:2]


SITUATIONS = {
    "noise": noisy,
    "much noise": lambda: noisy(1.0),
    "filled": lambda: noisy(fill="uniform"),
    "midpoint": lambda: noisy(fill="midpoint"),
    "bits": lambda: noisy(participation="released"),
    "plain": lambda: CROWD.answers,
}


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.NoSignalWarning")
@pytest.mark.parametrize("situation", SITUATIONS)
def test_the_objective_rises_in_every_sweep_but_for_what_distances_say(situation):
    method = numbers(max_iter=40, tol=0.0)
    history = method.fit(SITUATIONS[situation]()).history
    assert len(history) > 10
    assert np.diff(history).min() > (-0.02 if situation == "plain" else -(2.0**-22))  # rounding


@pytest.mark.slow
@pytest.mark.parametrize("situation", ["noise", "bits", "plain"])
def test_neither_threads_nor_partitions_change_a_bit(situation):
    method = numbers(max_iter=5)
    model, partition = prepared(SITUATIONS[situation](), method)
    whole = run_loop(model, [partition], n_jobs=1)
    for parts, n_jobs in ((partition.split(7), 1), (partition.split(3), 3)):
        split = run_loop(model, parts, n_jobs=n_jobs)
        assert split.history == whole.history
        for name in ("truths", "standard_error", "spread"):
            found = getattr(split.estimates, name)
            np.testing.assert_array_equal(found, getattr(whole.estimates, name))
        np.testing.assert_array_equal(split.state.beliefs, whole.state.beliefs)


@pytest.mark.slow
def test_the_order_of_rows_changes_no_bit():
    frame = CROWD.answers.to_frame()
    shuffled = frame.sample(frac=1.0, random_state=3)
    first, second = (numbers(max_iter=6).fit(f, non_private=True) for f in (frame, shuffled))
    merged = first.truths.merge(second.truths, on="task")
    np.testing.assert_array_equal(merged["truth_x"], merged["truth_y"])
    assert first.history == second.history


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.NoSignalWarning")
@pytest.mark.parametrize("epsilon", [1.0, 4.0, 20.0])
def test_it_is_about_as_near_as_a_normal_prior_at_least(epsilon):
    reports = noisy(epsilon)
    aware, moon = (
        qc.mean_absolute_error(method.fit(reports), CROWD.truths)
        for method in (numbers(), MOON(truth_prior="normal"))
    )
    assert aware < 1.1 * moon


@pytest.mark.nightly
def test_filled_in_reports_are_told_from_answers():
    for options in ({"fill": "midpoint"}, {"participation": "released"}):
        reports = noisy(8.0, **options)
        estimate = numbers().fit(reports)
        with ignores_noise():
            naive = MOON(truth_prior="normal").fit(reports)
        errors = [qc.mean_absolute_error(found, CROWD.truths) for found in (estimate, naive)]
        assert errors[0] < 0.9 * errors[1]
        assert abs(estimate.state.answering.shares.mean() - 0.5) < 0.1


@pytest.mark.nightly
def test_where_all_tasks_were_answered_the_crowds_share_says_so():
    crowd = make_crowd(kind="sensors", tasks=100, workers=30, share=1.0, random_state=2)
    reports = noisy(10.0, crowd, fill="uniform")
    with ignores_noise():
        moon = MOON(truth_prior="normal").fit(reports)
    aware = numbers().fit(reports)
    assert aware.state.answering.shares.min() > 0.9
    errors = [qc.mean_absolute_error(found, crowd.truths) for found in (aware, moon)]
    assert errors[0] < 1.05 * errors[1]


@pytest.mark.slow
def test_equal_answers_are_the_truth_and_a_far_outlier_does_not_blur_the_bins():
    rows = [(task, worker, 1.0 + task / 7) for task in range(300) for worker in range(3)]
    frame = pd.DataFrame([*rows, (0, 9, 1e7)], columns=["task", "worker", "label"])
    estimate = numbers().fit(frame, non_private=True)
    assert estimate.state.high - estimate.state.low < 500
    truths = estimate.truths["truth"].to_numpy(np.float64)
    np.testing.assert_allclose(np.sort(truths)[1:], 1.0 + np.arange(1, 300) / 7, atol=0.5)
    same = frame.assign(label=5.25)
    np.testing.assert_allclose(numbers().fit(same, non_private=True).truths["truth"], 5.25)


def test_bounded_reports_with_little_noise_tell_of_truths_within_a_bin():
    """Means of 20 answers have a standard error of .17 bins; centres of bins would add .29."""
    rng = np.random.default_rng(4)
    truths = rng.uniform(0.1, 0.9, 400)
    rows = [(t, w, truths[t] + 0.004 * rng.normal()) for t in range(400) for w in range(20)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    domain = qc.Interval(low=0, high=1)
    mechanism = qc.PiecewiseMechanism(domain=domain, epsilon=16, step=2.0**-14)
    answers = qc.Answers.from_frame(frame, domain=domain)
    found = numbers().fit(mechanism.simulate(answers, random_state=5)).truths.set_index("task")
    error = found["truth"].to_numpy(np.float64) - truths[found.index.to_numpy(np.int64)]
    assert np.sqrt(np.mean(error**2)) * 191 < 0.23


def test_known_truths_stay_and_tell_of_workers():
    gold = pd.DataFrame({"task": CROWD.truths.column("task").to_pylist()[:20]})
    gold["label"] = CROWD.truths.column("label").to_pylist()[:20]
    estimate = numbers(max_iter=5).fit(noisy(), gold=gold)
    merged = estimate.truths.merge(gold, on="task")
    np.testing.assert_array_equal(merged["truth"], merged["label"])
    assert (merged["standard_error"] == 0).all()


@pytest.mark.nightly
def test_an_earlier_estimate_is_a_start_and_can_be_extended():
    reports = noisy()
    method = numbers()
    first = method.fit(reports)
    again = method.fit(reports, init=first)
    assert again.n_iter < first.n_iter
    np.testing.assert_allclose(again.truths["truth"], first.truths["truth"], atol=0.2)
    frame = CROWD.answers.to_frame()
    new = frame["task"].astype(int) < 10
    old = method.fit(frame[~new], non_private=True)
    more = method.extend(old, frame[new], non_private=True)
    assert len(more.truths) == 10
    assert int(more.workers["answers"].sum()) == len(frame)


@pytest.mark.slow
def test_intervals_hold_nine_tenths_of_the_truths():
    inside = []
    for seed in range(4):  # 1200 truths: beyond 85 to 95 % by chance in less than 1 of 10^6
        crowd = make_crowd(kind="sensors", tasks=300, workers=30, share=0.5, random_state=seed)
        reports = noisy(4.0, crowd)
        estimate = numbers(shared_errors=False).fit(reports)
        levels, quantiles = estimate.model.posterior(estimate.partition, estimate.state)
        assert tuple(levels) == LEVELS
        assert (np.diff(quantiles, axis=1) >= 0).all()
        np.testing.assert_allclose(quantiles[:, 2], estimate.truths["truth"], atol=1e-9)
        truths = np.array(crowd.truths.column("label").to_pylist())
        inside.extend((quantiles[:, 0] <= truths) & (truths <= quantiles[:, 4]))
    assert 0.85 < np.mean(inside) < 0.95


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"scales": (0.4, 1.0)}, {"bias": 1.0}])
@pytest.mark.parametrize("epsilon", [20.0, None])
def test_no_worker_holds_half_of_a_task_unless_others_bear_it_out(options, epsilon):
    crowd = make_crowd(kind="numbers", **options, random_state=3)
    reports = crowd.answers if epsilon is None else noisy(epsilon, crowd)
    estimate = numbers().fit(reports)
    partition = estimate.partition
    precisions = estimate.model.report_precisions(estimate.state)[:, 0]
    for start, end in pairwise(partition.offsets):
        codes = partition.worker_codes[start:end]
        borne = estimate.state.borne[codes, 0]
        held = held_weights(precisions[codes], borne)
        limit = max(held.sum() / 2.0, borne[np.argmax(precisions[codes])])
        assert held.max() <= limit * (1 + 1e-9)


@pytest.mark.slow
def test_a_few_accurate_workers_are_told_from_many_inaccurate_ones():
    rng = np.random.default_rng(0)
    sizes = np.where(rng.random(200) < 0.2, 0.05, 3.0)
    options = {"tasks": 200, "workers": 200, "answers_per_worker": 8}
    crowd = make_crowd(kind="numbers", worker_sigmas=sizes, random_state=0, **options)
    estimate = qc.NoiseAware(shared_errors=False).fit(crowd.answers)
    mean = qc.mean_absolute_error(qc.Mean().fit(crowd.answers), crowd.truths)
    assert qc.mean_absolute_error(estimate, crowd.truths) < 0.4 * mean
    found = estimate.workers.set_index("worker")["error_sd"].loc[np.flatnonzero(sizes < 1)]
    assert found.median() < 0.2


def test_what_nobody_bears_out_is_not_followed():
    rng = np.random.default_rng(5)
    rows = [
        (task, worker, task % 7 + rng.normal(0, 0.2)) for task in range(60) for worker in range(6)
    ]
    far = [(task, 9, task % 7 + rng.normal(0, 3)) for task in range(60)]
    frame = pd.DataFrame(rows + far, columns=["task", "worker", "label"])
    state = numbers().fit(frame, non_private=True).state
    assert (state.borne[:6] > 20 * state.borne[6]).all()
    taken = state.take(np.array([2, -1]))
    assert taken.borne.tolist() == [[state.borne[2, 0]], [0.0]]


@pytest.mark.nightly
def test_answers_that_are_cut_off_are_told_from_others():
    inside = []
    for seed in range(4):  # 1200 truths: .80 without distributions of the ends, .87 with them
        crowd = make_crowd(
            kind="sparse", tasks=300, workers=300, truths="uniform", random_state=seed
        )
        levels = crowd.answers.domain.levels
        between = qc.Interval(low=levels[0], high=levels[-1])
        frame = crowd.answers.to_frame()
        method = numbers(shared_errors=False)
        estimate = method.fit(qc.Answers.from_frame(frame, between, tasks=crowd.answers.tasks))
        _, quantiles = estimate.model.posterior(estimate.partition, estimate.state)
        truths = np.array(crowd.truths.column("label").to_pylist())
        inside.extend((quantiles[:, 0] <= truths) & (truths <= quantiles[:, 4]))
    assert 0.85 < np.mean(inside) < 0.95


@pytest.mark.slow
def test_workers_have_a_sigma_with_an_interval():
    workers = numbers().fit(CROWD.answers).workers
    assert workers["weight"].sum() == pytest.approx(1.0)
    assert (
        (workers["error_sd_low"] < workers["error_sd"])
        & (workers["error_sd"] < workers["error_sd_high"])
    ).all()
    good = workers["worker"].astype(int) < 15
    assert (workers["error_sd"][good] < 1.0).all()
    assert (workers["error_sd"][~good] > 1.0).all()


def test_what_it_cannot_read_is_refused(monkeypatch):
    mechanism = MatrixFactorization(domain=DOMAIN, epsilon=1.0)
    reports = mechanism.simulate(CROWD.answers, random_state=1)
    with pytest.raises(AnswerError, match=r"Use Mean .*--method mean"):
        numbers().fit(reports)
    monkeypatch.setattr(noise_aware_numbers, "MOST_CELLS", 1000)
    with pytest.raises(ParameterError, match="11 workers with 32 or more reports, and 1,153"):
        numbers().fit(CROWD.answers)


def test_much_noise_is_warned_of():
    with pytest.warns(NoSignalWarning, match="pulled towards"):
        numbers(max_iter=4).fit(noisy(0.1))


def test_a_new_worker_is_as_the_crowd():
    state = numbers(max_iter=4).fit(noisy()).state
    taken = state.take(np.array([2, -1]))
    np.testing.assert_array_equal(taken.beliefs[0], state.beliefs[2])
    np.testing.assert_array_equal(taken.beliefs[1], state.crowd)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.01, 0.1])
def test_reports_that_tell_nothing_leave_truths_in_the_middle(epsilon):
    rng = np.random.default_rng(1)
    tasks, workers = np.repeat(np.arange(60), 5), np.tile(np.arange(25), 12)
    frame = pd.DataFrame({"task": tasks, "worker": workers, "label": 0.5})
    answers = qc.Answers.from_frame(frame, domain=qc.Interval(low=0, high=1))
    mechanism = qc.LaplaceMechanism(domain=answers.domain, epsilon=epsilon, fill=None)
    with pytest.warns(NoSignalWarning):
        truths = numbers().fit(mechanism.simulate(answers, random_state=rng)).truths
    assert (abs(truths["truth"] - 0.5) < (0.1 if epsilon < 0.1 else 0.35)).all()
    assert (truths["standard_error"] > 0.15).all()


FILLED = {
    "none": {"fill": None},
    "filled": {"fill": "uniform"},
    "bits": {"participation": "released"},
}


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("earlier", FILLED)
@pytest.mark.parametrize("later", [*FILLED][::-1])
def test_a_start_fits_reports_that_were_filled_in_or_not(earlier, later):
    method = numbers(max_iter=12)
    start = method.fit(noisy(8.0, **FILLED[earlier]))
    estimate = method.fit(noisy(8.0, **FILLED[later]), init=start)
    assert qc.mean_absolute_error(estimate, CROWD.truths) < 1.0


def test_numbers_beyond_the_earlier_ones_need_a_new_fit():
    rng = np.random.default_rng(4)
    tasks, workers = np.repeat(np.arange(40), 5), np.tile(np.arange(10), 20)
    label = tasks / 40 + rng.normal(0, 0.02, 200)
    frame = pd.DataFrame({"task": tasks, "worker": workers, "label": label})
    method = numbers(max_iter=8)
    first = method.fit(frame, non_private=True)
    far = frame.assign(task=frame["task"] + 100, label=frame["label"] + 5)
    with pytest.raises(ParameterError, match="Fit all answers again"):
        method.extend(first, far, non_private=True)
    again = method.fit(pd.concat([frame, far]), init=first, non_private=True)
    truths = again.truths.set_index("task")["truth"]
    assert (abs(truths.loc[100:] - truths.loc[:99].to_numpy() - 5) < 0.2).all()


@pytest.mark.parametrize("number", [1e17, -1.7e18, 1e-310])
def test_equal_numbers_of_any_size_are_the_truth(number):
    tasks, workers = np.repeat(np.arange(20), 3), np.tile(np.arange(3), 20)
    frame = pd.DataFrame({"task": tasks, "worker": workers, "label": number})
    np.testing.assert_allclose(
        numbers().fit(frame, non_private=True).truths["truth"], number, rtol=1e-6, atol=1e-9
    )


@pytest.mark.slow
@pytest.mark.parametrize("scale", [2.0**600, 2.0**-600])
@pytest.mark.parametrize("kind", [qc.PiecewiseMechanism, qc.LaplaceMechanism])
def test_a_range_whose_square_no_float_holds(kind, scale):
    """Reports were drawn, and no truths were found: an OverflowError, or a division by zero."""
    found = []
    for unit in (1.0, scale):
        fill = {"fill": None} if kind is qc.LaplaceMechanism else {}
        domain = qc.Interval(low=0.0, high=10.0 * unit)
        mechanism = kind(domain=domain, epsilon=4.0, **fill)
        labels = np.array([2.0, 3.0, 7.0, 9.0]) * unit
        frame = pd.DataFrame({"task": [*"aabb"], "worker": [*"uvuv"], "label": labels})
        reports = mechanism.simulate(qc.Answers.from_frame(frame, domain), random_state=1)
        truths = qc.NoiseAware().fit(reports).truths
        found.append(truths[["truth", "standard_error"]].to_numpy() / unit)
    assert found[1] == pytest.approx(found[0])

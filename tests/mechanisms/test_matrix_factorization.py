import itertools
import json
import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from quietcrowd.answers import Answers
from quietcrowd.datasets import make_crowd
from quietcrowd.domains import Categorical, Interval, Ordinal
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.mechanisms import MatrixFactorization, Mechanism, factor_solve
from quietcrowd.mechanisms.channels import sketch
from quietcrowd.mechanisms.channels.sketch import UNIT, TaskProfile

STARS = Ordinal(range(10))
CROWD = make_crowd(kind="sparse", tasks=30, workers=25, sparsity=0.3, random_state=2)
LOUD = {"domain": STARS, "epsilon": 300.0}  # hardly any noise: formulas can be seen


def profile_of(mechanism):
    return mechanism.channel.profile.matrix(CROWD.answers.canonical.tasks) / UNIT


def rows():
    """Return for each worker the tasks that it answered, and its answers."""
    answers = CROWD.answers.canonical
    ends, order = answers.rows_by_worker
    tasks = answers.task_codes[order]
    values = STARS.numbers(answers.values[order])
    return [(tasks[a:b], values[a:b]) for a, b in pairwise(ends)]


def predictions(mechanism, seed=0):
    table = mechanism.simulate(CROWD.answers, random_state=seed).table
    return table.values.reshape(30, 25).T


def test_fill_is_least_squares_over_all_tasks():
    mechanism = MatrixFactorization(**LOUD, rank=30, ridge=0.5, fill=2.0)
    profile = profile_of(mechanism)
    for found, (tasks, values) in zip(predictions(mechanism), rows(), strict=True):
        filled = np.zeros(30)
        filled[tasks] = values - 2.0
        expected = profile @ np.linalg.solve(
            profile.T @ profile + 0.5 * np.eye(30), profile.T @ filled
        )
        assert found == pytest.approx(2.0 + expected, abs=0.2)


@pytest.mark.parametrize("variant", ["ridge", "statistics"])
def test_ridge_and_statistics_fit_the_answered_tasks(variant):
    quiet = {**LOUD, "epsilon": 1000.0}
    mechanism = MatrixFactorization(**quiet, rank=4, ridge=0.5, fill=4.5, variant=variant)
    profile = profile_of(mechanism)
    for found, (tasks, values) in zip(predictions(mechanism), rows(), strict=True):
        mine = profile[tasks]
        expected = profile @ np.linalg.solve(
            mine.T @ mine + 0.5 * np.eye(4), mine.T @ (values - 4.5)
        )
        assert found == pytest.approx(4.5 + expected, abs=0.25)


def test_paper_is_the_exact_minimum_whatever_the_start():
    mechanism = MatrixFactorization(**LOUD, rank=3, variant="paper")
    one, other = (mechanism.simulate(CROWD.answers, random_state=5).sketches for _ in range(2))
    assert np.array_equal(one, other)
    profile = profile_of(mechanism)
    for found, (tasks, values) in zip(one, rows(), strict=True):
        exact = np.linalg.lstsq(profile[tasks], values, rcond=None)[0]
        assert found == pytest.approx(exact, abs=1.0)
    steep = MatrixFactorization(**LOUD, rank=3, variant="paper", learning_rate=0.02)
    again = steep.simulate(CROWD.answers, random_state=5).sketches
    assert again == pytest.approx(one, abs=1e-5)


def test_gradient_descent_finds_the_solution():
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(20, 6, 6))
    matrices = factors @ factors.transpose(0, 2, 1) + 0.5 * np.eye(6)
    sums = rng.normal(size=(20, 6))
    expected = np.linalg.solve(matrices, sums[:, :, np.newaxis])[:, :, 0]
    found = factor_solve.descend(matrices, sums, rng.normal(size=(20, 6)), None, 100_000)
    assert found == pytest.approx(expected, abs=1e-6)
    with pytest.raises(AnswerError, match="diverged"):
        factor_solve.descend(matrices, sums, sums, 10.0, 100_000)
    with pytest.raises(AnswerError, match="did not converge in 3 steps"):
        factor_solve.descend(matrices, sums, sums, None, 3)


def test_as_printed_a_worker_with_less_answers_than_the_rank_has_no_minimum():
    frame = pd.DataFrame({"task": [*"abcdefa"], "worker": [*["bob"] * 6, "ann"], "label": 3})
    mechanism = MatrixFactorization(domain=STARS, epsilon=1.0, rank=5, variant="paper")
    with pytest.raises(AnswerError, match=r"the answers of worker 'ann' .* profile of rank 5"):
        mechanism.randomize(Answers.from_frame(frame, STARS))
    buckets = MatrixFactorization(
        domain=STARS, epsilon=1.0, rank=5, profile="buckets", variant="paper"
    )
    with pytest.raises(AnswerError, match=r"worker 'bob' .* profile of rank 5"):
        buckets.randomize(Answers.from_frame(frame.iloc[:6], STARS))


def test_the_noise_of_the_paper_is_of_the_number_of_levels():
    mechanism = MatrixFactorization(domain=STARS, epsilon=0.5, variant="paper")
    assert mechanism.channel.scale == pytest.approx(10 / 0.5)
    assert mechanism.guarantee().epsilon == pytest.approx(0.45)
    assert not mechanism.guarantee().claim_holds
    assert MatrixFactorization(domain=STARS, epsilon=0.5).channel.scale == pytest.approx(9 / 0.5)


def test_statistics_pay_twice_for_a_centre_at_the_edge():
    middle = MatrixFactorization(domain=STARS, epsilon=1.0, variant="statistics")
    edge = MatrixFactorization(domain=STARS, epsilon=1.0, variant="statistics", fill=0.0)
    assert edge.channel.scale == pytest.approx(2 * middle.channel.scale)
    assert edge.guarantee(tasks=1).epsilon <= 1.0
    assert middle.guarantee(tasks=1).epsilon == pytest.approx(1.0)


def test_sums_are_exact():
    rng = np.random.default_rng(0)
    profile = rng.integers(-UNIT // 3, UNIT // 3, (50, 3))
    cells = rng.integers(-2000, 2000, (7, 50)).astype(np.int32)
    assert np.array_equal(sketch.profile_sums(profile, cells), cells.astype(np.int64) @ profile)
    answered = rng.random((7, 50)) < 0.4
    rows_, columns = sketch.upper_triangle(3)
    products = profile[:, rows_] * profile[:, columns]
    truncated = np.sign(products) * (np.abs(products) // UNIT)
    assert np.array_equal(
        sketch.second_moments(profile, answered), answered.astype(np.int64) @ truncated
    )
    assert sketch.moment_sensitivity(profile) == np.abs(truncated).sum(axis=1).max()
    with pytest.raises(ParameterError, match="too many for exact sums"):
        sketch.check_exact(10**6, 2000)


@pytest.mark.parametrize("kind", ["gaussian", "rademacher", "buckets"])
def test_one_task_moves_the_second_moments_by_at_most_1(kind):
    matrix = TaskProfile(rank=9, kind=kind, seed=0).matrix(CROWD.answers.tasks)
    norms = np.abs(matrix).sum(axis=1) / UNIT
    bound = ((norms**2 + ((matrix / UNIT) ** 2).sum(axis=1)) / 2).max()
    found = sketch.moment_sensitivity(matrix) / UNIT
    assert bound - 1e-5 < found <= bound <= 1 + 1e-12


def test_negative_eigenvalues_are_cut():
    matrices = np.array([[[1.0, 2.0], [2.0, 1.0]], [[2.0, 0.0], [0.0, 3.0]]])
    found = factor_solve.semidefinite(matrices)
    assert found[1] == pytest.approx(matrices[1])
    assert np.linalg.eigvalsh(found[0]) == pytest.approx([0.0, 3.0], abs=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, "must be a finite number above 0"),
        ({"epsilon": -2.0}, "above 0"),
        ({"domain": Ordinal([3])}, "at least two numbers"),
        ({"domain": Categorical([0, 1])}, "must be Ordinal or Interval"),
        ({"rank": 0}, "rank must be a whole number"),
        ({"rank": 10**6}, "at most 4,096"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"ridge": -1.0}, "ridge must be"),
        ({"ridge": math.nan}, "ridge must be"),
        ({"ridge": 0.0, "variant": "ridge"}, "ridge must be above 0"),
        ({"ridge": 0, "variant": "statistics"}, "ridge must be above 0"),
        ({"fill": 12.0}, "fill must lie in the domain"),
        ({"fill": "uniform"}, "must be a number"),
        ({"variant": "best"}, "variant"),
        ({"profile": "cauchy"}, "profile must be one of"),
        ({"learning_rate": 0.0}, "learning_rate must be a finite number above 0"),
        ({"max_steps": 0}, "max_steps"),
        ({"variant": "paper", "fill": 3.0}, "supports neither ridge nor fill"),
        ({"variant": "paper", "ridge": 3.0}, "supports neither ridge nor fill"),
        ({"learning_rate": 0.1}, "require variant"),
        ({"max_steps": 10}, "require variant"),
        ({"epsilon": 1e-300}, "another epsilon"),
        ({"domain": Interval(low=0, high=1), "variant": "paper"}, "requires an Ordinal domain"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ParameterError, match=message):
        MatrixFactorization(**{"domain": STARS, "epsilon": 1.0, **options})


@pytest.mark.parametrize("profile", ["gaussian", "rademacher", "buckets"])
def test_without_a_ridge_a_rank_above_the_tasks_has_no_solution(profile):
    mechanism = MatrixFactorization(**LOUD, rank=40, ridge=0.0, profile=profile)
    with pytest.raises(
        ParameterError, match="the profiles of 30 tasks have no solution at rank 40"
    ):
        mechanism.simulate(CROWD.answers, random_state=0)


def test_numbers_of_numpy_are_numbers():
    mechanism = MatrixFactorization(
        domain=STARS,
        epsilon=np.float32(1.0),
        rank=np.int64(3),
        ridge=np.float32(0.5),
        seed=np.uint8(4),
    )
    assert Mechanism.from_dict(json.loads(json.dumps(mechanism.to_dict()))) == mechanism


@pytest.mark.slow
def test_too_many_numbers_are_refused_before_profiles_are_made():
    answers = Answers(
        domain=STARS,
        tasks=pa.array(np.arange(10**6)),
        workers=pa.array(np.arange(10)),
        offsets=np.zeros(10**6 + 1),
        worker_codes=np.zeros(0),
        values=np.zeros(0, np.uint8),
    )
    with pytest.raises(ParameterError, match="too many for exact sums"):
        MatrixFactorization(domain=STARS, epsilon=1.0, rank=100).randomize(answers)
    with pytest.raises(ParameterError, match="4,000 numbers for each of"):
        MatrixFactorization(domain=STARS, epsilon=1.0, rank=4000).randomize(answers)


@pytest.mark.parametrize("variant", ["fill", "statistics", "ridge", "paper"])
def test_no_two_rows_of_named_tasks_are_farther_apart_than_stated(variant):
    """All rows of four tasks, in integers; "fill" and "statistics" with missing answers."""
    domain, tasks = Ordinal(range(3)), ["a", "b", "c", "d"]
    mechanism = MatrixFactorization(domain=domain, epsilon=1.0, rank=2, variant=variant)
    channel = mechanism.channel
    profile = channel.profile.matrix(pa.array(tasks))
    places = channel.grid.places(domain.numbers(np.arange(3))).astype(np.int64) - channel.centre
    rows = [(int(place), True) for place in places]
    rows += [(0, False)] * mechanism.participation_protected
    kappa = sketch.moment_sensitivity(profile)
    worst = 0.0
    sums, moments = [], []
    for row in itertools.product(rows, repeat=4):
        cells, answered = zip(*row, strict=True)
        sums.append(np.array(cells) @ profile)
        moments.append(sketch.second_moments(profile, np.array([answered]))[0])
    sums, moments = np.array(sums), np.array(moments)
    for one, of_one in zip(sums, moments, strict=True):
        loss = np.abs(sums - one).sum(axis=1) / channel.noise.scale
        if variant == "statistics":
            loss = loss + np.abs(moments - of_one).sum(axis=1) / (kappa / channel.moments_epsilon)
        worst = max(worst, float(loss.max()))
    stated = mechanism.guarantee(answers=4, tasks=tasks).total_epsilon
    assert worst <= stated * (1 + 1e-12) < 0.95 * mechanism.guarantee(4, 4).total_epsilon
    if variant != "statistics":  # its bound adds two maxima of different rows
        assert worst == pytest.approx(stated)


@pytest.mark.nightly
@pytest.mark.slow
def test_all_answers_to_named_tasks_lose_less_than_to_any():
    for profile, largest in (("gaussian", 36.5), ("rademacher", 29.8), ("buckets", 100.0)):
        mechanism = MatrixFactorization(
            domain=Ordinal(range(10)), epsilon=1.0, rank=12, profile=profile
        )
        named = mechanism.guarantee(tasks=range(100))
        assert round(named.total_epsilon, 1) == largest
        assert mechanism.guarantee(tasks=100).total_epsilon == 100.0
        assert mechanism.loss(tasks=range(100)).each.epsilon == named.total_epsilon
    usual = MatrixFactorization(domain=Ordinal(range(10)), epsilon=1.0)
    assert usual.guarantee(tasks=range(1000)).total_epsilon <= 313


def test_profiles_of_too_many_numbers_are_not_made_for_a_guarantee():
    mechanism = MatrixFactorization(domain=Ordinal(range(10)), epsilon=1.0, rank=4096)
    assert mechanism.guarantee(tasks=range(20_000)).total_epsilon == 20_000

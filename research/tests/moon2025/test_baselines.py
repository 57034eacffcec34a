"""The stand-ins for published methods do what their docstrings say."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import laplace, norm

from quietcrowd.datasets import make_crowd
from quietcrowd.domains import Categorical, Interval
from quietcrowd.evaluation import Experiment, mean_absolute_error
from quietcrowd.exceptions import AnswerError, NoiseIgnoredWarning, ParameterError
from quietcrowd.formats import write_reports
from quietcrowd.inference import CRH, METHODS, Mean, ignores_noise
from quietcrowd.inference.numbers.normal_laplace import NormalLaplace
from quietcrowd.mechanisms import LaplaceMechanism, Mechanism
from quietcrowd.testing import check_method
from quietcrowd_research.moon2025.baselines import (
    KnownErrors,
    PrivTDSILike,
    TeslaLike,
    normal_laplace_cdf,
    normal_laplace_quantile,
)

pytestmark = pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")

CROWD = make_crowd(
    kind="sparse", tasks=60, workers=40, sparsity=0.5, truths="uniform", random_state=2
)


def reports_at(epsilon, seed=0, **options):
    mechanism = LaplaceMechanism(
        domain=CROWD.answers.domain, epsilon=epsilon, **{"fill": None, **options}
    )
    return mechanism.simulate(CROWD.answers, random_state=seed)


@pytest.mark.parametrize("sigma", [0.05, 0.5, 1.0, 4.0, 30.0])
def test_the_cdf_is_the_integral_of_the_density(sigma):
    spread = sigma + 1.0
    for error in (-6 * spread, -sigma, -0.1, 0.0, 0.7, 3 * spread):
        below, _ = quad(
            lambda x: np.exp(NormalLaplace(sigma, 1.0).log_density(x)),
            -80 * spread,
            error,
            points=[-5 * sigma, -sigma / 2],
            epsabs=1e-13,
            limit=800,
        )
        assert normal_laplace_cdf(error, sigma, 1.0) == pytest.approx(below, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("share", [1e-9, 0.01, 0.3, 0.5, 0.8, 0.975, 1 - 1e-9])
def test_quantiles(share):
    sigma, scale = np.array([1e-9, 0.1, 1.0, 1.0, 50.0]), np.array([1.0, 1.0, 1e-9, 2.0, 0.5])
    found = normal_laplace_quantile(share, sigma, scale)
    assert normal_laplace_cdf(found, sigma, scale) == pytest.approx(share, rel=1e-6)
    assert found[0] == pytest.approx(laplace.ppf(share), abs=1e-7)
    assert found[2] == pytest.approx(norm.ppf(share), abs=1e-7)
    mirrored = normal_laplace_quantile(1 - share, sigma, scale)
    assert found == pytest.approx(-mirrored, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, float("nan")])
def test_a_quantile_is_of_a_probability(share):
    with pytest.raises(ParameterError, match="a probability must be above 0 and below 1"):
        normal_laplace_quantile([0.5, share], 1.0, 1.0)


@pytest.mark.nightly
@pytest.mark.parametrize("method", [TeslaLike(), TeslaLike(filter="posterior")])
def test_it_passes_the_battery(method):
    check_method(method, LaplaceMechanism, epsilon=5.0, fill=None)


def alternate(reports, method, sweeps):
    """Do the same with a loop over workers, in the numbers' own unit."""
    frame = reports.to_frame()
    scale, grid = reports.mechanism.channel.scale, reports.mechanism.grid
    y, task, who = (frame[name].to_numpy() for name in ("label", "task", "worker"))
    variance = None
    for _ in range(sweeps + 1):
        sigma = np.full(40, scale) if variance is None else np.sqrt(variance)
        weight = np.ones(40) if variance is None else 1 / (variance + 2 * scale**2)
        farthest = normal_laplace_quantile(1 - method.beta / 2, sigma, scale)[who]

        def means(values, weight=weight):
            return np.bincount(task, weight[who] * values) / np.bincount(task, weight[who])

        truths = np.clip(means(y), grid.low, grid.high)
        for _ in range(method.passes):
            x = truths[task]
            if method.filter == "clip":
                filtered = np.clip(y, x - farthest, x + farthest)
            else:
                filtered = x + NormalLaplace(sigma[who], scale).posterior_mean(y - x)
            if method.within_bounds:
                filtered = np.clip(filtered, grid.low, grid.high)
            truths = np.clip(means(filtered), grid.low, grid.high)
        squared = np.bincount(who, (y - truths[task]) ** 2) / np.bincount(who)
        variance = np.maximum(squared - 2 * scale**2, 0.02 * squared)
    return truths, weight / weight.sum()


@pytest.mark.parametrize("kind", ["clip", "posterior"])
@pytest.mark.parametrize("within_bounds", [True, False])
def test_it_is_what_it_says(kind, within_bounds):
    method = TeslaLike(filter=kind, within_bounds=within_bounds, beta=0.2, max_iter=4, tol=0.0)
    reports = reports_at(5.0)
    estimate = method.fit(reports)
    truths, quality = alternate(reports, method, 4)
    assert estimate.estimates.truths == pytest.approx(truths, abs=1e-8)
    assert estimate.weight == pytest.approx(quality, abs=1e-10)


def test_bounds_draw_truths_at_the_ends_inwards():
    frame = pd.DataFrame(
        [(task, worker, 9.0 * (task > 4)) for task in range(10) for worker in range(300)],
        columns=["task", "worker", "label"],
    )
    answers = CROWD.answers.from_frame(frame, Interval(low=0, high=9))
    mechanism = LaplaceMechanism(domain=answers.domain, epsilon=2.0, fill=None)
    reports = mechanism.simulate(answers, random_state=0)
    ends = np.repeat([0.0, 9.0], 5)
    drawn, free = (
        np.abs(TeslaLike(within_bounds=within).fit(reports).estimates.truths - ends).mean()
        for within in (True, False)
    )
    assert drawn > 1.0 > 4 * free


def test_it_does_not_warn_of_noise_but_of_filled_answers():
    TeslaLike().fit(reports_at(2.0))
    with pytest.warns(
        NoiseIgnoredWarning, match="TeslaLike corrects for the noise, but not for missing answers"
    ):
        TeslaLike().fit(reports_at(2.0, fill="midpoint"))


def test_it_needs_laplace_noise():
    with pytest.raises(AnswerError, match="TeslaLike needs reports with Laplace noise"):
        TeslaLike().fit(CROWD.answers)


@pytest.mark.parametrize(
    ("parameters", "rule"),
    [
        ({"filter": "cut"}, "filter must be one of"),
        ({"beta": 0.0}, "beta must be above 0"),
        ({"beta": 1}, "beta must be above 0"),
        ({"passes": 0}, "passes must be a whole number"),
        ({"within_bounds": "yes"}, "within_bounds must be"),
    ],
)
def test_parameters_of_the_method(parameters, rule):
    with pytest.raises(ParameterError, match=rule):
        TeslaLike(**parameters)


def test_stand_ins_are_not_offered():
    assert not {"tesla-like", "privtdsi-like"} & {*METHODS, *Mechanism.registry()}
    assert PrivTDSILike not in Mechanism.registry().values()


@pytest.mark.parametrize("count", [1, 3, 1000])
def test_workers_report_a_sample_of_their_tasks(count):
    mechanism = PrivTDSILike(
        domain=CROWD.answers.domain, epsilon=1e3 * count, tasks_per_worker=count
    )
    reports = mechanism.simulate(CROWD.answers, random_state=1)
    counts = CROWD.answers.answers_per_worker
    assert reports.table.answers_per_worker.tolist() == np.minimum(counts, count).tolist()
    assert reports.simulated
    answers = CROWD.answers.to_frame().set_index(["task", "worker"])["label"]
    found = reports.to_frame().set_index(["task", "worker"])["label"]
    assert len(found.index.difference(answers.index)) == 0
    assert np.abs(found - answers.loc[found.index]).max() < 0.3


def test_every_task_of_a_worker_is_as_likely():
    mechanism = PrivTDSILike(domain=CROWD.answers.domain, epsilon=1.0, tasks_per_worker=2)
    drawn = np.zeros(len(CROWD.answers.tasks))
    rng = np.random.default_rng(0)
    for _ in range(300):
        drawn += mechanism.simulate(CROWD.answers, random_state=rng).table.answers_per_task
    table = CROWD.answers
    chance = np.bincount(table.task_codes, 2 / table.answers_per_worker[table.worker_codes])
    assert np.abs((drawn - 300 * chance) / np.sqrt(300 * chance)).max() < 4


def test_the_budget_is_the_workers():
    mechanism = PrivTDSILike(domain=CROWD.answers.domain, epsilon=6.0, tasks_per_worker=4)
    guarantee = mechanism.guarantee(answers=50)
    assert guarantee.epsilon == pytest.approx(1.5, rel=1e-9)
    assert guarantee.total_epsilon == pytest.approx(6.0, rel=1e-9)
    assert mechanism.guarantee(answers=3).total_epsilon == pytest.approx(4.5, rel=1e-9)
    assert not guarantee.participation_protected
    assert "at most 4 answers are reported" in guarantee.assumptions
    alone = LaplaceMechanism(domain=CROWD.answers.domain, epsilon=1.5, fill=None)
    assert mechanism.channel == alone.channel


def test_no_real_reports_and_no_files(tmp_path):
    mechanism = PrivTDSILike(domain=CROWD.answers.domain, epsilon=1.0, tasks_per_worker=2)
    with pytest.raises(ParameterError, match="not made for real answers"):
        mechanism.randomize(CROWD.answers)
    reports = mechanism.simulate(CROWD.answers, random_state=1)
    with pytest.raises(ParameterError, match="not written to files"):
        write_reports(reports, tmp_path / "reports.parquet")


@pytest.mark.parametrize(
    ("parameters", "rule"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": "much"}, "epsilon"),
        ({"tasks_per_worker": 0}, "tasks_per_worker must be a whole number"),
        ({"domain": Categorical(["no", "yes"])}, "domain|numbers"),
    ],
)
def test_parameters_of_the_mechanism(parameters, rule):
    good = {"domain": CROWD.answers.domain, "epsilon": 1.0, "tasks_per_worker": 2}
    with pytest.raises((ParameterError, AnswerError), match=rule):
        PrivTDSILike(**{**good, **parameters})


def test_a_task_that_nobody_drew_counts_as_the_mean_of_the_others():
    crowd = make_crowd(
        kind="sparse", tasks=50, workers=10, sparsity=0.2, truths="uniform", random_state=2
    )
    mechanism = PrivTDSILike(domain=crowd.answers.domain, epsilon=50.0, tasks_per_worker=1)
    with ignores_noise():
        estimate = CRH().fit(mechanism.simulate(crowd.answers, random_state=0))
    truths, known = estimate.truths["truth"], crowd.truths["label"].to_numpy()
    assert truths.isna().sum() >= 40
    expected = np.abs(truths.fillna(truths.mean()) - known).mean()
    assert mean_absolute_error(estimate, crowd.truths) == pytest.approx(expected)


@pytest.mark.nightly
def test_both_in_an_experiment():
    result = Experiment(
        dataset=CROWD,
        mechanisms={
            "laplace": partial(LaplaceMechanism, fill=None),
            "privtdsi-like": partial(PrivTDSILike, tasks_per_worker=5),
        },
        epsilons=[10.0],
        methods={"mean": Mean(), "tesla-like": TeslaLike()},
        trials=3,
    ).run()
    rows = result.frame.query("mechanism != 'none'").set_index(["mechanism", "method"])
    assert len(rows) == 4
    assert np.isfinite(rows["mae"]).all()
    assert rows.loc[("privtdsi-like", "mean"), "exact_epsilon_mean"] == pytest.approx(2.0)
    assert rows.loc[("laplace", "tesla-like"), "mae"] < rows.loc[("laplace", "mean"), "mae"]


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan, "wide", [1.0, 0.0]])
@pytest.mark.parametrize("name", ["sigma", "scale"])
def test_deviations_are_above_0_and_finite(name, value):
    parameters = {"sigma": 1.0, "scale": 1.0, name: value}
    with pytest.raises(ParameterError, match=f"{name} must be above 0 and finite"):
        normal_laplace_cdf(0.5, **parameters)
    with pytest.raises(ParameterError, match=f"{name} must be above 0 and finite"):
        normal_laplace_quantile(0.5, **parameters)


def test_known_errors_are_floats():
    known = KnownErrors(sigmas=np.array([1, 2])).sigmas
    assert known == (1.0, 2.0)
    assert [type(sigma) for sigma in known] == [float, float]
    for wrong in (1.0, "12", ["a"], [-1.0], [np.nan], None):
        with pytest.raises(ParameterError, match="sigma"):
            KnownErrors(sigmas=wrong)

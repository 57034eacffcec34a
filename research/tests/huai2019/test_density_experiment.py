import math
from functools import cache

import numpy as np
import pytest
from scipy.integrate import quad

from quietcrowd.datasets import make_crowd
from quietcrowd.domains import Interval
from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis import PrisCrowd
from quietcrowd.synthesis.kde import EPANECHNIKOV, KernelDensities
from quietcrowd_research.huai2019.baselines import Basic
from quietcrowd_research.huai2019.density_errors import integrated_squared_errors
from quietcrowd_research.huai2019.density_experiment import (
    DensityExperiment,
    errors_from,
    even_errors,
    fitted,
    near_claims_density,
    normal_density,
)
from quietcrowd_research.huai2019.density_methods import (
    EvenGuess,
    Noisy,
    RawClaims,
    Synthetic,
    Untested,
    drawn_claims,
)

CROWDS = [make_crowd(kind="opinions", tasks=10, workers=8, random_state=seed) for seed in (1, 2)]
METHODS = {
    "even": EvenGuess(),
    "raw": RawClaims(weighting="uniform"),
    "noisy": Noisy(method=Basic(epsilon=1.0)),
}


def around_truths(crowd, dataset):
    return normal_density(crowd, dataset.truths, 1.0)


def of_claims(crowd, _):
    return crowd.densities("uniform")


def run(**options):
    defaults = {
        "datasets": CROWDS,
        "truths": {"normal": around_truths, "claims": of_claims},
        "methods": METHODS,
        "bandwidth": 1.0,
        "trials": 4,
    }
    return DensityExperiment(**(defaults | options)).run()


def test_a_row_per_true_density_and_method():
    frame = run()
    assert frame[["truth", "method"]].to_numpy().tolist() == [
        [truth, method] for truth in ("normal", "claims") for method in METHODS
    ]
    assert (frame["tasks"] == 10).all()
    assert (frame["trials"] == 4).all()
    raw = frame.set_index(["truth", "method"]).loc[("claims", "raw")]
    assert (raw["ise"], raw["sise_printed"]) == pytest.approx((0, 0), abs=1e-9)


def test_each_trial_takes_the_next_crowd():
    row = run(methods={"raw": METHODS["raw"]}).iloc[0]
    errors = []
    for dataset in CROWDS:
        crowd = fitted(dataset, 1.0)
        truth = around_truths(crowd, dataset)
        errors.append(integrated_squared_errors(truth, crowd.densities("uniform")))
    sums = np.array([error.sum() for error in errors] * 2)
    assert row["ise"] == pytest.approx(sums.mean())
    assert row["ise_se"] == pytest.approx(sums.std(ddof=1) / 2)
    assert row["sise"] == pytest.approx(np.mean([np.sqrt(error).sum() for error in errors]))
    assert row["sise_printed"] == pytest.approx(np.mean([(error**2).sum() for error in errors]))


def test_no_other_method_changes_a_row():
    alone = run(methods={"noisy": METHODS["noisy"]}).set_index("truth")
    among = run().query("method == 'noisy'").set_index("truth")
    assert alone.equals(among)
    assert not among["ise"].equals(run(seed=1).query("method == 'noisy'").set_index("truth")["ise"])


@pytest.mark.parametrize("wrong", [{"trials": 1}, {"seed": -1}])
def test_bad_parameters(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        run(**wrong)


@cache
def one_crowd():
    """Return densities of a crowd; what is compiled for them is not for who only collects."""
    return fitted(make_crowd(kind="opinions", tasks=30, random_state=1), 0.5)


def find(method):
    return method.find(one_crowd(), np.random.default_rng(0))


def test_draws_follow_the_density():
    density = KernelDensities(
        offsets=[0, 2, 2, 3],
        points=[0.0, 10.0, 50.0],
        weights=[0.25, 0.75, 1.0],
        bandwidths=[0.1, 9.0, 2.0],
    )
    offsets, values = drawn_claims(density, 40_000, np.random.default_rng(5))
    assert offsets.tolist() == [0, 40_000, 40_000, 80_000]
    first, last = values[:40_000], values[40_000:]
    assert (first > 5).mean() == pytest.approx(0.75, abs=0.011)  # 5 standard errors
    assert first[first < 5].std() == pytest.approx(0.1, rel=0.04)
    assert (last.mean(), last.std()) == pytest.approx((50.0, 2.0), abs=0.05)


def test_a_weight_of_nothing_is_never_drawn():
    rng = np.random.default_rng(6)
    weights = np.concatenate([[0.0, 1.0, 0.0], np.full(7, 1 / 7)])
    density = KernelDensities(
        offsets=[0, 3, 10],
        points=np.arange(10.0),
        weights=weights,
        bandwidths=[1e-3, 1e-3],
    )
    offsets, values = drawn_claims(density, 10_000, rng)
    assert np.rint(values[: offsets[1]]).tolist() == [1.0] * 10_000
    assert set(np.rint(values[offsets[1] :])) == set(range(3, 10))


def test_what_references_cost_and_release():
    nothing, raw = find(EvenGuess()), find(RawClaims(weighting="combined"))
    assert (nothing.epsilon, nothing.released, len(nothing.densities.points)) == (0.0, 0.0, 0)
    assert raw.epsilon == math.inf
    assert np.array_equal(raw.densities.weights, one_crowd().combined_weights)
    drawn = find(Untested(weighting="uniform", claims=7))
    assert drawn.epsilon == math.inf
    assert (np.diff(drawn.densities.offsets) == 7).all()


def test_costs_are_those_of_the_guarantee():
    method = PrisCrowd(epsilon0=4.0, bandwidth=0.5, claims=10)
    found = find(Synthetic(method=method))
    guarantee = method.guarantee(users=20, answers=30, tasks=30)
    assert (found.epsilon, found.delta) == (guarantee.epsilon, 1e-6)
    assert found.claimed_epsilon == guarantee.claimed_epsilon
    assert found.released == pytest.approx(len(found.densities.points) / 300)
    assert found.attempts == pytest.approx(600 / len(found.densities.points))
    printed = find(Synthetic(method=PrisCrowd(release="paper", epsilon0=1.0, bandwidth=0.5)))
    assert (printed.epsilon, printed.released) == (math.inf, 1.0)
    assert printed.claimed_epsilon == pytest.approx(1 + math.log(5))


def test_all_densities_have_the_bandwidths_of_the_crowd():
    noisy = find(Noisy(method=Basic(epsilon=2.0)))
    assert noisy.epsilon == pytest.approx(2.0, abs=1e-6)
    for found in (noisy, find(EvenGuess()), find(Untested(weighting="local"))):
        assert np.array_equal(found.densities.bandwidths, one_crowd().bandwidths)


OPINIONS = make_crowd(kind="opinions", tasks=12, workers=6, random_state=3)


@cache
def all_claims():
    """Return the densities of the claims."""
    return fitted(OPINIONS, 1.0)


def densities(*points, kernel=None, width=1.0):
    counts = [len(some) for some in points]
    return KernelDensities(
        offsets=np.concatenate([[0], np.cumsum(counts)]),
        points=np.array([place for some in points for place in some], float),
        weights=np.array([1 / len(some) for some in points for _ in some]),
        bandwidths=np.full(len(points), width),
        **({"kernel": kernel} if kernel else {}),
    )


def test_the_error_of_an_even_density_is_the_integral():
    truth = densities([0.2, 1.0, 9.0], [4.0], [], width=0.7)
    public = Interval(low=0, high=5)
    errors = even_errors(truth, public)
    assert np.isnan(errors[2])
    for task in (0, 1):
        parts = [
            quad(lambda x, even=even, task=task: (truth.pdf(task, x) - even) ** 2, low, high)[0]
            for low, high, even in ((-9, 0, 0.0), (0, 5, 0.2), (5, 20, 0.0))
        ]
        assert errors[task] == pytest.approx(sum(parts), rel=1e-6)


def test_only_gaussian_kernels_have_it():
    with pytest.raises(ParameterError, match="Gaussian; got 'epanechnikov'"):
        even_errors(densities([0.0], kernel=EPANECHNIKOV), Interval(low=0, high=1))


def test_what_is_not_released_counts_as_even():
    truth, found = densities([1.0], [2.0], [], [3.0]), densities([1.0], [], [9.0], [3.5])
    even = np.array([0.5, 0.25, np.nan, 0.125])
    errors = errors_from(truth, found, even)
    assert errors[:2].tolist() == pytest.approx([0.0, 0.25], abs=1e-12)
    assert len(errors) == 3
    assert 0 < errors[2] < 0.1


def test_normal_densities_stand_at_the_known_truths():
    known = OPINIONS.truths.slice(0, 9).to_pandas().iloc[::-1]
    truth = normal_density(all_claims(), known, 0.5)
    assert (np.diff(truth.offsets) > 0).sum() == 9
    for task, label in zip(known["task"], known["label"], strict=True):
        place = all_claims().position(task)
        assert truth.pdf(place, label) == pytest.approx(1 / np.sqrt(2 * np.pi) / 0.5)


def test_claims_near_the_truth():
    truths = OPINIONS.truths.slice(0, 9)
    near = near_claims_density(all_claims(), truths, 1.5)
    for task, label in zip(*(truths[name].to_pylist() for name in ("task", "label")), strict=True):
        place = all_claims().position(task)
        rows = slice(*near.offsets[place : place + 2])
        mine = all_claims().values[all_claims().claims.task_codes == place]
        assert near.points[rows].tolist() == mine[np.abs(mine - label) <= 1.5].tolist()
        assert near.weights[rows].sum() == pytest.approx(1.0) or rows.start == rows.stop
    assert len(near.points) > 9
    unknown = all_claims().position(11)
    assert near.offsets[unknown] == near.offsets[unknown + 1]

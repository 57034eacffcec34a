import numpy as np
import pytest

from quietcrowd.datasets import opinion_crowd
from quietcrowd.evaluation import DensityExperiment
from quietcrowd.evaluation.papers.density_experiment import fitted
from quietcrowd.evaluation.papers.density_methods import EvenGuess, Noisy, RawClaims
from quietcrowd.evaluation.papers.density_truths import normal_density
from quietcrowd.exceptions import ParameterError
from quietcrowd.synthesis import Basic
from quietcrowd.synthesis.density_errors import integrated_squared_errors

CROWDS = [opinion_crowd(tasks=10, workers=8, seed=seed) for seed in (1, 2)]
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

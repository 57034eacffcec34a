import numpy as np
import pandas as pd
import pytest

from quietcrowd.datasets import sparse_crowd
from quietcrowd.evaluation import correlation, mean_absolute_error
from quietcrowd.exceptions import AnswerError
from quietcrowd.inference import Mean, RatioMean, noise_ignored
from quietcrowd.mechanisms import LaplacePerturbation


def released(crowd, epsilon, seed=0):
    mechanism = LaplacePerturbation(
        domain=crowd.answers.domain, epsilon=epsilon, participation="released"
    )
    return mechanism.randomize(crowd.answers, rng=np.random.default_rng(seed))


def test_it_is_the_ratio_of_sums_where_there_is_no_noise():
    crowd = sparse_crowd(tasks=30, workers=300, sparsity=0.7, truths="uniform", seed=1)
    estimate = RatioMean().fit(released(crowd, 500.0))
    assert estimate.estimates.truths == pytest.approx(
        Mean().fit(crowd.answers).estimates.truths, abs=0.1
    )


@pytest.mark.parametrize("sparsity", [0.5, 0.9])
def test_it_is_consistent_where_filled_means_are_not(sparsity):
    """More workers, less distance from the non-private mean: the noise averages out."""
    distances, biases = [], []
    for workers in (1_000, 30_000):
        crowd = sparse_crowd(tasks=40, workers=workers, sparsity=sparsity, truths="uniform", seed=2)
        reports = released(crowd, 2.0)
        plain = Mean().fit(crowd.answers).estimates.truths
        distances.append(np.abs(RatioMean().fit(reports).estimates.truths - plain).mean())
        with noise_ignored():
            biases.append(np.abs(Mean().fit(reports).estimates.truths - plain).mean())
    assert distances[1] < 0.45 * distances[0]
    assert distances[1] < 0.5
    assert biases[1] > 0.8, "filled means stay biased"


def test_it_beats_reading_filled_values_as_answers_on_the_same_reports():
    crowd = sparse_crowd(tasks=100, workers=2_000, sparsity=0.8, truths="uniform", seed=3)
    for epsilon in (1.0, 4.0):
        reports = released(crowd, epsilon)
        found = RatioMean().fit(reports)
        with noise_ignored():
            filled = Mean().fit(reports)
        assert mean_absolute_error(found, crowd.truths) < mean_absolute_error(filled, crowd.truths)
        assert correlation(found, crowd.truths) > 0.5


def test_noise_alone_gives_the_mean_truth_and_not_the_bounds():
    crowd = sparse_crowd(tasks=100, workers=300, sparsity=0.9, truths="uniform", seed=4)
    truths = RatioMean().fit(released(crowd, 0.05)).estimates.truths
    assert truths.min() >= 0
    assert truths.max() <= 9
    assert truths.std() < 3.0


def test_it_has_no_model_of_other_reports_and_gives_no_warning_of_its_own(recwarn):
    crowd = sparse_crowd(tasks=10, workers=20, sparsity=0.5, seed=5)
    for data in (
        crowd.answers,
        LaplacePerturbation(domain=crowd.answers.domain, epsilon=1.0).randomize(crowd.answers),
        pd.DataFrame({"task": [1], "worker": [1], "label": [1.0]}),
    ):
        with pytest.raises(AnswerError, match="needs reports with participation bits"):
            RatioMean().fit(data)
    estimate = RatioMean().fit(released(crowd, 1.0))
    assert not recwarn.list
    assert estimate.workers["error"].isna().all()
    assert estimate.converged

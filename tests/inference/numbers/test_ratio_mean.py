import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.nightly import nightly

from quietcrowd.answers import Answers
from quietcrowd.datasets import make_crowd
from quietcrowd.domains import Interval
from quietcrowd.evaluation import correlation, mean_absolute_error
from quietcrowd.exceptions import AnswerError, NoSignalWarning
from quietcrowd.inference import Mean, RatioMean, ignores_noise
from quietcrowd.mechanisms import LaplaceMechanism

pytestmark = pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")


def released(crowd, epsilon, seed=0):
    mechanism = LaplaceMechanism(
        domain=crowd.answers.domain, epsilon=epsilon, participation="released"
    )
    return mechanism.simulate(crowd.answers, random_state=seed)


def test_it_is_the_ratio_of_sums_where_there_is_no_noise():
    crowd = make_crowd(
        kind="sparse", tasks=30, workers=300, sparsity=0.7, truths="uniform", random_state=1
    )
    estimate = RatioMean().fit(released(crowd, 500.0))
    assert estimate.estimates.truths == pytest.approx(
        Mean().fit(crowd.answers).estimates.truths, abs=0.1
    )


@pytest.mark.slow
@pytest.mark.parametrize("sparsity", [0.5, 0.9])
def test_it_is_consistent_where_filled_means_are_not(sparsity):
    """More workers, less distance from the non-private mean: the noise averages out."""
    distances, biases = [], []
    for workers in (1_000, 30_000):
        crowd = make_crowd(
            kind="sparse",
            tasks=40,
            workers=workers,
            sparsity=sparsity,
            truths="uniform",
            random_state=2,
        )
        reports = released(crowd, 2.0)
        plain = Mean().fit(crowd.answers).estimates.truths
        distances.append(np.abs(RatioMean().fit(reports).estimates.truths - plain).mean())
        with ignores_noise():
            biases.append(np.abs(Mean().fit(reports).estimates.truths - plain).mean())
    assert distances[1] < 0.45 * distances[0]
    assert distances[1] < 0.5
    assert biases[1] > 0.8, "filled means stay biased"


def test_it_beats_reading_filled_values_as_answers_on_the_same_reports():
    crowd = make_crowd(
        kind="sparse", tasks=100, workers=2_000, sparsity=0.8, truths="uniform", random_state=3
    )
    for epsilon in (1.0, 4.0):
        reports = released(crowd, epsilon)
        found = RatioMean().fit(reports)
        with ignores_noise():
            filled = Mean().fit(reports)
        assert mean_absolute_error(found, crowd.truths) < mean_absolute_error(filled, crowd.truths)
        assert correlation(found, crowd.truths) > 0.5


def test_noise_alone_gives_the_mean_truth_and_not_the_bounds():
    crowd = make_crowd(
        kind="sparse", tasks=100, workers=300, sparsity=0.9, truths="uniform", random_state=4
    )
    with pytest.warns(NoSignalWarning, match="more workers, or a larger epsilon"):
        alone = RatioMean().fit(released(crowd, 0.05, seed=1)).estimates.truths
    assert np.ptp(alone) < 1e-9
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSignalWarning)
        truths = RatioMean().fit(released(crowd, 0.05)).estimates.truths
    assert truths.min() >= 0
    assert truths.max() <= 9
    assert truths.std() < 3.0


def test_it_has_no_model_of_other_reports_and_gives_no_warning_of_its_own(recwarn):
    crowd = make_crowd(kind="sparse", tasks=10, workers=20, sparsity=0.5, random_state=5)
    for data in (
        crowd.answers,
        LaplaceMechanism(domain=crowd.answers.domain, epsilon=1.0).randomize(crowd.answers),
        pd.DataFrame({"task": [1], "worker": [1], "label": [1.0]}),
    ):
        with pytest.raises(AnswerError, match="needs reports with participation bits"):
            RatioMean().fit(data, non_private=True)
    mechanism = LaplaceMechanism(
        domain=crowd.answers.domain, epsilon=100.0, participation="released"
    )
    estimate = RatioMean().fit(mechanism.randomize(crowd.answers))
    assert not recwarn.list
    assert estimate.workers["error"].isna().all()
    assert estimate.converged


@pytest.mark.nightly
@pytest.mark.parametrize("epsilon", [nightly(0.02), 0.05, nightly(0.5)])
def test_no_cut_biases_the_sums(epsilon):
    """Where everybody answered the same, the ratio is that answer, however large the noise."""
    workers = 10**6
    answers = Answers(
        domain=Interval(low=0, high=10),
        tasks=pa.array([0, 1]),
        workers=pa.array(np.arange(workers)),
        offsets=np.array([0, 1, 2]) * workers,
        worker_codes=np.tile(np.arange(workers), 2),
        values=np.repeat([6.0, 7.0], workers),
    )
    mechanism = LaplaceMechanism(domain=answers.domain, epsilon=epsilon, participation="released")
    reports = mechanism.simulate(answers, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSignalWarning)
        estimate = RatioMean().fit(reports)
    noise = np.sqrt(8 / epsilon**2 / workers)
    assert estimate.state.share == pytest.approx(1.0, abs=5 * noise)
    # a value of 1.5 around the middle, divided by a share with that noise, plus noise of its own
    assert estimate.estimates.truths == pytest.approx(np.array([6.5, 6.5]), abs=0.5 + 40 * noise)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3])
def test_noise_without_measure_is_no_accident(epsilon):
    crowd = make_crowd(kind="sparse", tasks=5, workers=4, sparsity=0.2, random_state=6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSignalWarning)
        truths = RatioMean().fit(released(crowd, epsilon)).estimates.truths
    assert ((truths >= 0) & (truths <= 9)).all()


def test_standard_errors_say_how_far_truths_are_off():
    crowd = make_crowd(
        kind="sparse", tasks=300, workers=3_000, sparsity=0.7, truths="uniform", random_state=7
    )
    plain = Mean().fit(crowd.answers).estimates.truths
    found = RatioMean().fit(released(crowd, 2.0)).estimates
    ratios = (found.truths - plain) / found.standard_error
    assert 0.7 < np.sqrt((ratios**2).mean()) < 1.4

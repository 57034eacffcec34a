from contextlib import nullcontext

import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError, SimulatedNoiseWarning
from quietcrowd.planning import CrowdSize, LabelCrowd, NumberCrowd, simulate
from quietcrowd.planning.simulation import guess_of, simulate_size, simulated_size

LABELS = LabelCrowd(domain=qc.Categorical(["no", "yes"]))
NUMBERS = NumberCrowd(domain=qc.Interval(low=0, high=10))


@pytest.mark.parametrize("plain", [True, False], ids=["plain", "reports"])
def test_the_error_is_that_of_the_method_on_these_reports(plain):
    crowd = LABELS.draw(CrowdSize(tasks=100, workers=20, answers=30), 0)
    mechanism = None if plain else qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=2.0)
    source = crowd.answers
    if mechanism:
        source = mechanism.simulate(source, random_state=5)
    with pytest.warns(SimulatedNoiseWarning) if mechanism else nullcontext():
        found = simulate(crowd, mechanism, 5)
    with pytest.warns(SimulatedNoiseWarning) if mechanism else nullcontext():
        estimate = qc.NoiseAware().fit(source)
    assert found.error == qc.error_rate(estimate, crowd.truths)
    assert found.variance == found.error * (1 - found.error)
    assert found.tasks == 100


def test_numbers_are_compared_by_distance():
    crowd = NUMBERS.draw(CrowdSize(tasks=60, workers=20, answers=30), 0)
    found = simulate(crowd, None, 0)
    estimate = qc.NoiseAware().fit(crowd.answers)
    truths = crowd.truths["label"].to_numpy()
    apart = np.abs(estimate.truths["truth"].to_numpy() - truths)
    assert np.isclose(found.error, apart.mean())
    assert np.isclose(found.variance, apart.var())
    assert np.isclose(found.constant, np.abs(truths - np.median(truths)).mean())


@pytest.mark.parametrize(
    ("assumption", "size", "simulated"),
    [
        (LABELS, (1_000, 50, 10), (1_000, 50, 10)),
        (LABELS, (10_000, 500, 20), (1_000, 50, 20)),
        (LABELS, (10_000, 500, 1_000), (1_000, 250, 200)),
        (LABELS, (10_000, 40, 100), (5_000, 20, 100)),
        (NUMBERS, (10_000, 1_000, 20), (200, 20, 20)),
        (NUMBERS, (10_000, 10, 5_000), (400, 10, 200)),
        (NUMBERS, (6_334, 16, 4_437), (286, 16, 200)),
        (LABELS, (200, 2_000, 200), (50, 2_000, 50)),
        (LABELS, (200, 1_000, 200), (100, 1_000, 100)),
        (LABELS, (200, 100_000, 2), (100, 50_000, 2)),
    ],
    ids=[
        *("all", "tenth", "busy", "few", "numbers", "tiny", "weather"),
        *("everyone all", "fewer all", "crowd"),
    ],
)
def test_large_campaigns_are_cut_down_to_as_busy_workers_and_tasks(assumption, size, simulated):
    tasks, workers, answers = size
    found = simulated_size(assumption, CrowdSize(tasks=tasks, workers=workers, answers=answers))
    assert (found.tasks, found.workers, found.answers) == simulated
    assert np.isclose(found.per_task, workers * answers / tasks, rtol=0.01)


def test_no_task_is_too_few():
    with pytest.raises(ParameterError, match="most_tasks"):
        simulated_size(LABELS, CrowdSize(tasks=10, workers=5, answers=2), 0)


@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_crowd_without_copies_needs_no_search_for_copies(epsilon):
    crowd = LABELS.draw(CrowdSize(tasks=80, workers=30, answers=40), 0)
    mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=epsilon)
    for seed in range(5):
        assert simulate(crowd, mechanism, seed) == simulate(crowd, mechanism, seed, qc.NoiseAware())


def test_a_guess_of_few_tasks_does_not_know_their_truths():
    size = CrowdSize(tasks=1, workers=5, answers=1)
    [[one]] = simulate_size(LABELS, size, [None], 1, plain=False)
    assert one.constant == guess_of(LABELS, 100, 0, 0) > 0.4
    many = CrowdSize(tasks=150, workers=5, answers=150)
    [[one]] = simulate_size(LABELS, many, [None], 1, plain=False)
    assert one == simulate(LABELS.draw(many, 0), None, 0)

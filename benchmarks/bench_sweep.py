"""How fast the shared sweep is."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from quietcrowd.inference import WeightedVote
from quietcrowd.inference.loop import available_threads, run_loop
from quietcrowd.inference.partition import Partition, Summary
from timing import least_seconds


@pytest.fixture(scope="module")
def state(million):
    """Return what weighted voting believes after a few iterations."""
    partition = Partition.of(million.answers)
    summary = Summary.of(million.answers)
    return run_loop(WeightedVote(max_iter=3).bind(summary), [partition]).state


def test_weighted_vote(benchmark, million, state, crowd_kit, compare):
    """One sweep over 10^6 answers on all cores, against NumPy and against crowd-kit."""
    answers = million.answers
    summary = Summary.of(answers)
    n_jobs = available_threads()
    runs = Partition.of(answers).split(n_jobs)
    model = WeightedVote().bind(summary)
    with ThreadPoolExecutor(n_jobs) as pool:

        def sweep():
            tallies = pool.map(lambda run: model.sweep(run, state, None), runs)
            return sum(tally.agreed for tally in tallies)

        agreed = benchmark.pedantic(sweep, rounds=50, warmup_rounds=5)
    plain = numpy_pass(answers, state)
    np.testing.assert_allclose(agreed / 2**30, plain(), atol=1e-6)
    ours = benchmark.stats.stats.min
    name = f"weighted-vote sweep over 10^6 answers, {n_jobs} threads"
    compare(name, ours, "the same with NumPy's bincount", least_seconds(plain), 5)
    peer = crowd_kit["ZeroBasedSkill, integer ids"]
    compare(name, ours, "one iteration of crowd-kit's ZeroBasedSkill", peer, 100)


def numpy_pass(answers, state):
    """Return a plain NumPy pass: votes, the best label, agreements per worker."""
    tasks, labels = len(answers.tasks), 4
    task_codes = answers.task_codes.astype(np.int64)
    worker_codes, values = answers.worker_codes, answers.values
    weights = state.weights / 2**32

    def one_pass():
        votes = np.bincount(
            task_codes * labels + values,
            weights=weights[worker_codes],
            minlength=tasks * labels,
        ).reshape(tasks, labels)
        agree = votes.argmax(axis=1)[task_codes] == values
        return np.bincount(worker_codes, weights=agree, minlength=len(answers.workers))

    return one_pass

"""Truth inference against crowd-kit 1.4.2: the same answers, in the same run."""

import json
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add

import numpy as np
import pytest
from attrs import evolve
from scipy.special import log_expit, logsumexp

import quietcrowd as qc
from own_process import HERE, run_script
from quietcrowd.formats import write_table
from quietcrowd.inference.loop import available_threads, run_loop
from quietcrowd.inference.partition import Partition, Summary
from timing import least_seconds

LABELS = 4
PLAIN = {"smoothing": 0, "trust": 0, "class_smoothing": 0}
"""Without priors the model of Dawid and Skene is crowd-kit's."""

PAIRS = {
    "DawidSkene": (qc.DawidSkene(**PLAIN), (1, 11), 25),
    "OneCoinDawidSkene": (qc.DawidSkene(one_coin=True, **PLAIN), (1, 4), 300),
    "GLAD": (qc.GLAD(), (1, 2), 500),
    "ZeroBasedSkill": (qc.WeightedVote(), (1, 11), 100),
}
"""Ours, crowd-kit's few and many iterations, and how many times as fast ours is wanted to be."""

MOST_ITERATIONS = 400
"""After which ours is taken as it is, whether it reached the likelihood or not."""


@pytest.fixture(scope="module")
def answers(million):
    """Return a million answers, tasks and workers in the order of their ids, which are numbers."""
    return million.answers.canonical


@pytest.fixture(scope="module")
def path(answers, tmp_path_factory):
    """Return a file of them."""
    target = tmp_path_factory.mktemp("peers") / "answers.parquet"
    write_table(answers.to_frame("pyarrow"), target)
    return target


def fit_peer(peers, name, path, iterations):
    """Return crowd-kit's seconds and gigabytes, and what it found."""
    target = path.with_name(f"{name}-{iterations}.npz")
    words = [peers, HERE / "peers" / "crowd_kit_fit.py", name, path, str(iterations), target]
    ours = {**os.environ, "PYTHONPATH": str(HERE)}  # it measures its memory as ours do
    run = json.loads(subprocess.run(words, capture_output=True, check=True, env=ours).stdout)
    return run, dict(np.load(target))


def own_gigabytes(method, path):
    """Return the most memory that reading and a fit of ours took, in a process of its own."""
    return run_script("our_fit.py", json.dumps(method.to_dict()), path)


def run_ours(method, answers, iterations):
    """Return what our loop ended with after so many iterations, and its seconds."""
    partition, summary = Partition.of(answers), Summary.of(answers)
    begin = time.perf_counter()
    model = evolve(method, max_iter=iterations, tol=0).bind(summary)
    result = run_loop(model, [partition])
    return result, time.perf_counter() - begin


def seconds_per_iteration(method, answers):
    """Return the least time of a sweep and an update, on all cores."""
    n_jobs = available_threads()
    model = method.bind(Summary.of(answers))
    runs = Partition.of(answers).split(n_jobs)
    state = run_ours(method, answers, 2)[0].state
    with ThreadPoolExecutor(n_jobs) as pool:

        def iteration():
            tallies = pool.map(lambda run: model.sweep(run, state, None), runs)
            return model.update(reduce(add, tallies), state)

        return least_seconds(iteration, rounds=10)


def log_likelihood(name, answers, found):
    """Return that of a method's parameters per answer, the truths summed out.

    A vote has no parameters: it is that of the labels that it found, with the shares of each
    worker's answers that agree with them.
    """
    tasks, workers, labels = answers.task_codes, answers.worker_codes, answers.values
    if name == "ZeroBasedSkill":
        return _of_labels(found["labels"][tasks] == labels, workers)
    if name == "DawidSkene":
        rows = np.log(np.maximum(found["confusion"], 1e-10))[workers, :, labels]
    else:
        right, wrong = _one_number(name, found, tasks, workers)
        rows = np.where(labels[:, None] == np.arange(LABELS), right[:, None], wrong[:, None])
    sums = np.add.reduceat(rows, answers.offsets[:-1])
    total = logsumexp(sums + np.log(found.get("priors", np.full(LABELS, 1 / LABELS))), axis=1).sum()
    if name == "GLAD":
        total -= (np.square(found["alpha"] - 1).sum() + np.square(found["ease"] - 1).sum()) / 2
    return total / len(answers)


def _of_labels(agrees, workers):
    """Return the log likelihood per answer, of which it is known whether they agree with labels."""
    skill = np.bincount(workers, agrees) / np.bincount(workers)
    skill = np.clip(skill, 1e-10, 1 - 1e-10)[workers]
    return np.where(agrees, np.log(skill), np.log((1 - skill) / (LABELS - 1))).mean()


def _one_number(name, found, tasks, workers):
    """Return log-probabilities of a right and of one wrong label, by row."""
    if name == "GLAD":
        x = found["alpha"][workers] * np.exp(found["ease"][tasks])
        return log_expit(x), log_expit(-x) - np.log(LABELS - 1)
    skill = np.clip(found["skills"][workers], 1e-10, 1 - 1e-10)
    return np.log(skill), np.log((1 - skill) / (LABELS - 1))


def parameters_of(name, result):
    """Return what the likelihood takes, from what our loop ended with."""
    found = {"labels": result.estimates.truths}
    if name == "GLAD":
        return found | {
            "alpha": result.state.alpha,
            "ease": np.log(result.estimates.easiness),
        }
    if name == "ZeroBasedSkill":
        return found
    found["priors"] = result.state.priors
    if name == "DawidSkene":
        return found | {"confusion": result.state.confusion}
    return found | {"skills": result.state.confusion[:, 0, 0]}


@pytest.mark.parametrize("name", PAIRS)
def test_against_crowd_kit(benchmark, peers, name, answers, path, compare, tabulate):
    """Time per iteration, time to the same likelihood, labels."""
    method, (few, many), wanted = PAIRS[name]
    (short, _), (long, theirs) = (fit_peer(peers, name, path, count) for count in (few, many))
    slope = (long["seconds"] - short["seconds"]) / (many - few)
    ours = benchmark.pedantic(seconds_per_iteration, (method, answers), rounds=1)
    crowd = "10^6 answers of 10^4 workers"
    compare(f"{method.name}, an iteration over {crowd}", ours, f"crowd-kit's {name}", slope, wanted)
    wanted_likelihood = log_likelihood(name, answers, theirs)
    result, seconds = reach(name, method, answers, wanted_likelihood)
    found = parameters_of(name, result)
    likelihood = log_likelihood(name, answers, found)
    tabulate(
        "Comparison with crowd-kit 1.4.2, 10^6 answers of 10^4 workers, 4 labels, integer ids",
        {
            "method": name,
            "ns per answer and iteration": f"{ours * 1e3:.3g}",
            "crowd-kit's": f"{slope * 1e3:,.0f}",
            "times": f"{slope / ours:,.0f}",
            "iterations": f"{result.n_iter} / {many}",
            "seconds": f"{seconds:.3g} / {long['seconds']:.3g}",
            "log likelihood": f"{likelihood:.6f} / {wanted_likelihood:.6f}",
            "same labels": f"{np.mean(found['labels'] == theirs['labels']):.2%}",
            "peak memory, GB": f"{own_gigabytes(method, path):.2f} / {long['gigabytes']:.2f}",
        },
    )


def reach(name, method, answers, wanted):
    """Return our result after few iterations that reach a likelihood, and its seconds."""
    iterations = 1
    while True:
        result, seconds = run_ours(method, answers, iterations)
        reached = log_likelihood(name, answers, parameters_of(name, result)) >= wanted
        if reached or iterations > MOST_ITERATIONS:
            return result, seconds
        iterations = max(iterations + 1, iterations * 5 // 4)

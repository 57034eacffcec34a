"""Work whose time two checkouts are compared by, through what is public in both.

Usage: python paired_work.py [INSTRUCTIONS]. Each line of standard input names a work and is
answered with the seconds that it took once, or with -1 where this checkout cannot do it.
`paired.py` starts it with the checkout's environment. INSTRUCTIONS chooses kernels.
"""

import sys
import tempfile
import time
import traceback
import warnings
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa

import quietcrowd as qc
from crowds import crowd_of_a_million, with_text_ids
from quietcrowd.auditing import audit
from quietcrowd.formats import write_table
from quietcrowd.inference import CRH, MOON, WeightedMean
from quietcrowd.mechanisms import MatrixFactorization, TwoLayerRandomizedResponse
from quietcrowd.synthesis import PrisCrowd

OPEN = ExitStack()
"""Folders and servers, until the end."""


def simulated(mechanism, answers, rng):
    """Return simulated reports, also of a checkout whose mechanisms have no `simulate`."""
    if hasattr(mechanism, "simulate"):
        return mechanism.simulate(answers, random_state=rng)
    return mechanism.randomize(answers, rng=rng)


@cache
def million():
    """Return 10^6 answers of 4 labels."""
    return crowd_of_a_million(0).answers


@cache
def reports():
    """Return 10^6 reports of labels at epsilon 3."""
    mechanism = qc.RandomizedResponse(domain=million().domain, epsilon=3.0)
    return simulated(mechanism, million(), np.random.default_rng(0))


@cache
def crowd(labels, workers):
    """Return 10^6 reports of so many workers at epsilon 3, or 10^5 of 64 labels; ten a task."""
    rng = np.random.default_rng(0)
    rows = 10**6 if labels < 64 else 10**5
    truths = np.repeat(rng.integers(0, labels, rows // 10), 10)
    right = rng.random(rows) < 0.7
    table = {
        "task": np.repeat(np.arange(rows // 10), 10),
        "worker": rng.integers(0, workers // 10, rows) * 10 + np.tile(np.arange(10), rows // 10),
        "label": np.where(right, truths, rng.integers(0, labels, rows)),
    }
    answers = qc.Answers.from_frame(pa.table(table), qc.Categorical(list(range(labels))))
    mechanism = qc.RandomizedResponse(domain=answers.domain, epsilon=3.0)
    return simulated(mechanism, answers, rng)


@cache
def numbers(workers=10**4, tasks=10**5, per_task=10):
    """Return 10^6 answers that are numbers."""
    rng = np.random.default_rng(0)
    truths = np.repeat(rng.uniform(-20, 20, tasks), per_task)
    table = {
        "task": np.repeat(np.arange(tasks), per_task),
        "worker": rng.integers(0, workers // per_task, tasks * per_task) * per_task
        + np.tile(np.arange(per_task), tasks),
        "label": np.clip(truths + rng.normal(size=len(truths)), -60, 60),
    }
    return qc.Answers.from_frame(pa.table(table), qc.Interval(low=-60, high=60))


@cache
def noisy_numbers():
    """Return 10^6 reports of numbers at epsilon 5."""
    mechanism = qc.LaplaceMechanism(domain=numbers().domain, epsilon=5.0, fill=None)
    return simulated(mechanism, numbers(), np.random.default_rng(0))


@cache
def wide():
    """Return answers of 825 workers to 11,040 tasks, one in a hundred answered."""
    sizes = {"workers": 825, "tasks": 11_040, "sparsity": 0.99}
    return qc.make_crowd(kind="sparse", **sizes, levels=range(5), random_state=0).answers


@cache
def folder():
    """Return a folder for files."""
    return Path(OPEN.enter_context(tempfile.TemporaryDirectory()))


def fit(method, data):
    """Return what fits a method."""
    return partial(method.fit, data())


def randomize(mechanism, answers, simulated=True, **options):
    """Return what randomises answers."""
    made = mechanism(domain=answers().domain, epsilon=1.0, **options)
    if simulated:
        return lambda: simulated(made, answers(), np.random.default_rng(0))
    return lambda: made.randomize(answers())


def extend():
    """Return what adds a hundredth of the tasks to a fit."""
    frame = reports().table.to_frame("pandas")
    new = frame["task"] >= 99_000
    domain = million().domain
    before, more = (qc.Answers.from_frame(part, domain) for part in (frame[~new], frame[new]))
    method = qc.DawidSkene()
    return partial(method.extend, method.fit(before), more)


def read_frame():
    """Return what reads a frame of 10^6 answers with text ids."""
    frame = with_text_ids(million()).to_pandas()
    return partial(qc.Answers.from_frame, frame, million().domain)


def write_parquet():
    """Return what writes 10^6 reports."""
    return partial(qc.write_reports, reports(), folder() / "written.parquet")


def read_parquet():
    """Return what reads 10^6 reports."""
    path = folder() / "reports.parquet"
    qc.write_reports(reports(), path)
    return partial(qc.read_reports, path)


def into_a_store():
    """Return what makes a store of 10^6 answers."""
    from quietcrowd.scale import partition_parquet

    path = folder() / "answers.parquet"
    write_table(with_text_ids(million()), path)
    return lambda: partition_parquet(
        path, Path(tempfile.mkdtemp(dir=folder())) / "store", domain=million().domain
    )


def fit_a_store():
    """Return what fits a store of 10^6 answers."""
    from quietcrowd.scale import infer_store

    store = into_a_store()()
    return lambda: infer_store(store, qc.WeightedVote(), folder() / "truths.parquet")


def learn_densities():
    """Return what learns the densities of 10^4 tasks."""
    method = PrisCrowd(epsilon0=1.0, bandwidth=1.0, release="paper")
    return partial(method.fit, few_numbers())


def release():
    """Return what releases claims about 10^4 tasks, by an exact loss that is worked out."""
    return learn_densities()().release


@cache
def few_numbers():
    """Return 20 claims about each of 10^4 tasks."""
    rng = np.random.default_rng(0)
    truths = rng.uniform(-20, 20, (10**4, 1))
    values = np.clip(truths + 3 * rng.normal(size=(10**4, 20)), -60, 60)
    table = {
        "task": np.repeat(np.arange(10**4), 20),
        "worker": np.tile(np.arange(20), 10**4),
        "label": values.reshape(-1),
    }
    return qc.Answers.from_frame(pa.table(table), qc.Interval(low=-60, high=60))


def audited():
    """Return what attacks a mechanism."""
    domain = qc.Categorical(["no", "yes"])
    mechanism = qc.RandomizedResponse(domain=domain, epsilon=1.0)
    return lambda: audit(mechanism, draws=100_000, random_state=0)


def upload():
    """Return what lets 20 workers join and send ten reports to a server process on SQLite."""
    import threading

    from tests.campaign.server_process import new_key, server_process
    from tests.campaign.uploading import Uploader, open_campaign

    url = f"sqlite:///{folder()}/q.db"
    key = new_key(url)
    serving = OPEN.enter_context(server_process(url, folder() / "log", "--no-infer"))
    campaign = open_campaign(serving.base_url, key, 10)

    def send():
        for _ in range(20):
            uploader = Uploader(campaign, threading.Event(), threading.Event())
            uploader.join()
            uploader.run(uploader.tasks())
            uploader.client.close()

    return send


WORKS = {
    "weighted vote, fit of 10^6 reports": lambda: fit(qc.WeightedVote(), reports),
    "one coin, fit of 10^6 reports": lambda: fit(qc.DawidSkene(one_coin=True), reports),
    "Dawid-Skene, fit of 10^6 reports": lambda: fit(qc.DawidSkene(), reports),
    "GLAD, 5 sweeps over 10^6 reports": lambda: fit(qc.GLAD(max_iter=5), reports),
    "majority vote of 10^6 reports": lambda: fit(qc.MajorityVote(), reports),
    "weighted mean, fit of 10^6 numbers": lambda: fit(WeightedMean(), numbers),
    "CRH, fit of 10^6 numbers": lambda: fit(CRH(), numbers),
    "MOON, fit of 10^6 noisy numbers": lambda: fit(MOON(truth_prior=None), noisy_numbers),
    "Dawid-Skene, 1 % new tasks": extend,
    "randomised response, 10^6, exact": lambda: randomize(qc.RandomizedResponse, million, False),
    "randomised response, 10^6, simulated": lambda: randomize(qc.RandomizedResponse, million),
    "two-layer response, 10^6, simulated": lambda: randomize(
        TwoLayerRandomizedResponse, million, distribution="epsilon"
    ),
    "Laplace, 9 million, simulated": lambda: randomize(qc.LaplaceMechanism, wide),
    "Laplace, 10^5 numbers, exact": lambda: randomize(qc.LaplaceMechanism, wide, False, fill=None),
    "matrix factorization, 9 million": lambda: randomize(MatrixFactorization, wide, rank=20),
    "10^6 answers from a frame": read_frame,
    "10^6 reports to Parquet": write_parquet,
    "10^6 reports from Parquet": read_parquet,
    "10^6 answers into a store": into_a_store,
    "weighted vote, fit of a store of 10^6": fit_a_store,
    "PrisCrowd, weights of 10^4 tasks": learn_densities,
    "PrisCrowd, release of 10^4 tasks": release,
    "audit of randomised response": audited,
    "20 workers join, and send ten reports": upload,
}


SWEEPS = [(labels, workers) for labels in (2, 4, 8, 20, 64) for workers in (10**4, 10**5)]
WORKS |= {
    f"{name} sweeps, {labels} labels of {workers:,}": partial(
        fit, method, partial(crowd, labels, workers)
    )
    for labels, workers in SWEEPS
    if workers * labels**2 <= 2**27
    for name, method in (
        ("NoiseAware", qc.NoiseAware(max_iter=3)),
        ("Dawid-Skene", qc.DawidSkene(max_iter=3)),
        ("one-coin", qc.DawidSkene(one_coin=True, max_iter=3)),
    )
}
"""Three sweeps each. Tables of 10^5 workers and 64 labels would be too large."""


@cache
def made(name):
    """Return the work of a name, done once: what is compiled and loaded is not timed."""
    work = WORKS[name]()
    work()
    return work


def seconds(name):
    """Return what the work took, or -1 where it cannot be done."""
    try:
        work = made(name)
        start = time.perf_counter()
        work()
        return time.perf_counter() - start
    except Exception:  # what is wrong with one checkout must not end the comparison
        traceback.print_exc()
        return -1


def main():
    """Answer until the input ends."""
    if any(sys.argv[1:]):
        from quietcrowd import _core

        _core.choose(sys.argv[1])
    warnings.simplefilter("ignore")  # of simulated noise, and of methods that do not know it
    with OPEN:
        for line in sys.stdin:
            print(seconds(line.strip()), flush=True)


if __name__ == "__main__":
    main()

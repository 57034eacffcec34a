"""Rounds of a million reports, in a process of its own; print seconds and memory of some rounds."""

import gc
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa

import quietcrowd as qc
from quietcrowd.answers import Answers
from quietcrowd.exceptions import QuietcrowdWarning

warnings.simplefilter("ignore", QuietcrowdWarning)  # simulated on purpose

TASKS, WORKERS = 10_000, 10_000


def resident_gigabytes():
    """Return the memory that this process has now (Linux)."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e9


def reports_of(kind, number, reports):
    """Return the reports of a round; a twentieth of the truths changes every 20 rounds."""
    each = reports // WORKERS
    rng = np.random.default_rng(number)
    truths = np.random.default_rng(0).integers(3, size=TASKS)
    changed = np.random.default_rng(-(-number // 20)).random(TASKS) < 0.05
    truths[changed] = number % 3
    offsets = np.arange(TASKS + 1) * (WORKERS * each // TASKS)
    shifts = rng.choice(WORKERS, each, replace=False)
    workers = np.sort((np.arange(TASKS)[:, np.newaxis] + shifts) % WORKERS, axis=1).reshape(-1)
    values = np.repeat(truths, np.diff(offsets))
    wrong = rng.random(len(values)) < 0.3
    values[wrong] = rng.integers(3, size=int(wrong.sum()))
    domain = qc.Categorical(["a", "b", "c"]) if kind == "labels" else qc.Interval(low=0, high=10)
    answers = Answers(
        domain=domain,
        tasks=pa.array(np.arange(TASKS)),
        workers=pa.array(np.arange(WORKERS)),
        offsets=offsets,
        worker_codes=workers,
        values=values.astype(domain.dtype) if kind == "labels" else 2.0 + 3.0 * values,
    )
    kinds = {"labels": qc.RandomizedResponse, "numbers": qc.PiecewiseMechanism}
    return kinds[kind](domain=domain, epsilon=1.0).simulate(answers, random_state=number)


def main(kind, rounds, reports):
    """Follow rounds; print a line of JSON for each."""
    method, estimate, lines = qc.NoiseAware(over_time="follow"), None, []
    for number in range(1, rounds + 1):
        data = reports_of(kind, number, reports)
        start = time.process_time()
        if estimate is None:
            estimate = method.fit(data, round=number, n_jobs=1)
        else:
            estimate = method.extend(estimate, data, round=number)
        seconds = time.process_time() - start
        del data
        gc.collect()  # simulated answers are in a cycle of references
        found = {"round": number, "seconds": seconds, "sweeps": estimate.n_iter}
        lines.append({**found, "gigabytes": resident_gigabytes()})
        print(json.dumps(lines[-1]), file=sys.stderr, flush=True)
    print(json.dumps(lines))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))

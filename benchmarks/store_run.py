"""Import a file into a store, or pass over a store; a process of its own, for its peak memory.

Usage: python store_run.py import FILE FOLDER
       python store_run.py sweep FOLDER SWEEPS threads|dask [METHOD]

Prints seconds and gigabytes as JSON; of sweeps also the least seconds of one.
"""

import itertools
import json
import sys
import time
from functools import reduce
from operator import add

import quietcrowd as qc
from peak_memory import peak_gigabytes
from quietcrowd.inference import METHODS
from quietcrowd.inference.loop import available_threads
from quietcrowd.scale import Store, connect, partition_parquet
from quietcrowd.scale.executor import ThreadExecutor
from quietcrowd.scale.partition_job import Job, match_truths


def read(path, folder):
    """Make a store."""
    start = time.perf_counter()
    partition_parquet(path, folder, domain=qc.Categorical(range(4)))
    return {"seconds": time.perf_counter() - start}


def sweep(folder, sweeps, executor, name="weighted-vote"):
    """Pass and update so many times."""
    store, method = Store.open(folder), METHODS[name]()
    known = match_truths(store, method, None)
    model = method.bind(store.summary, known.values)
    job = Job(store=store, model=model, known_truths=known)
    state, laps = None, [time.perf_counter()]
    for _ in range(sweeps):
        sums = executor.sums(Job.tally, job, range(len(store.partitions)), state)
        tally = reduce(add, (tally for tally, _ in sums))
        first = model.first_state(tally) if state is None else None
        state = first or model.update(tally, state)[0]
        laps.append(time.perf_counter())
    return {
        "seconds": laps[-1] - laps[0],
        "least": min(late - early for early, late in itertools.pairwise(laps)),
    }


def main():
    """Run one of the two."""
    if sys.argv[1] == "import":
        found = read(*sys.argv[2:])
    elif sys.argv[4] == "threads":
        found = sweep(
            sys.argv[2], int(sys.argv[3]), ThreadExecutor(available_threads()), *sys.argv[5:]
        )
    else:
        with connect(f"local:{available_threads()}") as executor:
            found = sweep(sys.argv[2], int(sys.argv[3]), executor, *sys.argv[5:])
    found["gigabytes"] = peak_gigabytes()
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()

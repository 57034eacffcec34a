"""Time one iteration of crowd-kit's methods; runs in the peers' environment.

Usage: python crowd_kit_iterations.py ANSWERS.parquet; prints seconds per iteration as JSON.
"""

import json
import sys
import time

import pandas as pd
from crowdkit.aggregation import DawidSkene, ZeroBasedSkill

FEW, MANY = 1, 4
REPEATS = 3


def seconds(method, frame):
    """Return the time to fit."""
    start = time.perf_counter()
    method.fit(frame)
    return time.perf_counter() - start


def seconds_per_iteration(build, frame):
    """Return the least slope between a few iterations and many."""
    slopes = []
    for _ in range(REPEATS):
        few, many = (seconds(build(count), frame) for count in (FEW, MANY))
        slopes.append((many - few) / (MANY - FEW))
    return min(slopes)


def main():
    """Time the methods on texts and on whole numbers as ids."""
    texts = pd.read_parquet(sys.argv[1])
    numbers = texts.assign(
        task=pd.factorize(texts["task"])[0], worker=pd.factorize(texts["worker"])[0]
    )
    results = {
        "DawidSkene, text ids": seconds_per_iteration(
            lambda count: DawidSkene(n_iter=count, tol=0), texts
        ),
        "ZeroBasedSkill, integer ids": seconds_per_iteration(
            lambda count: ZeroBasedSkill(n_iter=count, eps=0), numbers
        ),
    }
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main()

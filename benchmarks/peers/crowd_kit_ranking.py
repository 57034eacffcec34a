"""Rank items by crowd-kit's Bradley-Terry model; runs in the peers' environment.

Usage: python crowd_kit_ranking.py ITERATIONS COMPARISONS.parquet; prints as JSON the least seconds
of three fits, and scores by item.
"""

import json
import sys
import time
import warnings

import pandas as pd
from crowdkit.aggregation import BradleyTerry


def main():
    """Fit and print."""
    warnings.simplefilter("ignore")
    comparisons = pd.read_parquet(sys.argv[2])
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        method = BradleyTerry(n_iter=int(sys.argv[1])).fit(comparisons)
        seconds.append(time.perf_counter() - begin)
    json.dump({"seconds": min(seconds), "scores": method.scores_.to_dict()}, sys.stdout)


if __name__ == "__main__":
    main()

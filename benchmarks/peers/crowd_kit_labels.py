"""Fit one of crowd-kit's methods; runs in the peers' environment.

Usage: python crowd_kit_labels.py METHOD ANSWERS.parquet; prints as JSON what it found: task ids,
labels, the number of iterations, and of GLAD also workers, abilities and log-easiness.
"""

import json
import sys
import warnings

import pandas as pd
from crowdkit import aggregation


def main():
    """Fit and print."""
    warnings.simplefilter("ignore")
    options = {"silent": True} if sys.argv[1] == "GLAD" else {}
    method = getattr(aggregation, sys.argv[1])(**options)
    method.fit(pd.read_parquet(sys.argv[2]))
    found = {
        "tasks": method.labels_.index.tolist(),
        "labels": method.labels_.tolist(),
        "iterations": len(method.loss_history_),
    }
    if sys.argv[1] == "GLAD":
        found["workers"] = method.alphas_.index.tolist()
        found["alpha"] = method.alphas_.tolist()
        found["ease"] = method.betas_.loc[found["tasks"]].tolist()
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()

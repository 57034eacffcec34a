"""Fit one of crowd-kit's methods for a number of iterations; runs in the peers' environment.

Usage: python crowd_kit_fit.py METHOD ANSWERS.parquet ITERATIONS FOUND.npz

Ids and labels are whole numbers from 0. Prints as JSON the seconds of `fit` and the peak memory;
writes what was found: labels by task, and what the likelihood takes.
"""

import json
import sys
import time
import warnings

import numpy as np
import pandas as pd
from crowdkit import aggregation

from peak_memory import peak_gigabytes

NEVER = -1e300
"""A tolerance at which no method stops early."""

OPTIONS = {
    "MajorityVote": lambda _: {},
    "ZeroBasedSkill": lambda count: {"n_iter": count, "eps": 0},
    "DawidSkene": lambda count: {"n_iter": count, "tol": NEVER},
    "OneCoinDawidSkene": lambda count: {"n_iter": count, "tol": NEVER},
    "GLAD": lambda count: {"n_iter": count, "tol": NEVER, "silent": True},
}


def found_by(method, frame):
    """Return arrays by task, worker and label."""
    labels = method.predict(frame) if hasattr(method, "predict") else method.labels_
    found = {"labels": labels.sort_index().to_numpy()}
    if hasattr(method, "alphas_"):
        found["alpha"] = method.alphas_.sort_index().to_numpy()
        found["ease"] = method.betas_.sort_index().to_numpy()
    elif hasattr(method, "skills_") and hasattr(method, "priors_"):
        found["skills"] = method.skills_.sort_index().to_numpy()
        found["priors"] = method.priors_.sort_index().to_numpy()
    elif hasattr(method, "errors_"):
        errors = method.errors_.sort_index()
        kinds = frame["label"].nunique()
        full = pd.MultiIndex.from_product([range(frame["worker"].nunique()), range(kinds)])
        table = errors.reindex(full, fill_value=0.0)[[*range(kinds)]].to_numpy()
        found["confusion"] = table.reshape(-1, kinds, kinds).swapaxes(1, 2)
        found["priors"] = method.priors_.sort_index().to_numpy()
    return found


def main():
    """Fit, time, write."""
    warnings.simplefilter("ignore")
    name, path, count, target = sys.argv[1:]
    frame = pd.read_parquet(path)
    method = getattr(aggregation, name)(**OPTIONS[name](int(count)))
    start = time.perf_counter()
    method.fit(frame)
    seconds = time.perf_counter() - start
    peak = peak_gigabytes()
    np.savez(target, **found_by(method, frame))
    json.dump({"seconds": seconds, "gigabytes": peak}, sys.stdout)


if __name__ == "__main__":
    main()

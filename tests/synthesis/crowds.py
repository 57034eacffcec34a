"""Claims for tests."""

import numpy as np
import pandas as pd

from quietcrowd.answers import Answers
from quietcrowd.domains import Interval

__all__ = ["claims_of", "normal_claims"]


def claims_of(values, low=-100.0, high=100.0):
    """Return claims; `values` has one list per task, of the first workers each."""
    rows = [
        {"task": f"t{task:05}", "worker": f"w{worker:03}", "label": float(value)}
        for task, own in enumerate(values)
        for worker, value in enumerate(own)
    ]
    return Answers.from_frame(pd.DataFrame(rows), Interval(low=low, high=high))


def normal_claims(tasks=10, users=20, seed=0):
    """Return claims that are normal around another middle for each task."""
    rng = np.random.default_rng(seed)
    return claims_of(rng.uniform(-50, 50, (tasks, 1)) + rng.normal(size=(tasks, users)))

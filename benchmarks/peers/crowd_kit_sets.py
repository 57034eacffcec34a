"""Fit crowd-kit's label methods to sets of answers; runs in the peers' environment.

Usage: python crowd_kit_sets.py ANSWERS.parquet METHOD...; task, worker and label are whole
numbers from 0. Prints as JSON what each method found, labels by task, and why one failed.
"""

import json
import sys
import warnings

import pandas as pd
from crowdkit import aggregation


def labels_of(name, frame):
    """Return the labels that a method of a name finds, by task; or why it does not."""
    options = {"silent": True} if name == "GLAD" else {}
    try:
        found = getattr(aggregation, name)(**options).fit_predict(frame)
    except Exception as error:  # whatever a peer raises is its result
        return f"{type(error).__name__}: {error}"
    return {str(task): int(label) for task, label in found.items()}


def main():
    """Fit and print."""
    warnings.simplefilter("ignore")
    frame = pd.read_parquet(sys.argv[1])
    json.dump({name: labels_of(name, frame) for name in sys.argv[2:]}, sys.stdout)


if __name__ == "__main__":
    main()

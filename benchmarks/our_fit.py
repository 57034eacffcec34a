"""Fit one of our methods to a file of answers in a process of its own, for its peak memory.

Usage: python our_fit.py METHOD ANSWERS.parquet; prints gigabytes as JSON.
"""

import json
import resource
import sys

import quietcrowd as qc
from quietcrowd.inference import method_from_dict


def main():
    """Read and fit."""
    method = method_from_dict(json.loads(sys.argv[1]))
    method.fit(qc.read_answers(sys.argv[2], qc.Categorical(range(4))))
    json.dump(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, sys.stdout)


if __name__ == "__main__":
    main()

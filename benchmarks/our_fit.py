"""Fit one of our methods to a file of answers in a process of its own, for its peak memory.

Usage: python our_fit.py METHOD ANSWERS.parquet; prints gigabytes as JSON.
"""

import json
import sys

import quietcrowd as qc
from peak_memory import peak_gigabytes
from quietcrowd.inference import method_from_dict


def main():
    """Read and fit."""
    method = method_from_dict(json.loads(sys.argv[1]))
    method.fit(qc.read_answers(sys.argv[2], qc.Categorical(range(4))))
    json.dump(peak_gigabytes(), sys.stdout)


if __name__ == "__main__":
    main()

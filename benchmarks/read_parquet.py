"""Read a Parquet file of answers and report time and peak memory; a process of its own.

Usage: python read_parquet.py quietcrowd|pyarrow FILE; prints JSON.
"""

import json
import sys
import time

import pyarrow.parquet as pq

import quietcrowd as qc
from peak_memory import peak_gigabytes


def read_into_answers(path):
    """Read, encode, sort."""
    return qc.read_answers(path, qc.Categorical(range(4)))


def read_and_encode(path):
    """Read and dictionary-encode the ids: what PyArrow needs."""
    table = pq.read_table(path)
    return table, [table[name].dictionary_encode() for name in ("task", "worker")]


def main():
    """Time one of the two."""
    read = {"quietcrowd": read_into_answers, "pyarrow": read_and_encode}[sys.argv[1]]
    _ = qc.read_answers  # importing is no part of reading
    start = time.perf_counter()
    read(sys.argv[2])
    seconds = time.perf_counter() - start
    gigabytes = peak_gigabytes()
    json.dump({"seconds": seconds, "gigabytes": gigabytes}, sys.stdout)


if __name__ == "__main__":
    main()

"""Write a Parquet file of answers as large as wanted, a part at a time; a process of its own.

Usage: python big_file.py FILE ROWS WORKERS

Ids are whole numbers, ten answers a task by different workers, four labels of which the first three
in four answers are right; rows come in an order that jumps from task to task.
"""

import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PER_TASK, LABELS, PART = 10, 4, 5_000_000


def mixed(numbers):
    """Return 64 bits that look drawn (the finish of splitmix64)."""
    word = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


def part_of(first, last, rows, workers):
    """Return rows from `first` to `last` as a table."""
    places = np.arange(first, last, dtype=np.uint64) * np.uint64(7_368_787) % np.uint64(rows)
    tasks, turns = places // np.uint64(PER_TASK), places % np.uint64(PER_TASK)
    drawn = mixed(tasks)
    who = (drawn >> np.uint64(8)) + turns * np.uint64(workers // PER_TASK)
    luck = mixed(places + np.uint64(rows))
    right = luck % np.uint64(4) != 0
    labels = np.where(right, drawn, luck >> np.uint64(9)) % np.uint64(LABELS)
    return pa.table(
        {
            "task": tasks.astype(np.int64),
            "worker": (who % np.uint64(workers)).astype(np.int64),
            "label": labels.astype(np.int8),
        }
    )


def main():
    """Write part after part."""
    path, rows, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    writer = None
    for first in range(0, rows, PART):
        part = part_of(first, min(first + PART, rows), rows, workers)
        writer = writer or pq.ParquetWriter(path, part.schema)
        writer.write_table(part, row_group_size=1_000_000)
    writer.close()


if __name__ == "__main__":
    main()

import numpy as np
import pyarrow as pa

from quietcrowd.scale.reading import Spill


def test_rows_come_back_by_partition_in_their_order(tmp_path):
    spill = Spill(tmp_path / "spill", 4)
    for first in (0, 5):
        rows = list(range(first, first + 5))
        table = pa.table({"row": rows, "text": [str(row) for row in rows]})
        spill.add(table, np.array([2, 0, 2, 0, 3], np.uint16))
    taken = [spill.take(index) for index in range(4)]
    assert [part["row"].to_pylist() for part in taken] == [[1, 3, 6, 8], [], [0, 2, 5, 7], [4, 9]]
    assert taken[1].schema == taken[0].schema
    spill.folder.rmdir()  # nothing is left in it

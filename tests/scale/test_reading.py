import numpy as np
import pyarrow as pa
import pytest

from quietcrowd.scale import reading
from quietcrowd.scale.reading import Spill, Workers


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


@pytest.fixture(params=["hashes", "one hash for many"])
def workers(request, monkeypatch):
    if request.param != "hashes":
        few = lambda ids: np.array([len(str(one)) for one in ids], np.uint64)  # noqa: E731
        monkeypatch.setattr(reading, "hash_ids", few)
    return Workers()


@pytest.mark.parametrize("kind", [pa.string(), pa.int64()])
def test_codes_are_positions_in_the_order_of_the_first_row(workers, kind):
    rng = np.random.default_rng(1)
    known: dict[int, int] = {}
    for _ in range(20):
        some = rng.permutation(300)[: rng.integers(0, 40)].tolist()
        for one in some:
            known.setdefault(one, len(known))
        found = workers.codes(pa.array(some, pa.int64()).cast(kind))
        assert found.dtype == np.int32
        assert found.tolist() == [known[one] for one in some]
    assert workers.ids().cast(pa.int64()).to_pylist() == list(known)
    assert workers.ids().type == kind


def test_of_nobody_there_are_no_ids():
    assert len(Workers().ids()) == 0

import numpy as np
import pyarrow as pa
import pytest

from quietcrowd.scale import worker_list
from quietcrowd.scale.worker_list import WorkerList


@pytest.fixture(params=["hashes", "one hash for many"])
def workers(request, monkeypatch):
    if request.param != "hashes":
        few = lambda ids: np.array([len(str(one)) for one in ids], np.uint64)  # noqa: E731
        monkeypatch.setattr(worker_list, "hash_ids", few)
    return WorkerList()


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
    assert len(WorkerList().ids()) == 0

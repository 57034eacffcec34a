import gc
import weakref

import numpy as np
import pyarrow as pa
import pytest

import quietcrowd as qc
from quietcrowd.scale.writing import whole_store, write_sorted

DOMAIN = qc.Categorical(["no", "yes"])


@pytest.mark.nightly
def test_counts_are_added_up_as_they_come_and_let_go(tmp_path):
    workers, alive = pa.array(["u", "v"]), weakref.WeakSet()
    most = []

    def parts():
        for index in range(6):
            one = write_sorted(
                tmp_path / f"{index}",
                DOMAIN,
                pa.array([index]),
                np.zeros(2, np.int32),
                np.array([0, 1], np.int32),
                {"label": np.array([0, 1], np.uint8)},
                workers=2,
            )
            alive.add(one)
            yield one
            del one
            gc.collect()
            most.append(len(alive))

    store = whole_store(tmp_path, DOMAIN, workers, parts())
    assert store.answers_per_worker.tolist() == [6, 6]
    assert max(most) == 1  # the one that is being added

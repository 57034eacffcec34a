import numpy as np
import pandas as pd
import pytest

import quietcrowd as qc
from quietcrowd.scale import partition_parquet
from quietcrowd.scale.gold import match_truths

TRUTHS = pd.DataFrame({"task": ["task 7", "task 1", "task 30"], "label": ["no", "yes", "yes"]})


@pytest.fixture(params=[1, 4])
def store(crowd_files, tmp_path, request):
    return partition_parquet(
        crowd_files / "labels.parquet",
        tmp_path / "s",
        domain=qc.Categorical(["no", "perhaps", "yes"]),
        partitions=request.param,
    )


def test_truths_find_their_tasks(store):
    gold = match_truths(store, qc.MajorityVote(), TRUTHS)
    found = {}
    for index, partition in enumerate(store.partitions):
        codes = gold.of_partition(index, partition.tasks)
        assert codes.dtype == np.int32
        tasks = store.task_ids(index).to_pylist()
        found |= {tasks[place]: codes[place] for place in np.flatnonzero(codes >= 0)}
    assert found == {"task 7": 0, "task 1": 2, "task 30": 2}
    assert len(gold) == 3


def test_without_truths_nothing_is_known(store):
    gold = match_truths(store, qc.MajorityVote(), None)
    assert len(gold) == 0
    assert gold.of_partition(0, 3).tolist() == [-1, -1, -1]


def test_fingerprints_tell_truths_apart(store):
    def fingerprint(truths):
        return match_truths(store, qc.MajorityVote(), truths).fingerprint

    others = [
        TRUTHS[:2],
        TRUTHS.assign(label="no"),
        TRUTHS.assign(task=["task 7", "task 1", "task 2"]),
    ]
    assert len({fingerprint(truths) for truths in [None, TRUTHS, *others]}) == 5
    assert fingerprint(TRUTHS[::-1]) == fingerprint(TRUTHS)

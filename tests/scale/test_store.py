import json
import pickle
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import quietcrowd as qc
from quietcrowd.scale import Store, is_store, partition_parquet


@pytest.fixture
def store(crowd_files, tmp_path):
    return partition_parquet(crowd_files / "released.parquet", tmp_path / "big", partitions=3)


def test_what_is_opened_is_what_was_made(store):
    opened = Store.open(store.folder)
    assert opened.fingerprint == store.fingerprint
    assert opened.partitions == store.partitions
    assert opened.mechanism == store.mechanism
    assert opened.workers.equals(store.workers)
    assert repr(opened) == repr(store)
    assert "480 answers, 40 tasks, 12 workers, 3 partitions" in repr(opened)


def test_a_store_can_be_sent_to_another_process(store):
    sent = pickle.loads(pickle.dumps(store))
    assert sent.fingerprint == store.fingerprint
    assert sent.partition(1).values.tolist() == store.partition(1).values.tolist()


def test_nobody_can_write_to_the_files_by_mistake(store):
    part = store.partition(0)
    before = part.draws.copy()
    for name in ("offsets", "worker_codes", "values"):
        assert not getattr(part, name).flags.writeable
    part.draws[:] = 0
    assert store.partition(0).draws.tolist() == before.tolist()


def test_fingerprints_tell_stores_apart(crowd_files, tmp_path, store):
    again = partition_parquet(crowd_files / "released.parquet", tmp_path / "b", partitions=3)
    other = partition_parquet(crowd_files / "released.parquet", tmp_path / "c", partitions=2)
    filled = partition_parquet(crowd_files / "filled.parquet", tmp_path / "d", partitions=3)
    assert again.fingerprint == store.fingerprint
    assert len({one.fingerprint for one in (store, other, filled)}) == 3


def test_other_workers_are_another_store(store):
    path = store.folder / "workers.parquet"
    table = pq.read_table(path)
    renamed = [f"{worker}!" for worker in table["worker"].to_pylist()]
    pq.write_table(table.set_column(0, "worker", pa.array(renamed)), path)
    assert Store.open(store.folder).fingerprint != store.fingerprint


def test_what_is_a_store(store, tmp_path):
    assert is_store(store.folder)
    assert not is_store(tmp_path)
    assert not is_store(tmp_path / "none")


def test_a_folder_that_holds_none(tmp_path):
    with pytest.raises(qc.FormatError, match="there is no store; quietcrowd partition makes one"):
        Store.open(tmp_path)
    with pytest.raises(FileNotFoundError):
        Store.open(tmp_path / "none")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "other"}, "describes no store"),
        ({"version": 2}, "has version 2; this quietcrowd reads 1"),
        ({"tasks": 41}, "different numbers"),
        ({"domain": {"kind": "guess"}}, "domain kind 'guess'"),
        ({"mechanism": {"mechanism": "none"}}, "a mechanism lacks"),
        ({"partitions": [{"rows": 1}]}, "cannot be read"),
        ({"dropped": 3}, "cannot be read"),
    ],
)
def test_a_note_that_is_wrong(store, change, words):
    path = store.folder / "store.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(qc.FormatError, match=words):
        Store.open(store.folder)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "quietcrowd-store", "version": 1}'])
def test_a_note_that_is_none(store, text):
    (store.folder / "store.json").write_text(text)
    with pytest.raises(qc.FormatError):
        Store.open(store.folder)


def test_files_that_are_cut_off_missing_or_broken(store):
    values = store.folder / "partition-00001" / "values.npy"
    values.write_bytes(values.read_bytes()[:-1])
    with pytest.raises(qc.FormatError, match=r"values\.npy: this file has [\d,]+ bytes, not"):
        Store.open(store.folder)
    shutil.rmtree(store.folder / "partition-00001")
    with pytest.raises(qc.FormatError, match="this file is missing"):
        Store.open(store.folder)
    (store.folder / "workers.parquet").write_bytes(b"PAR1")
    with pytest.raises(qc.FormatError, match=r"workers\.parquet: this cannot be read"):
        Store.open(store.folder)

import json
import pickle
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quietcrowd.exceptions import FormatError
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
    with pytest.raises(
        FormatError, match="there is no store; quietcrowd convert --to store creates one"
    ):
        Store.open(tmp_path)
    with pytest.raises(FileNotFoundError):
        Store.open(tmp_path / "none")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "other"}, "does not describe a store"),
        ({"version": 2}, "has version 2; this quietcrowd reads 1"),
        ({"tasks": 41}, "different numbers"),
        ({"domain": {"kind": "guess"}}, "domain kind 'guess'"),
        ({"mechanism": {"mechanism": "none"}}, "the mechanism lacks"),
        ({"partitions": [{"rows": 1}]}, "cannot be read"),
        ({"dropped": 3}, "cannot be read"),
        ({"dropped": {"duplicates": "x"}}, "duplicates must be a whole number"),
        ({"partitions": None}, "cannot be read"),
        ({"domain": 3}, "a domain must be a JSON object"),
        ({"mechanism": 3}, "cannot be read|must be"),
        ({"longest_task": "x"}, "longest_task must be a whole number of at least 0; got 'x'"),
        ({"longest_task": -1}, "longest_task must be"),
        ({"low": None}, "low must be a finite number; got None"),
        ({"high": float("nan")}, "high must be a finite number"),
        ({"simulated": 1}, "simulated must be true or false"),
    ],
)
def test_a_note_that_is_wrong(store, change, words):
    path = store.folder / "store.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(FormatError, match=words):
        Store.open(store.folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rows": "9"}, "partition cannot be read"),
        ({"rows": True}, "partition cannot be read"),
        ({"tasks": -5}, "partition cannot be read"),
        ({"digest": None}, "partition cannot be read"),
        ({"files": []}, "partition cannot be read"),
        ({"files": {"values.npy": "1"}}, "partition cannot be read"),
        ({"files": {}}, r"must have the files draws\.npy, offsets\.npy, participation\.npy"),
    ],
)
def test_a_note_whose_partitions_are_wrong(store, change, words):
    path = store.folder / "store.json"
    note = json.loads(path.read_text())
    note["partitions"][1] |= change
    path.write_text(json.dumps(note))
    with pytest.raises(FormatError, match=rf"store\.json: .*{words}"):
        Store.open(store.folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.set_column(1, "answers", table["answers"].cast(pa.float64())),
        lambda table: table.set_column(1, "answers", pa.array([None] + [480] * 11)),
        lambda table: table.set_column(1, "answers", pa.array([-1] + [480] * 11)),
        lambda table: table.set_column(0, "worker", pa.array([None] + ["w"] * 11)),
        lambda table: table.rename_columns(["w", "answers"]),
    ],
)
def test_workers_that_are_wrong(store, change):
    path = store.folder / "workers.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    with pytest.raises(FormatError, match=r"workers\.parquet: this cannot be read"):
        Store.open(store.folder)


@pytest.mark.slow
def test_a_changed_bit_among_the_workers_is_seen_or_means_nothing(store):
    path = store.folder / "workers.parquet"
    content, refused = bytearray(path.read_bytes()), 0
    for place in range(0, len(content), 5):
        changed = content.copy()
        changed[place] ^= 4
        path.write_bytes(changed)
        try:
            found = Store.open(store.folder).fingerprint
        except FormatError:
            refused += 1
        else:
            assert found == store.fingerprint
    assert refused > 50


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": "quietcrowd-store", "version": 1}'])
def test_a_note_that_is_none(store, text):
    (store.folder / "store.json").write_text(text)
    with pytest.raises(FormatError):
        Store.open(store.folder)


def test_files_that_are_cut_off_missing_or_broken(store):
    values = store.folder / "partition-00001" / "values.npy"
    values.write_bytes(values.read_bytes()[:-1])
    with pytest.raises(FormatError, match=r"values\.npy: this file has [\d,]+ bytes, not"):
        Store.open(store.folder)
    shutil.rmtree(store.folder / "partition-00001")
    with pytest.raises(FormatError, match="this file is missing"):
        Store.open(store.folder)
    (store.folder / "workers.parquet").write_bytes(b"PAR1")
    with pytest.raises(FormatError, match=r"workers\.parquet: this cannot be read"):
        Store.open(store.folder)

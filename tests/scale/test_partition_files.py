import builtins
import json
import sys

import numpy as np
import pyarrow as pa
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import FormatError
from quietcrowd.scale import Store, connect, infer_store, partition_parquet, randomize_store
from quietcrowd.scale.partition_files import (
    IDS,
    map_array,
    read_ids,
    verify_partition,
    write_partition,
)


@pytest.fixture
def folder(tmp_path):
    arrays = {"offsets": np.array([0, 2]), "worker_codes": np.zeros(2, np.int32)}
    write_partition(tmp_path / "p", pa.array(["t"]), arrays)
    return tmp_path / "p"


def test_what_was_written_is_read(folder):
    assert map_array(folder, "offsets").tolist() == [0, 2]
    assert read_ids(folder, 1).to_pylist() == ["t"]


def test_files_are_those_that_numpy_saves(folder, tmp_path):
    for name, kind in (("offsets", np.int64), ("worker_codes", np.int32)):
        np.save(tmp_path / "saved.npy", map_array(folder, name).astype(kind))
        assert (folder / f"{name}.npy").read_bytes() == (tmp_path / "saved.npy").read_bytes()


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="it sets no limits")
def test_a_full_disk_is_called_so(program, tmp_path):
    code = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "import numpy as np, pyarrow as pa\n"
        "from quietcrowd.scale.partition_files import write_partition\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "write_partition(Path(sys.argv[1]), pa.array(['t']), {'values': np.zeros(10_000)})\n"
    )
    _, _, errors = program(sys.executable, "-c", code, tmp_path / "p").finished()
    assert "OSError: [Errno 27] File too large" in errors.splitlines()


@pytest.mark.parametrize(
    ("place", "content"),
    [
        (0, b"XXXX"),
        (6, b"\x03\x00"),
        (12, b"garbage!"),
        (10, b"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }   "),
        (10, b"{'descr': '<i8', 'fortran_order': False, 'shape': (92,), } "),
        (10, b"{'descr': '<i8', 'fortran_order': False, 'shape': (-2,), } "),
        (10, b"{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2), }"),
    ],
)
def test_headers_that_are_wrong(folder, place, content):
    path = folder / "offsets.npy"
    text = bytearray(path.read_bytes())
    text[place : place + len(content)] = content
    path.write_bytes(text)
    with pytest.raises(FormatError, match=r"offsets\.npy: this is not an array of numbers"):
        map_array(folder, "offsets")


def test_a_header_is_read_without_compiling_it(folder, monkeypatch):
    """NumPy's reader compiles it, which threads of CPython 3.11 cannot always do at once."""

    def refuse(*_, **__):
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr(builtins, "compile", refuse)
    assert map_array(folder, "offsets").tolist() == [0, 2]


@pytest.mark.parametrize("content", [b"", b"garbage!" * 20])
def test_ids_that_are_broken(folder, content):
    path = folder / "tasks.arrow"
    path.write_bytes(path.read_bytes()[:200] + content)
    with pytest.raises(FormatError, match=r"tasks\.arrow: the ids cannot be read"):
        read_ids(folder, 1)


def test_ids_that_are_no_text(folder):
    path = folder / "tasks.arrow"
    text = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xfe")]
    )
    table = pa.table({"task": text})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(FormatError, match=r"tasks\.arrow: the ids cannot be read"):
        read_ids(folder, 1)


def test_ids_of_which_some_are_missing(folder):
    with pytest.raises(FormatError, match=r"tasks\.arrow: there are 1 ids \(string\), not 2"):
        read_ids(folder, 2)


@pytest.fixture
def store(crowd_files, tmp_path):
    return partition_parquet(
        crowd_files / "labels.parquet",
        tmp_path / "s",
        domain=qc.Categorical(["no", "perhaps", "yes"]),
        partitions=3,
    )


@pytest.fixture
def arrays(store):
    """Return copies of the arrays of the second partition, to be changed."""
    folder = store.folder / "partition-00001"
    names = ("offsets", "worker_codes", "values", "draws")
    return {name: np.load(folder / f"{name}.npy") for name in names}


def rewrite(store, arrays, tmp_path, ids=None):
    """Verify a partition of these arrays, whose digest is right."""
    ids = store.task_ids(1) if ids is None else ids
    record = write_partition(tmp_path / "p", ids, arrays)
    verify_partition(tmp_path / "p", record, {"values": store.domain}, store.summary)


def test_what_was_written_is_right(store, arrays, tmp_path):
    rewrite(store, arrays, tmp_path)


@pytest.mark.parametrize(
    ("name", "place", "value", "words"),
    [
        ("offsets", 0, 1, "offsets do not increase from 0"),
        ("offsets", -1, 2**40, "offsets do not increase"),
        ("offsets", 2, -5, "offsets do not increase"),
        ("worker_codes", 3, 12, "a code is not below 12"),
        ("worker_codes", 3, -1, "a code is not below 12"),
        ("values", 0, 3, "a value is not in 'no', 'perhaps', 'yes'"),
        ("draws", 0, 1, "hashes of the ids"),
    ],
)
def test_numbers_that_kernels_must_not_see(store, arrays, tmp_path, name, place, value, words):
    arrays[name][place] = value
    with pytest.raises(FormatError, match=rf"p/(\w+\.npy|{IDS}): .*{words}"):
        rewrite(store, arrays, tmp_path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("offsets", lambda array: array.astype(np.int32)),
        ("worker_codes", lambda array: array.astype(np.float32)),
        ("worker_codes", lambda array: array.astype(np.uint32)),
        ("values", lambda array: array.astype(np.int8)),
        ("values", lambda array: array[:-1]),
        ("draws", lambda array: array[1:]),
        ("draws", lambda array: array.view(np.int64)),
    ],
)
def test_arrays_of_another_kind(store, arrays, tmp_path, name, change):
    arrays[name] = change(arrays[name])
    with pytest.raises(FormatError, match=rf"{name}\.npy: "):
        rewrite(store, arrays, tmp_path)


def test_a_task_longer_than_the_longest(store, arrays, tmp_path):
    arrays["offsets"][1:-1] = arrays["offsets"][-1]
    with pytest.raises(FormatError, match=r"offsets\.npy: a task has \d+ answers; the maximum"):
        rewrite(store, arrays, tmp_path)


def test_other_ids(store, arrays, tmp_path):
    ids = pa.array([f"{task}!" for task in store.task_ids(1).to_pylist()])
    with pytest.raises(FormatError, match=r"tasks\.arrow: the hashes of the ids"):
        rewrite(store, arrays, tmp_path, ids)


@pytest.mark.parametrize("name", ["numbers", "laplace"])
def test_numbers_beyond_the_ends(crowd_files, tmp_path, name):
    domain = qc.Interval(low=0, high=10) if name == "numbers" else None
    path = crowd_files / f"{name}.parquet"
    store = partition_parquet(path, tmp_path / "s", domain=domain, partitions=2)
    note = store.folder / "store.json"
    note.write_text(json.dumps(json.loads(note.read_text()) | {"high": 0.5}))
    with pytest.raises(FormatError, match=r"values\.npy: a number is outside .* to 0\.5"):
        Store.open(store.folder).partition(0)


def flip(store, name, place):
    path = store.folder / "partition-00001" / name
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["offsets.npy", "worker_codes.npy", "values.npy", "draws.npy"])
def test_one_changed_bit_stops_a_run(store, tmp_path, name):
    flip(store, name, 136)
    with pytest.raises(FormatError, match="partition-00001"):
        infer_store(Store.open(store.folder), qc.MajorityVote(), tmp_path / "t.parquet")
    mechanism = qc.RandomizedResponse(domain=store.domain, epsilon=1.0)
    with pytest.raises(FormatError, match="partition-00001"):
        randomize_store(Store.open(store.folder), mechanism, tmp_path / "r")
    assert [path.name for path in tmp_path.iterdir()] == ["s"]


def test_a_store_is_verified_anew_by_every_run(store, tmp_path):
    infer_store(store, qc.MajorityVote(), tmp_path / "t.parquet")
    flip(store, "values.npy", 130)
    with pytest.raises(FormatError, match="partition-00001"):
        infer_store(store, qc.MajorityVote(), tmp_path / "t.parquet")


def test_a_checkpoint_does_not_go_on_with_changed_answers(store, tmp_path):
    kept, target = tmp_path / "c", tmp_path / "t.parquet"
    infer_store(store, qc.WeightedVote(max_iter=2, tol=0.0), target, checkpoint=kept)
    flip(store, "values.npy", 130)
    with pytest.raises(FormatError, match="partition-00001"):
        infer_store(
            Store.open(store.folder),
            qc.WeightedVote(max_iter=4, tol=0.0),
            target,
            checkpoint=kept,
        )


@pytest.mark.nightly
def test_workers_of_a_cluster_verify_what_they_read(store, tmp_path):
    """As threads do, which are tried by day; it needs a cluster of its own."""
    flip(store, "values.npy", 130)
    with connect("local:1") as cluster, pytest.raises(FormatError, match="partition-00001"):
        infer_store(
            Store.open(store.folder), qc.MajorityVote(), tmp_path / "t.parquet", executor=cluster
        )

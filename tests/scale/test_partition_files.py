import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import quietcrowd as qc
from quietcrowd.scale.partition_files import map_array, read_ids, write_partition


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


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="it sets no limits")
def test_a_full_disk_is_called_so(tmp_path):
    code = (
        "import resource, signal, sys\n"
        "from pathlib import Path\n"
        "import numpy as np, pyarrow as pa\n"
        "from quietcrowd.scale.partition_files import write_partition\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))\n"
        "write_partition(Path(sys.argv[1]), pa.array(['t']), {'values': np.zeros(10_000)})\n"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "p")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == "OSError: [Errno 27] File too large"


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
    with pytest.raises(qc.FormatError, match=r"offsets\.npy: this holds no array of numbers"):
        map_array(folder, "offsets")


@pytest.mark.parametrize("content", [b"", b"garbage!" * 20])
def test_ids_that_are_broken(folder, content):
    path = folder / "tasks.arrow"
    path.write_bytes(path.read_bytes()[:200] + content)
    with pytest.raises(qc.FormatError, match=r"tasks\.arrow: the ids cannot be read"):
        read_ids(folder, 1)


def test_ids_that_are_no_text(folder):
    path = folder / "tasks.arrow"
    text = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xfe")]
    )
    table = pa.table({"task": text})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(qc.FormatError, match=r"tasks\.arrow: the ids cannot be read"):
        read_ids(folder, 1)


def test_ids_of_which_some_are_missing(folder):
    with pytest.raises(qc.FormatError, match=r"tasks\.arrow: there are 1 ids \(string\), not 2"):
        read_ids(folder, 2)

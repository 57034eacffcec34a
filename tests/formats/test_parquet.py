import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import quietcrowd as qc
from quietcrowd.exceptions import FormatError
from quietcrowd.formats import parquet
from quietcrowd.formats.parquet import arrow_stream, write_parquet
from quietcrowd.formats.reports import report_note

MECHANISM = qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=1.0)
NOTE = report_note(MECHANISM, simulated=False, tasks=["silent"])


def parts(*sizes):
    for number, size in enumerate(sizes):
        yield pa.table(
            {
                "task": pa.array([f"t{place}" for place in range(size)], pa.string()),
                "worker": pa.array([f"w{number}"] * size, pa.string()),
                "label": pa.array(["yes"] * size, pa.string()),
            }
        )


@pytest.mark.parametrize("sizes", [(0,), (3,), (2, 0, 5), (1,) * 30])
def test_a_stream_becomes_a_file_of_reports(monkeypatch, tmp_path, sizes):
    monkeypatch.setattr(parquet, "_ROWS_OF_GROUP", 4)
    stream, file = tmp_path / "s", tmp_path / "r.parquet"
    stream.write_bytes(b"".join(arrow_stream(NOTE, parts(*sizes))))
    write_parquet(stream, file)
    found = qc.read_reports(file)
    assert len(found) == sum(sizes)
    assert "silent" in found.table.tasks.to_pylist()
    assert pq.ParquetFile(file).num_row_groups <= 1 + sum(sizes) // 4


def test_pieces_are_of_one_table_each():
    pieces = arrow_stream(NOTE, parts(*[100] * 50))
    sizes = [len(piece) for piece in pieces]
    assert len(sizes) == 51
    assert max(sizes[1:]) < 2_000


@pytest.mark.parametrize("length", [0, 9, 700])
def test_a_stream_that_is_cut_off_leaves_no_file(tmp_path, length):
    whole = b"".join(arrow_stream(NOTE, parts(*[100] * 9)))
    (tmp_path / "s").write_bytes(whole[:length])
    with pytest.raises(FormatError, match="not a stream of reports"):
        write_parquet(tmp_path / "s", tmp_path / "r.parquet")
    assert [file.name for file in tmp_path.iterdir()] == ["s"]

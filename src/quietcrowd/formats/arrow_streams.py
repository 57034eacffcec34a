"""Arrow streams that transfer reports in batches.

The schema's metadata contains the note, as in a Parquet file of reports.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.files import replacing
from quietcrowd.frames import MARK

__all__ = ["MEDIA_TYPE", "arrow_stream", "write_parquet"]

MEDIA_TYPE = "application/vnd.apache.arrow.stream"

_ROWS_OF_GROUP = 2**19
"""Minimum rows of a row group, which are in memory together."""


def arrow_stream(note: Mapping[str, Any], tables: Iterable[pa.Table]) -> Iterator[bytes]:
    """Yield the chunks of a stream of tables, of which there is at least one, with one schema.

    `note` is a result of `quietcrowd.formats.report_files.report_note`.
    """
    parts = iter(tables)
    first = next(parts)
    schema = first.schema.with_metadata({MARK: json.dumps(note)})
    packed = pa.ipc.IpcWriteOptions(compression="zstd")
    written = io.BytesIO()
    with pa.ipc.new_stream(written, schema, options=packed) as stream:
        for part in _chain(first, parts):
            stream.write_table(part.cast(schema))
            yield written.getvalue()
            written.seek(0)
            written.truncate()
    yield written.getvalue()


def _chain(first: pa.Table, others: Iterator[pa.Table]) -> Iterator[pa.Table]:
    yield first
    yield from others


def write_parquet(stream: Path, target: Path) -> None:
    """Convert a stream to a Parquet file; raise FormatError if the stream is damaged."""
    try:
        with pa.OSFile(str(stream)) as file, replacing(target) as temporary:
            reader = pa.ipc.open_stream(file)
            with pq.ParquetWriter(temporary, reader.schema, compression="zstd") as writer:
                for table in _groups(reader):
                    writer.write_table(table)
    except pa.ArrowException as error:
        raise FormatError(f"what came is no stream of reports: {error}") from None


def _groups(reader: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    for batch in reader:
        held.append(batch)
        if sum(map(len, held)) >= _ROWS_OF_GROUP:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)

"""Parquet files, and Arrow streams that transfer reports in batches.

Reports have their note in the metadata of the schema.
"""

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from quietcrowd.exceptions import FormatError
from quietcrowd.formats.columns import resolve
from quietcrowd.formats.files import replacing
from quietcrowd.frames import MARK, mark_in

NAME = "Parquet"

KEY = MARK.encode()


def names(path: Path) -> list[str]:
    """Return the names of the columns."""
    return pq.read_schema(path).names  # type: ignore[no-any-return]


def read(path: Path, wanted: tuple[str, ...]) -> pa.Table:
    """Return the wanted columns, or all columns if one is missing."""
    found = resolve(path, names(path), wanted)
    if len(found) < len(wanted):
        return pq.read_table(path)
    table = pq.read_table(path, columns=list(found.values()))
    return table.select(list(found.values())).rename_columns(list(found))


def read_note(path: Path) -> dict[str, Any] | None:
    """Return the note in the metadata, or the mark of a pandas frame, or None."""
    schema = pq.read_schema(path)
    metadata = schema.metadata or {}
    if KEY not in metadata:  # pandas keeps the mark on aggregates per task, which lack workers
        return mark_in(schema) if "worker" in schema.names else None
    note = json.loads(metadata[KEY])
    if not isinstance(note, dict):
        raise FormatError("formats.note-in-metadata-invalid", path=path, note=note)
    return note


def write(table: pa.Table, path: Path, note: Mapping[str, Any] | None) -> None:
    """Write the table, with the note in the metadata."""
    if note is not None:
        table = table.replace_schema_metadata({KEY: json.dumps(note).encode()})
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


MEDIA_TYPE = "application/vnd.apache.arrow.stream"

_ROWS_OF_GROUP = 2**19
"""Minimum rows of a row group, which are in memory together."""


def arrow_stream(note: Mapping[str, Any], tables: Iterable[pa.Table]) -> Iterator[bytes]:
    """Yield the chunks of a stream of tables, of which there is at least one, with one schema."""
    parts = iter(tables)
    first = next(parts)
    schema = first.schema.with_metadata({MARK: json.dumps(note)})
    packed = pa.ipc.IpcWriteOptions(compression="zstd")
    written = io.BytesIO()
    with pa.ipc.new_stream(written, schema, options=packed) as stream:
        for part in chain([first], parts):
            stream.write_table(part.cast(schema))
            yield written.getvalue()
            written.seek(0)
            written.truncate()
    yield written.getvalue()


def write_parquet(stream: Path, target: Path) -> None:
    """Convert a stream to a Parquet file; raise FormatError if the stream is damaged."""
    try:
        with pa.OSFile(str(stream)) as file, replacing(target) as temporary:
            reader = pa.ipc.open_stream(file)
            with pq.ParquetWriter(temporary, reader.schema, compression="zstd") as writer:
                for table in _groups(reader):
                    writer.write_table(table)
    except pa.ArrowException as error:
        raise FormatError("formats.stream-invalid", error=error) from None


def _groups(reader: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    for batch in reader:
        held.append(batch)
        if sum(map(len, held)) >= _ROWS_OF_GROUP:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)

"""Dispatch to the reader or writer of a file's format, by name and header."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
from attrs import frozen

from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.formats import (
    argilla_files,
    csv_files,
    doccano_files,
    excel_files,
    json_files,
    label_studio_csv_files,
    label_studio_files,
    label_studio_min_files,
    limesurvey_files,
    mturk_files,
    parquet_files,
    toloka_files,
)
from quietcrowd.formats.columns import Choice, resolve
from quietcrowd.formats.files import check_folder
from quietcrowd.frames import as_frame, mark_of
from quietcrowd.validation import did_you_mean

__all__ = [
    "FORMATS",
    "Format",
    "check_target",
    "find_format",
    "holds_truths",
    "read_names",
    "read_note",
    "read_table",
    "write_table",
]


@frozen(kw_only=True)
class Format:
    """A file format, with its name on the command line.

    A platform's format contains answers in fixed columns; other formats are tables of any columns.
    `written` is whether files can be written.
    """

    name: str
    module: ModuleType
    suffixes: tuple[str, ...]
    platform: bool = False
    written: bool = True


_CSV, _TSV, _JSON = (".csv", ".csv.gz"), (".tsv", ".tsv.gz"), (".json", ".json.gz")
_JSONL = (".jsonl", ".jsonl.gz")

FORMATS: Mapping[str, Format] = {
    one.name: one
    for one in (
        Format(name="csv", module=csv_files, suffixes=(*_CSV, *_TSV)),
        Format(name="parquet", module=parquet_files, suffixes=(".parquet",)),
        Format(name="jsonl", module=json_files, suffixes=_JSONL),
        Format(name="excel", module=excel_files, suffixes=(".xlsx",)),
        Format(name="crowd-kit", module=csv_files, suffixes=_CSV),
        Format(name="mturk", module=mturk_files, suffixes=_CSV, platform=True),
        Format(name="toloka", module=toloka_files, suffixes=_TSV, platform=True),
        Format(
            name="label-studio",
            module=label_studio_files,
            suffixes=_JSON,
            platform=True,
        ),
        Format(
            name="label-studio-min",
            module=label_studio_min_files,
            suffixes=_JSON,
            platform=True,
        ),
        Format(
            name="label-studio-csv",
            module=label_studio_csv_files,
            suffixes=_CSV,
            platform=True,
        ),
        Format(
            name="doccano",
            module=doccano_files,
            suffixes=(*_JSONL, ".zip"),
            platform=True,
            written=False,
        ),
        Format(
            name="argilla",
            module=argilla_files,
            suffixes=(*_JSON, *_JSONL),
            platform=True,
            written=False,
        ),
        Format(
            name="limesurvey",
            module=limesurvey_files,
            suffixes=(*_CSV, *_TSV),
            platform=True,
            written=False,
        ),
    )
}
"""Formats by name; a new file has the first format with its suffix."""


def find_format(path: Path, name: str | None = None) -> Format:
    """Return the format with this name, or the first format with the file's suffix.

    Raises ParameterError if the name is unknown, and FormatError if the suffix is.
    """
    if name is not None and name not in FORMATS:
        raise ParameterError(
            f"a format must be one of {', '.join(FORMATS)}; got {name!r}"
            f"{did_you_mean(name, FORMATS)}"
        )
    if name is not None:
        return FORMATS[name]
    for one in FORMATS.values():
        if _fits(path, one):
            return one
    known = dict.fromkeys(suffix for one in FORMATS.values() for suffix in one.suffixes)
    raise FormatError(f"{path}: the name must end in one of {', '.join(known)}")


def _fits(path: Path, kind: Format) -> bool:
    return path.name.lower().endswith(kind.suffixes)


def _format_inside(path: Path, name: str | None) -> Format:
    """Return the format of an existing file, which may depend on its header."""
    kind = find_format(path, name)
    if name is not None:
        return kind
    if kind.module is csv_files:
        header = _read(path, kind, csv_files.names)
        for other in ("mturk", "toloka", "label-studio-csv", "limesurvey"):
            if FORMATS[other].module.recognises(header):
                return FORMATS[other]
    for other in _INSIDE_JSON.get(kind.name, ()):
        if _read(path, kind, FORMATS[other].module.recognises):
            return FORMATS[other]
    return kind


_INSIDE_JSON = {"jsonl": ("argilla", "doccano"), "label-studio": ("argilla", "label-studio-min")}
"""Formats that share another format's suffix and are recognized by the first record."""


def read_table(
    path: Path,
    columns: tuple[str, ...],
    *,
    file_format: str | None = None,
    choice: Choice = Choice(),  # noqa: B008
    sets: bool = False,
) -> pa.Table:
    """Return the named columns of a file.

    A platform's file has the columns ``task``, ``worker`` and ``label``, and `choice` selects its
    answers. `sets` allows lists of labels in the last column.

    Raises FormatError if the suffix is unknown, the file is malformed, or a cell has several
    values; ParameterError if the format is unknown, or the columns or the choice do not suit it;
    and OSError if the file cannot be opened.
    """
    kind = _format_inside(path, file_format)
    if kind.platform:
        if not set(columns) <= {"task", "worker", "label"}:
            raise ParameterError(
                f"{path}: these are {kind.module.NAME}, whose columns are known: choose an answer "
                "with field= (on the command line: --field), not with --columns"
            )
        return _read(path, kind, kind.module.read, columns, choice)
    if choice != Choice():
        raise ParameterError(
            f"{path}: a field and rejected answers are of platforms' files; name the columns of "
            "this one (on the command line: --columns)"
        )
    table: pa.Table = _read(path, kind, kind.module.read, columns)
    for name in columns[:-1] if sets else columns:
        _check_cells(path, table.schema, name)
    return table


def _check_cells(path: Path, schema: pa.Schema, name: str) -> None:
    place = schema.get_field_index(name)
    if place >= 0 and pa.types.is_nested(schema.types[place]):
        raise FormatError(
            f"{path}: column {name!r} holds {schema.types[place]} values, and a cell is one "
            "text, number or boolean. Lists of labels become questions by binary_answers (on the "
            "command line: convert --several)"
        )


def read_names(path: Path, file_format: str | None = None) -> list[str] | None:
    """Return the names of a table's columns, or None for a platform's file."""
    kind = _format_inside(path, file_format)
    if kind.platform:
        return None
    found: list[str] = _read(path, kind, kind.module.names)
    return found


def holds_truths(path: Path, columns: tuple[str, str, str], file_format: str | None = None) -> bool:
    """Return whether a file has truths and no workers; `columns` are task, worker and label."""
    kind = _format_inside(path, file_format)
    if kind.module is label_studio_files:
        return not _read(path, kind, label_studio_files.has_annotations)
    if kind.platform:
        return False
    names = _read(path, kind, kind.module.names)
    task, worker, label = columns
    without = resolve(path, names, (task, label))
    return worker not in resolve(path, names, columns) and len(without) == 2


def read_note(path: Path, file_format: str | None = None) -> dict[str, Any] | None:
    """Return the note of a table, or None; errors as in `read_table`."""
    kind = find_format(path, file_format)
    note: dict[str, Any] | None = _read(path, kind, kind.module.read_note)
    return note


UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks of UTF-16, which no format here uses."""


def _read(path: Path, kind: Format, reader: Callable[..., Any], *parameters: Any) -> Any:
    with path.open("rb") as file:  # later errors are about the content
        if file.read(2) in UTF_16:
            raise FormatError(f"{path}: this is text in UTF-16: save it as UTF-8")
    try:
        return reader(path, *parameters)
    except FormatError:
        raise
    except (
        pa.ArrowException,
        OSError,
        EOFError,
        OverflowError,
        ValueError,
        RecursionError,
        zlib.error,
    ) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise FormatError(f"{path}: this cannot be read as {kind.module.NAME}: {reason}") from None


def check_target(path: Path, file_format: str | None = None) -> None:
    """Raise unless a table can be written to `path`, before long work begins.

    Raises FormatError if the suffix is unknown, or belongs to a platform and `file_format` is not
    given; ParameterError if the format is unknown, has other suffixes, or cannot be written;
    OSError if the directory cannot be written; and MissingExtraError if the format's library is not
    installed.
    """
    if file_format is None:
        _check_is_table(path)
    kind = find_format(path, file_format)
    if not kind.written:
        raise ParameterError(
            f"{path}: files of {kind.module.NAME} are read, and not written: {_WRITE_A_TABLE}"
        )
    if not _fits(path, kind):
        raise ParameterError(
            f"{path}: the name of a file of {kind.module.NAME} must end in "
            f"{' or '.join(kind.suffixes)}"
        )
    if kind.module is excel_files:
        excel_files.check_installed()
    check_folder(path)


_WRITE_A_TABLE = "write a table, whose name ends in .csv, .tsv, .parquet, .jsonl or .xlsx"


def _check_is_table(path: Path) -> None:
    kind = next((one for one in FORMATS.values() if _fits(path, one)), None)
    if kind is None:
        raise FormatError(f"{path}: {_WRITE_A_TABLE}")
    if kind.platform:
        made = f"; quietcrowd convert makes {kind.module.NAME} of it" if kind.written else ""
        raise FormatError(f"{path}: {_WRITE_A_TABLE}{made}")


def write_table(
    frame: Any,
    path: str | Path,
    note: Mapping[str, Any] | None = None,
    *,
    file_format: str | None = None,
) -> None:
    """Write a dataframe to a file atomically; replace an existing file.

    Parameters
    ----------
    frame : pandas, Polars or PyArrow dataframe
        The table.
    path : str or Path
        Its suffix determines the format: ``.csv``, ``.tsv``, ``.parquet``, ``.jsonl``, ``.xlsx``,
        or ``.csv.gz``, ``.tsv.gz``, ``.jsonl.gz``.
    note : mapping, optional
        JSON-ready metadata of the table. Default: the mark of a frame of reports with a column
        ``worker``.
    file_format : str, optional
        One of ``csv``, ``parquet``, ``jsonl``, ``excel``, ``crowd-kit``, ``mturk``, ``toloka``,
        ``label-studio``, ``label-studio-min``, ``label-studio-csv``.

    Raises
    ------
    FormatError, ParameterError, FileNotFoundError
        See `check_target`.
    """
    check_target(Path(path), file_format)
    table = as_frame(frame).to_arrow()
    if note is None and "worker" in table.column_names:  # aggregates per task have no workers
        note = mark_of(frame)
    find_format(Path(path), file_format).module.write(table, Path(path), note)

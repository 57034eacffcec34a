"""Files of randomised reports; they carry the mechanism that made them."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from quietcrowd.answers import Answers
from quietcrowd.exceptions import AnswerError, FormatError, MissingMechanismError
from quietcrowd.formats.tables import read_table, write_table
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.reports import Reports

__all__ = ["read_reports", "write_reports"]

COLUMNS = ("task", "worker", "label")


def read_reports(path: str | Path, *more: str | Path) -> Reports:
    """Read reports and their mechanism from one file or from many, such as one per device.

    Parameters
    ----------
    path, *more : str or Path
        Files that `write_reports` wrote, all with the same mechanism.

    Returns
    -------
    Reports
        Simulated where one of the files is.

    Raises
    ------
    MissingMechanismError
        Where the mechanism is missing: noise must not be taken for answers.
    FormatError
        Where a file or its mechanism cannot be read, or two mechanisms differ.
    AnswerError
        Where a report is none that the mechanism can give, or one of a worker on a task stands
        there twice.
    OSError
        Where a file cannot be opened.
    """
    paths = [Path(path), *map(Path, more)]
    tables, mechanisms, simulated = zip(*map(_read_one, paths), strict=True)
    for other, mechanism in zip(paths, mechanisms, strict=True):
        if mechanism != mechanisms[0]:
            raise FormatError(
                f"{other}: these reports were made by {mechanism!r}, those of {paths[0]} by "
                f"{mechanisms[0]!r}. Infer from them one by one."
            )
    try:
        table = Answers.from_frame(_joined(tables), mechanisms[0].report_domain)
    except AnswerError as error:
        raise AnswerError(f"{', '.join(map(str, paths))}: {error}") from None
    return Reports(table=table, mechanism=mechanisms[0], simulated=any(simulated))


def _read_one(path: Path) -> tuple[pa.Table, Mechanism, bool]:
    table, note = read_table(path, COLUMNS)
    if note is None or "mechanism" not in note:
        raise MissingMechanismError(
            f"{path}: the mechanism of these reports is missing. Write reports with write_reports, "
            "which keeps it with them (beside a CSV file, in NAME.mechanism.json); if these are "
            "plain answers, read them with read_answers (on the command line: --plain)."
        )
    simulated = note.get("simulated", False)
    if not isinstance(simulated, bool):
        raise FormatError(f"{path}: 'simulated' must be true or false; got {simulated!r}")
    try:
        mechanism = Mechanism.from_dict(note["mechanism"])
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise AnswerError(f"{path}: column {missing[0]!r} is missing")
    return table.select(COLUMNS), mechanism, simulated


def _joined(tables: tuple[pa.Table, ...]) -> pa.Table:
    """Put tables below each other; ids of more than one type become texts."""
    columns = {}
    for name in COLUMNS:
        chunks = [table[name] for table in tables]
        if len({chunk.type for chunk in chunks}) > 1:
            chunks = [pc.cast(chunk, pa.large_string()) for chunk in chunks]
        columns[name] = pa.chunked_array([part for chunk in chunks for part in chunk.chunks])
    return pa.table(columns)


def write_reports(reports: Reports, path: str | Path) -> None:
    """Write reports and their mechanism to a file.

    The mechanism goes into the metadata of a Parquet file, the first line of a JSON Lines file,
    or ``NAME.mechanism.json`` beside a CSV file.
    """
    note = {"mechanism": reports.mechanism.to_dict(), "simulated": reports.simulated}
    write_table(reports.table.to_frame("pyarrow"), path, note)

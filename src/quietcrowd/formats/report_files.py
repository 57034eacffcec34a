"""Files of randomised reports; they carry the mechanism that made them."""

from __future__ import annotations

from pathlib import Path

from quietcrowd.answers import Answers
from quietcrowd.exceptions import AnswerError, FormatError, MissingMechanismError
from quietcrowd.formats.tables import read_table, write_table
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.reports import Reports

__all__ = ["read_reports", "write_reports"]


def read_reports(path: str | Path) -> Reports:
    """Read reports and their mechanism from a file.

    Parameters
    ----------
    path : str or Path
        A file that `write_reports` wrote.

    Raises
    ------
    MissingMechanismError
        Where the mechanism is missing: noise must not be taken for answers.
    FormatError
        Where the file or the mechanism cannot be read.
    AnswerError
        Where a report is none that the mechanism can give.
    OSError
        Where the file cannot be opened.
    """
    path = Path(path)
    table, note = read_table(path, ("task", "worker", "label"))
    if note is None or "mechanism" not in note:
        raise MissingMechanismError(
            f"{path}: the mechanism of these reports is missing. Write reports with write_reports, "
            "which keeps it with them (beside a CSV file, in NAME.mechanism.json); if these are "
            "plain answers, read them with read_answers (on the command line: --plain)."
        )
    try:
        mechanism = Mechanism.from_dict(note["mechanism"])
        answers = Answers.from_frame(table, mechanism.report_domain)
    except (AnswerError, FormatError) as error:
        raise type(error)(f"{path}: {error}") from None
    return Reports(table=answers, mechanism=mechanism, simulated=bool(note.get("simulated", False)))


def write_reports(reports: Reports, path: str | Path) -> None:
    """Write reports and their mechanism to a file.

    The mechanism goes into the metadata of a Parquet file, the first line of a JSON Lines file,
    or ``NAME.mechanism.json`` beside a CSV file.
    """
    note = {"mechanism": reports.mechanism.to_dict(), "simulated": reports.simulated}
    write_table(reports.table.to_frame("pyarrow"), path, note)

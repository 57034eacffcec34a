"""Reading and writing of answers, reports and truths; name and header determine the format."""

from quietcrowd.formats.answers import (
    read_answers,
    read_label_sets,
    read_truths,
    write_answers,
)
from quietcrowd.formats.kinds import FORMATS
from quietcrowd.formats.registry import check_target, read_table, write_table
from quietcrowd.formats.reports import read_reports, write_reports

__all__ = [
    "FORMATS",
    "check_target",
    "read_answers",
    "read_label_sets",
    "read_reports",
    "read_table",
    "read_truths",
    "write_answers",
    "write_reports",
    "write_table",
]

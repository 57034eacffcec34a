"""Reading and writing of answers, reports and truths; name and header determine the format."""

from quietcrowd.formats.answer_files import read_answers, read_truths, write_answers
from quietcrowd.formats.report_files import read_reports, write_reports
from quietcrowd.formats.tables import FORMATS, check_target, read_table, write_table

__all__ = [
    "FORMATS",
    "check_target",
    "read_answers",
    "read_reports",
    "read_table",
    "read_truths",
    "write_answers",
    "write_reports",
    "write_table",
]

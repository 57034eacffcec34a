"""A memo of an earlier version gives the reports that it gave."""

from tests.compatibility.memos import kept_reports, memo_reports, private_copy
from tests.compatibility.spelling import difference
from tests.compatibility.write import WRITTEN


def test_memos_give_the_same_reports(tmp_path):
    folder = private_copy(WRITTEN / "memos", tmp_path / "memos")
    assert difference(kept_reports(folder), memo_reports(folder), exact=True) is None

"""``quietcrowd campaign export``, against a server."""

import pytest

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.results.report_blocks import ReportBlocks


@pytest.mark.parametrize("name", ["r.csv", "r.jsonl", "r.parquet"])
def test_an_export_that_breaks_off_leaves_the_one_before(run, at_desk, monkeypatch, tmp_path, name):
    one = at_desk.campaign(join_mode="open")
    at_desk.worker(one).send_values(1, 0, 1)
    words = ("campaign", "export", one, "-o", tmp_path / name)
    assert run(*words)[0] == 0
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    def breaks_off(*_):
        raise ProblemError("not-found", "The campaign was deleted meanwhile.")

    monkeypatch.setattr(ReportBlocks, "_read", breaks_off)
    status, _, errors = run(*words)
    told = "Something went wrong" if name == "r.parquet" else "cannot be reached"
    assert (status, told in errors) == (2, True), errors  # of Arrow nothing had come yet
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before

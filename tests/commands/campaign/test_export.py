"""``quietcrowd campaign export``, against a server."""

import json

import pytest
from tests.campaign.many_results import put

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.results.report_blocks import ReportBlocks
from quietcrowd.campaign.results.shown import ShownResults


@pytest.mark.grid
@pytest.mark.parametrize("name", ["r.csv", "r.jsonl", "r.parquet"])
def test_an_export_that_breaks_off_leaves_the_one_before(run, at_desk, monkeypatch, tmp_path, name):
    one = at_desk.campaign(join_mode="open")
    at_desk.worker(one).send_values(1, 0, 1)
    words = ("campaign", "export", one, "--content", "reports", "-o", tmp_path / name)
    assert run(*words)[0] == 0
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    def breaks_off(*_):
        raise ProblemError("not-found", "The campaign was deleted meanwhile.")

    monkeypatch.setattr(ReportBlocks, "_read", breaks_off)
    status, _, errors = run(*words)
    told = "The server encountered an error" if name == "r.parquet" else "cannot be reached"
    assert (status, told in errors) == (2, True), errors  # of Arrow nothing had come yet
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


MANY = 20_000


@pytest.mark.grid
@pytest.mark.parametrize("rows", [0, 1, MANY])
def test_results_are_one_line_of_json(run, at_desk, server, rows):
    campaign = at_desk.campaign()
    put(server, campaign, "one", rows)
    status, output, errors = run("campaign", "export", campaign, "--json")
    assert (status, errors, output.count("\n")) == (0, "", 1)
    assert json.loads(output) == at_desk.client.get(f"/campaigns/{campaign}/results").json()


@pytest.mark.grid
@pytest.mark.parametrize("times", [1, 99])
def test_results_that_are_replaced_meanwhile_are_fetched_anew(
    run, at_desk, server, monkeypatch, times
):
    """And whoever asks is told, where that goes on and on; half of a document is never printed."""
    campaign = at_desk.campaign()
    put(server, campaign, "0", MANY)
    require, turns = ShownResults._require_same, []

    def replace(self, connection):
        if len(turns) < times:
            turns.append(0)
            put(server, campaign, str(len(turns)), MANY)
        return require(self, connection)

    monkeypatch.setattr(ShownResults, "_require_same", replace)
    status, output, errors = run("campaign", "export", campaign, "--json")
    if times == 1:
        assert status == 0
        assert {row["of"] for row in json.loads(output)["workers"]} == {"1"}
    else:
        assert (status, output) == (2, "")
        assert "replaced repeatedly" in errors

"""``quietcrowd campaign results``, against a server."""

import json

import pytest
from tests.campaign.many_results import put

from quietcrowd.campaign.results.shown import ShownResults

MANY = 20_000


@pytest.mark.parametrize("rows", [0, 1, MANY])
def test_results_are_one_line_of_json(run, at_desk, server, rows):
    campaign = at_desk.campaign()
    put(server, campaign, "one", rows)
    status, output, errors = run("campaign", "results", campaign)
    assert (status, errors, output.count("\n")) == (0, "", 1)
    assert json.loads(output) == at_desk.client.get(f"/campaigns/{campaign}/results").json()


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
    status, output, errors = run("campaign", "results", campaign)
    if times == 1:
        assert status == 0
        assert {row["of"] for row in json.loads(output)["workers"]} == {"1"}
    else:
        assert (status, output) == (2, "")
        assert "replaced by others" in errors

import json

import httpx
import pytest
from sqlalchemy import select
from tests.campaign.many_results import put
from tests.campaign.older_databases import write_older

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.results import shown as module
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.results.results import outdated_campaigns
from quietcrowd.campaign.results.shown import ShownResults
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.result_pages import KINDS, PAGE_ROWS

MANY = 20 * PAGE_ROWS
"""Rows of more pages than are read in one transaction."""


def shown(server, campaign, kinds=KINDS):
    with server.database.read() as connection:
        row = connection.execute(
            select(tables.campaign).where(tables.campaign.c.id == bytes.fromhex(campaign))
        ).one()
        return ShownResults.read(server.database, connection, row, kinds)


def names_in(document):
    return {row["of"] for kind in KINDS for row in document[kind]}


def test_a_document_holds_all_pages(server, desk):
    campaign = desk.campaign()
    put(server, campaign, "one", MANY)
    answer = desk.client.get(f"/campaigns/{campaign}/results")
    found = answer.json()
    assert list(found) == [
        *("method", "reports", "warnings", "no_estimates", "decided_from"),
        *("truths", "workers"),
    ]
    assert [row["task"] for row in found["truths"]] == list(range(MANY))
    assert [row["worker"] for row in found["workers"]] == list(range(MANY))
    assert len(list(shown(server, campaign).document())) > MANY / PAGE_ROWS


@pytest.mark.parametrize("rows", [0, 1, 1_000, 1_001])
def test_a_document_of_few_rows_is_whole(server, desk, rows):
    campaign = desk.campaign()
    put(server, campaign, "one", rows)
    found = json.loads("".join(shown(server, campaign).document()))
    assert [len(found[kind]) for kind in KINDS] == [rows, rows]


@pytest.mark.parametrize("taken", [1, 3, 12, 30])
def test_results_that_are_replaced_meanwhile_are_broken_off_and_never_mixed(server, desk, taken):
    campaign = desk.campaign()
    put(server, campaign, "one", MANY)
    stream = shown(server, campaign).document()
    pieces = [next(stream) for _ in range(taken)]
    put(server, campaign, "another", MANY)
    with pytest.raises(ProblemError, match="results-changed"):
        pieces += stream
    assert '"another"' not in "".join(pieces)


@pytest.mark.parametrize("what", ["withdrawal", "deletion"])
def test_results_that_are_gone_meanwhile_are_broken_off(server, desk, what):
    campaign = desk.campaign(join_mode="open")
    worker = desk.worker(campaign)
    worker.send_values(1)
    put(server, campaign, "one", MANY)
    stream = shown(server, campaign).document()
    next(stream)
    if what == "withdrawal":
        worker.client.delete("/me").raise_for_status()
    else:
        desk.client.delete(f"/campaigns/{campaign}").raise_for_status()
    page = tables.result_page.c
    with server.database.read() as connection:
        mine = select(page.number).where(page.campaign_id == bytes.fromhex(campaign))
        assert connection.scalars(mine).all() == []
    with pytest.raises(ProblemError, match="results-changed"):
        list(stream)


def test_few_pages_are_read_at_once_and_never_broken_off(server, desk):
    campaign = desk.campaign()
    put(server, campaign, "one", 2 * PAGE_ROWS)
    stream = shown(server, campaign).document()
    put(server, campaign, "another", 2 * PAGE_ROWS)
    assert names_in(json.loads("".join(stream))) == {"one"}


def test_who_takes_results_gets_an_unfinished_document_where_they_are_replaced(
    server, desk, monkeypatch
):
    campaign = desk.campaign()
    put(server, campaign, "one", MANY)
    require, turns = ShownResults._require_same, []

    def replace_first(self, connection):
        turns.append(0)
        if len(turns) == 2:
            put(server, campaign, "another", MANY)
        return require(self, connection)

    monkeypatch.setattr(ShownResults, "_require_same", replace_first)
    url = f"/campaigns/{campaign}/results"
    with pytest.raises(httpx.RemoteProtocolError):
        desk.client.get(url)
    assert names_in(desk.client.get(url).json()) == {"another"}


def test_who_takes_results_slowly_keeps_no_connection(server, desk, monkeypatch):
    monkeypatch.setattr(module, "_AT_ONCE", 1)
    campaign = desk.campaign()
    put(server, campaign, "one", 3 * PAGE_ROWS)
    before = server.database.engine.pool.checkedout()
    streams = [shown(server, campaign).document() for _ in range(60)]
    for stream in streams:
        next(stream)
        next(stream)
    assert server.database.engine.pool.checkedout() == before
    assert len({"".join(stream) for stream in streams}) == 1


def test_results_that_are_the_same_are_not_written_again(server, desk):
    campaign = desk.campaign()
    put(server, campaign, "one", MANY)
    with server.database.write() as connection:
        page = tables.result_page
        mine = page.c.campaign_id == bytes.fromhex(campaign)
        connection.execute(page.update().where(mine).values(content='[{"of":"kept"}]'))
    put(server, campaign, "one", MANY)
    assert names_in(json.loads("".join(shown(server, campaign).document()))) == {"kept"}
    put(server, campaign, "another", MANY)
    assert names_in(json.loads("".join(shown(server, campaign).document()))) == {"another"}


@pytest.mark.parametrize("reports", [1, 2, 3])
def test_what_an_older_server_wrote_is_inferred_again(server, desk, reports):
    """A server before revision 0006 beside this one writes no pages; nor does it read them."""
    campaign = desk.campaign(join_mode="open")
    desk.worker(campaign).send_values(1, 0)
    Inferrer(server.database).infer(bytes.fromhex(campaign))
    before = desk.client.get(f"/campaigns/{campaign}/results").json()
    inference = tables.inference.c
    with server.database.write() as connection:
        wanted = select(inference.snapshot).where(inference.campaign_id == bytes.fromhex(campaign))
        assert "newer version" in json.loads(connection.scalar(wanted))["warnings"][0]["message"]
        write_older(connection, bytes.fromhex(campaign), '{"truths":"older"}', reports=reports)
        assert bytes.fromhex(campaign) in outdated_campaigns(connection)
    assert desk.client.get(f"/campaigns/{campaign}/results").status_code == 409
    Inferrer(server.database).infer(bytes.fromhex(campaign))
    assert desk.client.get(f"/campaigns/{campaign}/results").json() == before

import json

import pyarrow as pa
import pytest
from sqlalchemy import select
from tests.campaign.mechanisms import MECHANISMS, mechanisms_by_day
from tests.nightly import nightly

from quietcrowd.campaign.results import report_blocks
from quietcrowd.campaign.results.report_blocks import ReportBlocks
from quietcrowd.campaign.store import tables


def blocks(server, campaign):
    with server.database.read() as connection:
        row = connection.execute(
            select(tables.campaign).where(tables.campaign.c.id == bytes.fromhex(campaign))
        ).one()
    return list(ReportBlocks(campaign=row).one_by_one(server.database))


@pytest.mark.grid
@pytest.mark.parametrize("rows", [1, nightly(2), 3, nightly(4), nightly(7), 5_000])
@pytest.mark.parametrize("least", [1, 3])
def test_blocks_hold_who_is_shown_once_and_whole(server, desk, monkeypatch, rows, least):
    monkeypatch.setattr(report_blocks, "_BLOCK", rows)
    campaign = desk.campaign(join_mode="open", at_least=least)
    sent = {}
    for place in range(5):
        worker = desk.worker(campaign)
        name = worker.client.get("/me").json()["pseudonym"]
        sent[name] = len(worker.send_values(*[1] * (1 + place % 3)))
    shown = dict(list(sent.items())[: 5 if least == 1 else 3])
    found = blocks(server, campaign)
    seen = [set(block["worker"].to_pylist()) for block in found]
    assert sum(map(len, seen)) == len(set().union(*seen))
    counts = pa.concat_tables(found)["worker"].value_counts().to_pylist()
    assert {one["values"]: one["counts"] for one in counts} == shown


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_campaign_without_reports_has_columns(server, desk, name):
    [block] = blocks(server, desk.campaign(MECHANISMS[name]))
    assert set(MECHANISMS[name].columns) <= set(block.column_names)
    assert len(block) == 0


@pytest.mark.grid
@pytest.mark.parametrize("name", mechanisms_by_day("laplace with a bit"))
def test_all_ways_out_hold_the_same(server, desk, name):
    mechanism = MECHANISMS[name]
    campaign = desk.campaign(mechanism, join_mode="open")
    domain = mechanism.domain
    answer = domain.labels[0] if hasattr(domain, "labels") else domain.low
    for _ in range(3):
        desk.worker(campaign).send_all(mechanism, {f"t{place}": answer for place in range(3)})
    url = f"/campaigns/{campaign}/reports"
    lines = desk.client.get(url).text.splitlines()
    answer = desk.client.get(url, params={"format": "arrow"})
    assert answer.headers["content-type"] == "application/vnd.apache.arrow.stream"
    table = pa.ipc.open_stream(answer.content).read_all()
    assert json.loads(table.schema.metadata[b"quietcrowd"]) == json.loads(lines[0])
    assert table.to_pylist() == [json.loads(line) for line in lines[1:]]
    marked = {"campaign", "mechanism"} & set(table.column_names)
    assert table.drop_columns(list(marked)).equals(pa.concat_tables(blocks(server, campaign)))

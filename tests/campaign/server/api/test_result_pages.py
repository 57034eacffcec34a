import pytest
from tests.campaign.many_results import put
from tests.campaign.people import check_problem

from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.server.service import read_cursor, write_cursor
from quietcrowd.campaign.store.result_pages import PAGE_ROWS

PIECES = ("head", "truths", "workers")


def all_rows(desk, url, kind):
    rows, cursor = [], None
    while True:
        wanted = {} if cursor is None else {"cursor": cursor}
        page = desk.client.get(f"{url}/{kind}", params=wanted).raise_for_status().json()
        rows += page["items"]
        assert len(page["items"]) <= PAGE_ROWS
        cursor = page["next_cursor"]
        if cursor is None:
            return rows


def test_head_and_pages_are_the_document(server, desk):
    campaign = desk.campaign(join_mode="open")
    for _ in range(3):
        desk.worker(campaign).send_values(1, 0)
    Inferrer(server.database).infer(bytes.fromhex(campaign))
    url = f"/campaigns/{campaign}/results"
    document = desk.client.get(url).json()
    head = desk.client.get(f"{url}/head").json()
    assert (head.pop("truths"), head.pop("workers")) == (3, 3)
    rows = {kind: all_rows(desk, url, kind) for kind in PIECES[1:]}
    assert {**head, **rows} == document


@pytest.mark.parametrize("rows", [0, 1, PAGE_ROWS, 2 * PAGE_ROWS + 1])
def test_pages_follow_each_other(server, desk, rows):
    campaign = desk.campaign()
    put(server, campaign, "one", rows)
    url = f"/campaigns/{campaign}/results"
    assert desk.client.get(f"{url}/head").json()["workers"] == rows
    assert [row["worker"] for row in all_rows(desk, url, "workers")] == list(range(rows))
    assert [row["task"] for row in all_rows(desk, url, "truths")] == list(range(rows))


def test_all_pieces_have_the_etag_of_the_document_and_are_not_sent_again(server, desk):
    campaign = desk.campaign()
    put(server, campaign, "one", 1)
    url = f"/campaigns/{campaign}/results"
    etag = desk.client.get(url).headers["etag"]
    for piece in PIECES:
        assert desk.client.get(f"{url}/{piece}").headers["etag"] == etag
        known = desk.client.get(f"{url}/{piece}", headers={"If-None-Match": etag})
        assert (known.status_code, known.content) == (304, b"")


def test_a_page_of_results_that_were_replaced_is_refused(server, desk):
    campaign = desk.campaign()
    put(server, campaign, "one", 3 * PAGE_ROWS)
    url = f"/campaigns/{campaign}/results"
    cursor = desk.client.get(f"{url}/workers").json()["next_cursor"]
    put(server, campaign, "another", 3 * PAGE_ROWS)
    for kind in PIECES[1:]:
        refused = desk.client.get(f"{url}/{kind}", params={"cursor": cursor})
        check_problem(refused, 409, "results-changed")


@pytest.mark.parametrize("piece", PIECES)
def test_pieces_of_no_results_are_refused(desk, piece):
    url = f"/campaigns/{desk.campaign()}/results/{piece}"
    check_problem(desk.client.get(url), 409, "no-results")


@pytest.mark.parametrize("cursor", ["", "secret", "é", "A" * 28])
def test_cursors_that_nobody_was_given_are_refused(server, desk, cursor):
    campaign = desk.campaign()
    put(server, campaign, "one", 1)
    url = f"/campaigns/{campaign}/results/truths"
    refused = desk.client.get(url, params={"cursor": cursor})
    assert refused.status_code in (409, 422)
    assert "secret" not in refused.text


def test_a_page_beyond_the_last_is_empty(server, desk):
    campaign = desk.campaign()
    put(server, campaign, "one", PAGE_ROWS + 1)
    url = f"/campaigns/{campaign}/results/truths"
    place = read_cursor(desk.client.get(url).json()["next_cursor"], 20)
    beyond = write_cursor(place[:16] + (2**32 - 1).to_bytes(4))
    found = desk.client.get(url, params={"cursor": beyond}).json()
    assert found == {"items": [], "next_cursor": None}

import json

import pytest
from attrs import evolve

from quietcrowd.campaign.results import findings
from quietcrowd.campaign.results.findings import Findings
from quietcrowd.campaign.store.result_pages import AIMS, PAGE_ROWS


def found(truths=(), workers=(), **head):
    return Findings(head={"method": None, **head}, truths=truths, workers=workers)


def rows_of(pages, kind):
    return [row for page in pages if page.kind == kind for row in json.loads(page.content)]


@pytest.mark.parametrize("count", [0, 1, PAGE_ROWS - 1, PAGE_ROWS, PAGE_ROWS + 1, 3 * PAGE_ROWS])
def test_pages_hold_all_rows_in_their_order_and_no_more_than_they_may(count):
    truths, workers = [{"task": place} for place in range(count)], [{"worker": "é\n"}]
    with found(iter(truths), iter(workers)).in_pages() as held:
        pages = list(held.pages())
        assert list(held.pages()) == pages
        assert held.counts == {"truths": count, "workers": 1}
    assert rows_of(pages, "truths") == truths
    assert rows_of(pages, "workers") == workers
    numbers = [page.number for page in pages if page.kind == "truths"]
    assert numbers == list(range(max(1, -(-count // PAGE_ROWS))))
    assert all(len(json.loads(page.content)) <= PAGE_ROWS for page in pages)


def etag(one):
    with one.in_pages() as held:
        return held.etag


def test_the_etag_differs_where_anything_does():
    some = [{"task": "a", "truth": "yes"}]
    same = etag(found(some))
    assert same == etag(found(list(some)))
    others = [found(), found((), some), found(some, some), found(some, reports=1)]
    assert len({same, *map(etag, others)}) == 5


def test_results_that_failed_say_so():
    with found().in_pages() as held:
        assert held.failed
    with Findings(head={"method": {}}, truths=(), workers=()).in_pages() as held:
        assert not held.failed


def test_many_rows_are_put_aside_in_a_file_in_the_folder_for_it(monkeypatch, tmp_path):
    monkeypatch.setattr(findings, "_IN_MEMORY", 1_000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with found({"task": place} for place in range(2_500)).in_pages(str(tmp_path)) as held:
        assert held.file._rolled
        assert len(rows_of(held.pages(), "truths")) == 2_500


def test_how_often_tasks_are_to_be_asked_is_beside_what_is_shown():
    aims = [{"task_id": "00", "aim": place} for place in range(PAGE_ROWS + 1)]
    with evolve(found(), aims=aims).in_pages() as held:
        assert rows_of(held.pages(), AIMS) == aims
        assert held.counts == {"truths": 0, "workers": 0}
        assert held.etag == etag(found())
    with found().in_pages() as held:
        assert {page.kind for page in held.pages()} == {"truths", "workers"}

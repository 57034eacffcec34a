import json
from threading import Event, Thread

import pytest
from attrs import evolve
from tests.campaign.mechanisms import MECHANISMS, mechanisms_by_day
from tests.campaign.people import check_problem
from tests.campaign.waiting import LONG

import quietcrowd as qc
from quietcrowd.campaign.results import results as module
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.results.results import (
    Findings,
    Provenance,
    _whole_questions,
    failed_findings,
    outdated_campaigns,
    read_provenance,
    write_failure,
    write_results,
)
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
    monkeypatch.setattr(module, "_IN_MEMORY", 1_000)
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


def outdated(server, campaign):
    with server.database.read() as connection:
        return bytes.fromhex(campaign) in outdated_campaigns(connection)


def results(desk, campaign):
    return desk.client.get(f"/campaigns/{campaign}/results").json()


def change_method(desk, campaign, method):
    url = f"/campaigns/{campaign}"
    etag = desk.client.get(url).headers["etag"]
    change = {"method": None if method is None else method.to_dict()}
    desk.client.patch(url, json=change, headers={"If-Match": etag}).raise_for_status()


@pytest.mark.grid
@pytest.mark.parametrize("name", mechanisms_by_day())
def test_results_are_outdated_until_they_are_of_all_reports(server, desk, name):
    mechanism = MECHANISMS[name]
    campaign = desk.campaign(mechanism, tasks=2, join_mode="open")
    domain = mechanism.domain
    answer = domain.low if isinstance(domain, qc.Interval) else domain.labels[0]
    answers = {f"t{place}": answer for place in range(2)}
    assert not outdated(server, campaign)
    desk.worker(campaign).send_all(mechanism, answers)
    assert outdated(server, campaign)
    inferrer = Inferrer(server.database)
    inferrer.infer(bytes.fromhex(campaign))
    assert not outdated(server, campaign)
    desk.worker(campaign).send_all(mechanism, answers)
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    assert outdated(server, campaign)
    inferrer.infer(bytes.fromhex(campaign))
    assert not outdated(server, campaign)


def test_results_are_outdated_after_a_change_of_method_or_a_withdrawal(server, desk):
    campaign = desk.campaign(join_mode="open")
    desk.worker(campaign).send_values(1)
    late = desk.worker(campaign)
    late.send_values(0)
    inferrer = Inferrer(server.database)
    inferrer.infer(bytes.fromhex(campaign))
    change_method(desk, campaign, qc.MajorityVote())
    assert outdated(server, campaign)
    inferrer.infer(bytes.fromhex(campaign))
    assert not outdated(server, campaign)
    late.client.delete("/me").raise_for_status()
    assert outdated(server, campaign)


def test_an_older_inference_does_not_replace_a_newer_one(server, desk, monkeypatch):
    campaign = desk.campaign(join_mode="open")
    desk.worker(campaign).send_values(1, 1, 1)
    slow, write = Inferrer(server.database), Inferrer._write

    def write_late(*given):
        monkeypatch.setattr(Inferrer, "_write", write)
        desk.worker(campaign).send_values(0, 0)
        assert Inferrer(server.database).infer(bytes.fromhex(campaign))
        return write(*given)

    monkeypatch.setattr(Inferrer, "_write", write_late)
    assert not slow.infer(bytes.fromhex(campaign))
    assert results(desk, campaign)["reports"] == 5


def test_a_method_that_was_changed_meanwhile_writes_nothing(server, desk, monkeypatch):
    campaign = desk.campaign(join_mode="open")
    desk.worker(campaign).send_values(1)
    write = Inferrer._write

    def write_late(*given):
        change_method(desk, campaign, qc.MajorityVote())
        return write(*given)

    monkeypatch.setattr(Inferrer, "_write", write_late)
    assert not Inferrer(server.database).infer(bytes.fromhex(campaign))
    check_problem(desk.client.get(f"/campaigns/{campaign}/results"), 409, "no-results")


def begin(server, campaign):
    """Return what an inference that begins now finds."""
    with server.database.read() as connection:
        return read_provenance(connection, bytes.fromhex(campaign))


def fail(server, attempt, reason="It failed."):
    """Write that an inference failed."""
    with server.database.write() as connection:
        write_failure(connection, attempt, reason)


def test_a_failure_is_told_until_there_are_results(server, desk):
    campaign = desk.campaign(join_mode="open")
    desk.worker(campaign).send_values(1, 1)
    assert begin(server, "00" * 16) is None
    fail(server, begin(server, campaign))
    told = results(desk, campaign)
    assert told["warnings"] == [{"code": "failed", "message": "It failed."}]
    assert (told["reports"], told["participants"], told["truths"]) == (2, 1, [])
    assert Inferrer(server.database).infer(bytes.fromhex(campaign))
    assert len(results(desk, campaign)["truths"]) == 3


@pytest.mark.parametrize("meanwhile", [0, 2])
def test_a_failure_replaces_no_results_of_as_many_reports_or_more(server, desk, meanwhile):
    """One server fails while another one finds results."""
    campaign = desk.campaign(join_mode="open")
    desk.worker(campaign).send_values(1, 1)
    attempt = begin(server, campaign)
    if meanwhile:
        desk.worker(campaign).send_values(*[1] * meanwhile)
    assert Inferrer(server.database).infer(bytes.fromhex(campaign))
    found = results(desk, campaign)
    fail(server, attempt)
    assert results(desk, campaign) == found
    assert found["reports"] == 2 + meanwhile
    assert not outdated(server, campaign)


def test_a_failure_is_of_the_reports_that_were_there_as_it_began(server, desk):
    """What came meanwhile is inferred, by whichever server looks for it."""
    campaign = desk.campaign(join_mode="open")
    desk.worker(campaign).send_values(1, 1)
    attempt = begin(server, campaign)
    desk.worker(campaign).send_values(1)
    fail(server, attempt)
    assert results(desk, campaign)["reports"] == 2
    assert outdated(server, campaign)
    fail(server, begin(server, campaign))
    assert results(desk, campaign)["reports"] == 3
    assert not outdated(server, campaign)


def test_after_closing_it_is_told_that_fewer_are_never_shown(desk):
    campaign = desk.campaign(join_mode="open", at_least=5)
    desk.worker(campaign).send_values(1)
    url = f"/campaigns/{campaign}/results"
    told = check_problem(desk.client.get(url), 409, "no-results")["detail"]
    assert told.startswith("Results appear shortly after 5 more workers have sent reports")
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    told = check_problem(desk.client.get(url), 409, "no-results")["detail"]
    assert told.startswith(
        "The campaign is closed. Reports of fewer than 5 workers are never shown"
    )


def test_a_failure_after_a_withdrawal_or_a_change_of_method_is_told(server, desk):
    campaign = desk.campaign(join_mode="open")
    desk.worker(campaign).send_values(1, 1)
    late = desk.worker(campaign)
    late.send_values(1)
    attempt = begin(server, campaign)
    late.client.delete("/me").raise_for_status()
    fail(server, attempt)
    check_problem(desk.client.get(f"/campaigns/{campaign}/results"), 409, "no-results")
    assert Inferrer(server.database).infer(bytes.fromhex(campaign))
    change_method(desk, campaign, qc.MajorityVote())
    fail(server, begin(server, campaign))
    assert results(desk, campaign)["warnings"][0]["code"] == "failed"


def told_of(reports, reason):
    return failed_findings(config_hash="", reports=reports, participants=1, reason=reason)


@pytest.mark.parametrize(("reports", "kept"), [(1, "other"), (2, "one"), (3, "one")])
def test_two_servers_may_write_the_first_results_at_once(server, desk, reports, kept):
    campaign = bytes.fromhex(desk.campaign(join_mode="open"))
    desk.worker(campaign.hex()).send_values(1, 1)
    failed, attempt, begun = [], begin(server, campaign.hex()), Event()

    def other():
        begun.set()
        try:
            fail(server, attempt, "other")
        except Exception as error:
            failed.append(error)

    thread = Thread(target=other)
    with server.database.write() as connection:
        provenance = Provenance(
            campaign=campaign, reports=reports, erasures=0, method=None, exclusions=0
        )
        with told_of(reports, "one").in_pages() as pages:
            assert write_results(connection, provenance, pages)
        thread.start()
        assert begun.wait(LONG)
        assert thread.is_alive()
    thread.join()
    assert failed == []
    assert [one["message"] for one in results(desk, campaign.hex())["warnings"]] == [kept]


def test_a_page_of_estimates_has_whole_questions(monkeypatch):
    monkeypatch.setattr("quietcrowd.campaign.results.results.PAGE_ROWS", 5)
    sizes = (2, 3, 4, 1, 7, 2)
    rows = [{"task": f"t{n}", "label": i} for n, size in enumerate(sizes) for i in range(size)]
    pages = list(_whole_questions(rows))
    assert [[int(row["task"][1:]) for row in page] for page in pages] == [
        [0, 0, 1, 1, 1],
        [2, 2, 2, 2, 3],
        7 * [4],
        [5, 5],
    ]
    assert [row for page in pages for row in page] == rows

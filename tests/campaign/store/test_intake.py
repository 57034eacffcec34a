"""What becomes of uploads that are decided together, in one transaction."""

import json
import secrets
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import event, update
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.waiting import LONG
from tests.removed_mechanism import REMOVED, SENTENCE

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.protocol.worker_documents import Receipt, Upload
from quietcrowd.campaign.results.results import (
    Provenance,
    failed_findings,
    write_results,
)
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.intake import Intake, WorkerUpload

SKETCH = [1, -2, 2**30, 0]


def receipt(accepted=0, duplicates=0, conflicts=()):
    rejected = [{"report_id": one, "code": "conflict"} for one in conflicts]
    return Receipt.model_validate(
        {"accepted": accepted, "duplicates": duplicates, "rejected": rejected}
    )


def sent(worker, *reports, sketch=None):
    """Return an upload of a worker."""
    body = {"config_hash": worker.config_hash, "reports": list(reports), "sketch": sketch}
    return WorkerUpload(credential=worker.credential, upload=Upload.model_validate(body))


def sketch_of(numbers, report_id=None):
    return {"report_id": report_id or secrets.token_hex(16), "numbers": numbers}


def take(server, *uploads):
    """Decide about uploads in one transaction; return their outcomes."""
    with server.database.write() as connection:
        outcomes, changed, _ = Intake().take(connection, uploads)
    return outcomes, {campaign.hex() for campaign in changed}


@pytest.fixture
def campaign(desk):
    return desk.campaign(join_mode="open")


@pytest.fixture
def sketching(desk):
    return desk.campaign(MECHANISMS["matrix factorisation"], join_mode="open")


def test_one_report_id_of_two_workers_fails_nobody_else(server, desk, campaign):
    first, second, third = (desk.worker(campaign) for _ in range(3))
    one, two, _ = (task["task_id"] for task in first.tasks())
    original = first.report(one, 1)
    copied = {**second.report(one, 0), "report_id": original["report_id"]}
    own, other = second.report(two, 1), third.report(one, 0)
    outcomes, changed = take(
        server, sent(first, original), sent(second, copied, own), sent(third, other)
    )
    assert outcomes == [receipt(1), receipt(1, conflicts=[original["report_id"]]), receipt(1)]
    assert changed == {campaign}
    assert [worker.client.get("/me").json()["reports"] for worker in (first, second, third)] == [
        1,
        1,
        1,
    ]
    assert take(server, sent(second, copied))[0] == [receipt(conflicts=[original["report_id"]])]


def test_one_report_id_of_two_sketches_fails_nobody_else(server, desk, sketching):
    first, second, third = (desk.worker(sketching) for _ in range(3))
    original = sketch_of(SKETCH)
    copied, other = sketch_of([0, 0, 0, 7], original["report_id"]), sketch_of(SKETCH)
    outcomes, changed = take(
        server,
        sent(first, sketch=original),
        sent(second, sketch=copied),
        sent(third, sketch=other),
    )
    assert outcomes == [receipt(1), receipt(conflicts=[original["report_id"]]), receipt(1)]
    assert changed == {sketching}
    held = [worker.client.get("/me/reports").json()["sketch"] for worker in (first, second, third)]
    assert held == [original, None, other]


def test_a_worker_who_sends_twice_in_a_batch_has_one_report_per_task(server, desk, campaign):
    worker = desk.worker(campaign)
    first, second, third = (worker.report(task["task_id"], 1) for task in worker.tasks())
    changed = {**first, "value": 0}
    outcomes, _ = take(
        server,
        sent(worker, first),
        sent(worker, first, second),
        sent(worker, changed, third),
    )
    assert outcomes == [
        receipt(1),
        receipt(1, duplicates=1),
        receipt(1, conflicts=[first["report_id"]]),
    ]
    held = worker.client.get("/me/reports").json()["reports"]
    assert {one["report_id"]: one["value"] for one in held} == {
        one["report_id"]: 1 for one in (first, second, third)
    }


def test_a_worker_who_sends_twice_in_a_batch_has_one_sketch(server, desk, sketching):
    worker = desk.worker(sketching)
    first, other = sketch_of(SKETCH), sketch_of(SKETCH)
    outcomes, _ = take(
        server, *(sent(worker, sketch=sketch) for sketch in (first, first, other, first))
    )
    conflict = receipt(conflicts=[other["report_id"]])
    assert outcomes == [receipt(1), receipt(duplicates=1), conflict, receipt(duplicates=1)]
    assert worker.client.get("/me/reports").json()["sketch"] == first


def test_a_report_id_is_taken_in_its_own_campaign_alone(server, desk, campaign, sketching):
    """Campaigns of both kinds, and somebody who joined none, in one batch."""
    worker, sketcher, elsewhere = (
        desk.worker(one) for one in (campaign, sketching, desk.campaign(join_mode="open"))
    )
    stranger = desk.guest(campaign)
    report = worker.report(worker.tasks()[0]["task_id"], 1)
    same = elsewhere.report(elsewhere.tasks()[0]["task_id"], 0)
    same["report_id"] = report["report_id"]
    outcomes, changed = take(
        server,
        sent(worker, report),
        sent(stranger, report),
        sent(elsewhere, same),
        sent(sketcher, sketch=sketch_of(SKETCH, report["report_id"])),
    )
    refused = outcomes.pop(1)
    assert isinstance(refused, ProblemError)
    assert refused.name == "credential"
    assert outcomes == [receipt(1)] * 3
    assert changed == {campaign, elsewhere.campaign, sketching}


def test_what_changes_nothing_is_no_change(server, desk, campaign):
    worker = desk.worker(campaign)
    report = worker.report(worker.tasks()[0]["task_id"], 1)
    assert take(server, sent(worker, report)) == ([receipt(1)], {campaign})
    assert take(server, sent(worker, report)) == ([receipt(duplicates=1)], set())


def test_campaigns_are_locked_before_workers_and_each_kind_in_order(server, desk, campaign):
    """All who write do so: nobody waits for somebody who waits for them."""
    workers = [desk.worker(one) for one in (campaign, desk.campaign(join_mode="open"))]
    asked = []
    with server.database.write() as connection:
        event.listen(connection, "before_cursor_execute", lambda *a: asked.append(a[2]))
        Intake().take(connection, [sent(one) for one in workers])
    alone, together, people, *others = (" ".join(one.split()) for one in asked)
    assert "FROM participant WHERE" in people
    for campaigns, which in ((alone, "<="), (together, ">")):  # at_least never changes
        assert "FROM campaign WHERE" in campaigns
        assert f"campaign.at_least {which} " in campaigns
        assert "ORDER BY campaign.id" in campaigns
    assert "ORDER BY participant.id" in people
    if server.database.path is None:  # SQLite locks the whole database
        assert alone.endswith("FOR NO KEY UPDATE")
        assert together.endswith("FOR UPDATE")
        assert people.endswith("FOR UPDATE")
    assert not any(" FOR " in one.upper() for one in others)


def test_uploads_go_on_while_results_are_written(server, desk, campaign):
    """Where workers wait for nobody; SQLite lets in one who writes at a time."""
    if server.database.path is not None:
        return
    worker = desk.worker(campaign)
    upload = sent(worker, worker.report(worker.tasks()[0]["task_id"], 1))
    found = failed_findings(config_hash="", reports=9, participants=1, reason="It failed.")
    provenance = Provenance(
        campaign=bytes.fromhex(campaign), reports=9, erasures=0, method=None, exclusions=0
    )
    with found.in_pages() as pages, server.database.write() as connection:
        assert write_results(connection, provenance, pages)
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(take, server, upload).result(timeout=LONG)[0] == [receipt(1)]


def test_a_campaign_has_changed_once_its_workers_are_shown(server, desk, campaign):
    together = desk.campaign(join_mode="open", at_least=3)
    crowd = [desk.worker(together) for _ in range(4)]
    [other] = [desk.worker(campaign)]
    task = {one.campaign: one.tasks()[0]["task_id"] for one in (other, *crowd)}
    uploads = [sent(one, one.report(task[one.campaign], 1)) for one in (*crowd, other)]
    assert take(server, *uploads[:2]) == ([receipt(1)] * 2, set())
    assert take(server, uploads[0], uploads[-1]) == (
        [receipt(duplicates=1), receipt(1)],
        {campaign},
    )
    assert take(server, uploads[2]) == ([receipt(1)], {together})
    assert take(server, uploads[3], uploads[2]) == ([receipt(1), receipt(duplicates=1)], set())


def test_two_uploads_of_one_worker_in_one_transaction_are_not_two(server, desk):
    together = desk.campaign(join_mode="open", at_least=2)
    worker = desk.worker(together)
    one, two = (worker.report(task["task_id"], 1) for task in worker.tasks()[:2])
    outcomes, changed = take(server, sent(worker, one), sent(worker, two))
    assert outcomes == [receipt(1), receipt(conflicts=[two["report_id"]])]
    assert changed == set()


def test_a_credential_is_not_shown():
    upload = WorkerUpload(credential="qcw_secret", upload=Upload(config_hash="0" * 64))
    assert "secret" not in repr(upload)


def test_an_upload_for_a_removed_mechanism_fails_no_other(server, desk, campaign):
    """An earlier version stored the campaign; the worker can still withdraw."""
    removed = desk.campaign(MECHANISMS["laplace"], join_mode="open")
    old, worker = desk.worker(removed), desk.worker(campaign)
    reports = [one.report(one.tasks()[0]["task_id"], 1) for one in (old, worker)]
    with server.database.write() as connection:
        table = tables.campaign
        connection.execute(
            update(table)
            .where(table.c.id == bytes.fromhex(removed))
            .values(mechanism=json.dumps(REMOVED))
        )
    (refused, taken), _ = take(server, sent(old, reports[0]), sent(worker, reports[1]))
    assert (refused.name, taken) == ("mechanism-removed", receipt(1))
    assert SENTENCE in refused.detail
    assert old.client.delete("/me").status_code == 204

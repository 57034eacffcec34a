import json

import numpy as np
import pytest
from attrs import evolve
from tests.campaign.devices import Fake
from tests.campaign.mechanisms import MECHANISMS, answers_of

from quietcrowd.campaign.channel_config import report_rule
from quietcrowd.campaign.client_terms import Terms, read_tasks
from quietcrowd.campaign.client_upload import HeldReports, Receipt, Upload, coded_reports
from quietcrowd.campaign.schemas import Upload as Expected
from quietcrowd.exceptions import CampaignError


def upload_of(reports, terms, tasks):
    """Return the upload of one worker's reports."""
    if reports.sketches is not None:
        return Upload.of_sketch(reports, terms)
    coded = coded_reports(reports, terms)
    return Upload.of({task.id: coded[task.name] for task in tasks}, terms)


def made(name, tasks=5):
    """Return reports of one worker, their upload, terms and tasks."""
    mechanism = MECHANISMS[name]
    fake = Fake.of(mechanism, tasks=tasks)
    terms = Terms.read(fake.public, 32 * "5")
    listed = read_tasks({"config_hash": terms.config_hash, "tasks": fake.tasks}, terms)
    names = [task.name for task in listed]
    reports = mechanism.randomize(answers_of(mechanism, names, 1, seed=1))
    return reports, upload_of(reports, terms, listed), terms, listed


@pytest.mark.parametrize("name", MECHANISMS)
def test_an_upload_is_what_the_server_expects(name):
    reports, upload, terms, tasks = made(name)
    body = Expected.model_validate_json(upload.content)
    assert body.config_hash == terms.config_hash
    if reports.sketches is not None:
        assert upload.sketch["numbers"] == reports.sketches[0].tolist()
        assert upload.items == []
        assert upload.reports(terms.mechanism, tasks) == ()
        return
    assert [item.task_id for item in body.reports] == sorted(task.id for task in tasks)
    assert len({item.report_id for item in body.reports}) == 5
    frame = reports.to_frame("pyarrow").to_pylist()
    readable = {one.task: one for one in upload.reports(terms.mechanism, tasks)}
    for row in frame:
        assert readable[row["task"]].value == row["label"]
        assert readable[row["task"]].participation == row.get("participation")


@pytest.mark.parametrize("name", ["laplace", "laplace with a bit", "matrix factorisation, ridge"])
def test_noise_beyond_all_likelihood_is_cut_off_and_not_refused(name):
    reports, _, terms, tasks = made(name)
    rule = report_rule(terms.mechanism, len(tasks))
    if reports.sketches is not None:
        far = evolve(reports, sketches=np.full_like(reports.sketches, 1e300))
        sketch = upload_of(far, terms, tasks).sketch
        assert set(sketch["numbers"]) == {rule.high}
        return
    values = np.full_like(reports.table.values, -(2**31 - 1))
    far = evolve(reports, table=evolve(reports.table, values=values))
    items = upload_of(far, terms, tasks).items
    assert {item["value"] for item in items} == {rule.low}
    assert all(rule.accepts(item["value"], item.get("bit")) for item in items)


def test_report_ids_are_drawn_anew_and_nothing_else_is():
    reports, upload, terms, tasks = made("one-layer")
    again = upload_of(reports, terms, tasks)
    first, second = (json.loads(one.content)["reports"] for one in (upload, again))
    ids = [[item.pop("report_id") for item in one] for one in (first, second)]
    assert first == second
    assert not set(ids[0]) & set(ids[1])


def test_what_no_request_holds_is_refused(monkeypatch):
    reports, _, terms, tasks = made("one-layer")
    monkeypatch.setattr("quietcrowd.campaign.client_upload.MAX_BODY", 100)
    with pytest.raises(CampaignError, match="takes in 100 at most"):
        upload_of(reports, terms, tasks)


@pytest.mark.parametrize("name", ["one-layer", "matrix factorisation"])
def test_a_request_may_be_as_long_as_the_server_allows(monkeypatch, name):
    reports, upload, terms, tasks = made(name)
    size = len(upload.content)
    monkeypatch.setattr("quietcrowd.campaign.client_upload.MAX_BODY", size)
    assert len(upload_of(reports, terms, tasks).content) == size
    monkeypatch.setattr("quietcrowd.campaign.client_upload.MAX_BODY", size - 1)
    with pytest.raises(CampaignError, match=f"take {size} bytes, .* takes in {size - 1} at most"):
        upload_of(reports, terms, tasks)


def test_what_is_sent_is_not_shown():
    _, upload, _, _ = made("one-layer")
    assert "report" not in repr(upload)


def test_a_receipt_without_a_rejection_is_returned_as_it_is():
    _, upload, _, tasks = made("one-layer")
    document = {"accepted": 0, "duplicates": 5, "rejected": []}
    receipt = Receipt.read(document, upload, tasks)
    assert receipt == Receipt(accepted=0, duplicates=5)
    assert receipt.require_all() is receipt


def test_one_rejection_is_told_of_with_what_was_taken():
    _, upload, _, tasks = made("one-layer")
    rejected = [{"report_id": upload.items[0]["report_id"], "code": "budget"}]
    document = {"accepted": 3, "duplicates": 1, "rejected": rejected}
    receipt = Receipt.read(document, upload, tasks)
    told = r"took 4 reports and rejects 1: that on .* \(budget\)\. Sending"
    with pytest.raises(CampaignError, match=told):
        receipt.require_all()


def test_a_receipt_names_the_tasks_of_what_was_rejected():
    _, upload, _, tasks = made("one-layer")
    by_id = {task.id: task.name for task in tasks}
    rejected = [{"report_id": item["report_id"], "code": "budget"} for item in upload.items[:2]]
    document = {"accepted": 2, "duplicates": 1, "rejected": rejected}
    receipt = Receipt.read(document, upload, tasks)
    names = [by_id[item["task_id"]] for item in upload.items[:2]]
    assert receipt.rejected == tuple((name, "budget") for name in names)
    assert Receipt.from_dict(json.loads(json.dumps(receipt.to_dict()))) == receipt
    with pytest.raises(CampaignError, match=f"that on {names[0]!r} \\(budget\\), and 1 more"):
        receipt.require_all()


@pytest.mark.parametrize(
    "document",
    [
        {"accepted": 4, "duplicates": 0, "rejected": []},
        {"accepted": 6, "duplicates": -1, "rejected": []},
        {"accepted": 5.0, "duplicates": 0, "rejected": []},
        {"accepted": 5, "duplicates": 0},
        {"accepted": 5, "duplicates": 0, "rejected": 7},
        {"accepted": 4, "duplicates": 0, "rejected": [{"report_id": "?", "code": "conflict"}]},
        {"accepted": 4, "duplicates": 0, "rejected": [{"report_id": "FIRST", "code": 7}]},
        {},
    ],
)
def test_a_receipt_that_does_not_add_up_is_none(document):
    _, upload, _, tasks = made("one-layer")
    text = json.dumps(document).replace("FIRST", upload.items[0]["report_id"])
    with pytest.raises(CampaignError, match="does not add up"):
        Receipt.read(json.loads(text), upload, tasks)


def test_a_code_is_harmless_on_a_terminal():
    _, upload, _, tasks = made("one-layer")
    rejected = [{"report_id": upload.items[0]["report_id"], "code": "\x1b[2J" + 99 * "x"}]
    receipt = Receipt.read({"accepted": 4, "duplicates": 0, "rejected": rejected}, upload, tasks)
    assert receipt.rejected[0][1] == "\ufffd[2J" + 36 * "x"


def test_a_rejected_sketch_is_of_all_tasks():
    _, upload, _, tasks = made("matrix factorisation")
    rejected = [{"report_id": upload.sketch["report_id"], "code": "conflict"}]
    receipt = Receipt.read({"accepted": 0, "duplicates": 0, "rejected": rejected}, upload, tasks)
    assert receipt.rejected == (("all tasks", "conflict"),)


@pytest.mark.parametrize("name", ["laplace with a bit", "matrix factorisation, ridge"])
def test_what_is_held_is_compared(name):
    _, upload, terms, tasks = made(name)
    body = json.loads(upload.content)
    document = {"reports": body.get("reports", []), "sketch": body.get("sketch")}
    held = HeldReports.read(document, upload, terms.mechanism, tasks)
    assert held.as_sent
    assert held.reports == upload.reports(terms.mechanism, tasks)
    nothing = {"reports": [], "sketch": None}
    gone = HeldReports.read(nothing, upload, terms.mechanism, tasks)
    count = len(document["reports"]) or 1
    assert (gone.missing, gone.strange) == (count, 0)
    unknown = HeldReports.read(document, None, terms.mechanism, tasks)
    assert (unknown.missing, unknown.strange) == (0, count)
    assert (held.count, held.empty, gone.count, gone.empty) == (count, False, 0, True)
    assert not gone.as_sent
    assert not unknown.as_sent
    assert unknown.reports == held.reports
    sketch = tuple(upload.sketch["numbers"]) if upload.sketch else None
    assert (held.sketch, unknown.sketch) == (sketch, sketch)


@pytest.mark.parametrize("name", ["laplace with a bit", "matrix factorisation, ridge"])
def test_what_was_not_acknowledged_is_compared_and_not_shown(name):
    _, upload, terms, tasks = made(name)
    body = json.loads(upload.content)
    documents = [
        {"reports": [], "sketch": None},
        {"reports": body.get("reports", []), "sketch": body.get("sketch")},
    ]
    for document in documents:
        held = HeldReports.read(document, upload, terms.mechanism, tasks, acknowledged=False)
        assert held.as_sent
        assert (held.reports, held.sketch) == ((), None)
    if upload.sketch is None:
        some = {"reports": body["reports"][:2], "sketch": None}
        held = HeldReports.read(some, upload, terms.mechanism, tasks, acknowledged=False)
        assert (held.count, held.missing, held.strange) == (2, len(tasks) - 2, 0)


@pytest.mark.parametrize("member", ["report_id", "task_id", "value", "bit"])
def test_a_report_is_held_as_it_was_sent_or_it_is_another(member):
    _, upload, terms, tasks = made("laplace with a bit")
    first, second, *rest = upload.items
    other = {**first, "report_id": "0" * 32, "task_id": second["task_id"]}
    other |= {"value": first["value"] + 1, "bit": first["bit"] + 1}
    items = [{**first, member: other[member]}, second, *rest]
    held = HeldReports.read({"reports": items, "sketch": None}, upload, terms.mechanism, tasks)
    assert (held.missing, held.strange) == (1, 1)


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"reports": 7, "sketch": None},
        {"reports": [{"report_id": "x"}], "sketch": None},
        {"reports": [], "sketch": {"numbers": 7}},
        {"reports": [{"report_id": "x", "task_id": "y", "value": 0}], "sketch": None},
    ],
)
def test_what_cannot_be_read_is_told(document):
    _, upload, terms, tasks = made("one-layer")
    with pytest.raises(CampaignError, match="cannot be read"):
        HeldReports.read(document, upload, terms.mechanism, tasks)


def test_a_value_that_no_label_has_is_told():
    _, upload, terms, tasks = made("one-layer")
    items = [{**upload.items[0], "value": 900}]
    with pytest.raises(CampaignError, match="cannot be read"):
        HeldReports.read({"reports": items, "sketch": None}, upload, terms.mechanism, tasks)

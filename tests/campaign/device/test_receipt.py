import json

import pytest
from tests.campaign.devices import made

from quietcrowd.campaign.device.receipt import HeldReports, WorkerReceipt
from quietcrowd.exceptions import CampaignError


def test_a_receipt_names_the_tasks_of_what_was_rejected():
    _, upload, _, tasks = made("one-layer")
    by_id = {task.id: task.name for task in tasks}
    rejected = [{"report_id": item["report_id"], "code": "budget"} for item in upload.items[:2]]
    document = {"accepted": 2, "duplicates": 1, "rejected": rejected}
    receipt = WorkerReceipt.read(document, upload, tasks)
    names = [by_id[item["task_id"]] for item in upload.items[:2]]
    assert receipt.rejected == tuple((name, "budget") for name in names)
    assert WorkerReceipt.from_dict(json.loads(json.dumps(receipt.to_dict()))) == receipt
    with pytest.raises(
        CampaignError, match=f"rejected 2, first the one on {names[0]!r} \\(budget\\)"
    ):
        receipt.require_all()


@pytest.mark.parametrize(
    "document",
    [
        {"accepted": 4, "duplicates": 0, "rejected": []},
        {"accepted": 6, "duplicates": -1, "rejected": []},
        {"accepted": 5.0, "duplicates": 0, "rejected": []},
        {"accepted": 5, "duplicates": 0},
        {"accepted": 5, "duplicates": 0, "rejected": [], "completion_code": 7},
        {"accepted": 5, "duplicates": 0, "rejected": 7},
        {"accepted": 4, "duplicates": 0, "rejected": [{"report_id": "?", "code": "conflict"}]},
        {"accepted": 4, "duplicates": 0, "rejected": [{"report_id": "FIRST", "code": 7}]},
        {},
    ],
)
def test_a_receipt_that_does_not_add_up_is_none(document):
    _, upload, _, tasks = made("one-layer")
    text = json.dumps(document).replace("FIRST", upload.items[0]["report_id"])
    with pytest.raises(CampaignError, match="contradicts the reports"):
        WorkerReceipt.read(json.loads(text), upload, tasks)


def test_a_code_is_harmless_on_a_terminal():
    _, upload, _, tasks = made("one-layer")
    rejected = [{"report_id": upload.items[0]["report_id"], "code": "\x1b[2J" + 99 * "x"}]
    receipt = WorkerReceipt.read(
        {"accepted": 4, "duplicates": 0, "rejected": rejected}, upload, tasks
    )
    assert receipt.rejected[0][1] == "\ufffd[2J" + 36 * "x"


def test_a_receipt_may_hold_a_code_that_is_harmless_on_a_terminal():
    _, upload, _, tasks = made("one-layer")
    document = {"accepted": 5, "duplicates": 0, "rejected": []}
    assert WorkerReceipt.read(document, upload, tasks).completion_code is None
    document["completion_code"] = "C1\x1b[2J\nB" + 99 * "x"
    receipt = WorkerReceipt.read(document, upload, tasks)
    assert receipt.completion_code == "C1\ufffd[2J B" + 92 * "x"
    assert WorkerReceipt.from_dict(json.loads(json.dumps(receipt.to_dict()))) == receipt
    older = {"accepted": 5, "duplicates": 0, "rejected": []}
    assert WorkerReceipt.from_dict(older).completion_code is None


def test_a_rejected_sketch_is_of_all_tasks():
    _, upload, _, tasks = made("matrix factorisation")
    rejected = [{"report_id": upload.sketch["report_id"], "code": "conflict"}]
    receipt = WorkerReceipt.read(
        {"accepted": 0, "duplicates": 0, "rejected": rejected}, upload, tasks
    )
    assert receipt.rejected == (("all tasks", "conflict"),)


@pytest.mark.parametrize("name", ["laplace with a bit", "matrix factorisation, ridge"])
def test_what_is_held_is_compared(name):
    _, upload, terms, tasks = made(name)
    body = json.loads(upload.content)
    document = {"reports": body.get("reports", []), "sketch": body.get("sketch")}
    held = HeldReports.read(document, [upload], terms.mechanism, tasks)
    assert held.as_sent
    assert held.reports == upload.reports(terms.mechanism, tasks)
    nothing = {"reports": [], "sketch": None}
    gone = HeldReports.read(nothing, [upload], terms.mechanism, tasks)
    count = len(document["reports"]) or 1
    assert (gone.missing, gone.strange) == (count, 0)
    unknown = HeldReports.read(document, [], terms.mechanism, tasks)
    assert (unknown.missing, unknown.strange) == (0, count)
    assert (held.count, held.empty, gone.count, gone.empty) == (count, False, 0, True)
    assert not gone.as_sent
    assert not unknown.as_sent
    assert unknown.reports == held.reports
    sketch = tuple(upload.sketch["numbers"]) if upload.sketch else None
    assert (held.sketch, unknown.sketch) == (sketch, sketch)


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
        HeldReports.read(document, [upload], terms.mechanism, tasks)


def test_a_value_that_no_label_has_is_told():
    _, upload, terms, tasks = made("one-layer")
    items = [{**upload.items[0], "value": 900}]
    with pytest.raises(CampaignError, match="cannot be read"):
        HeldReports.read({"reports": items, "sketch": None}, [upload], terms.mechanism, tasks)


def test_a_receipt_without_a_rejection_is_returned_as_it_is():
    _, upload, _, tasks = made("one-layer")
    document = {"accepted": 0, "duplicates": 5, "rejected": []}
    receipt = WorkerReceipt.read(document, upload, tasks)
    assert receipt == WorkerReceipt(accepted=0, duplicates=5)
    assert receipt.require_all() is receipt


def test_one_rejection_is_told_of_with_what_was_taken():
    _, upload, _, tasks = made("one-layer")
    rejected = [{"report_id": upload.items[0]["report_id"], "code": "budget"}]
    document = {"accepted": 3, "duplicates": 1, "rejected": rejected}
    receipt = WorkerReceipt.read(document, upload, tasks)
    told = r"accepted 4 reports and rejected 1, first the one on .* \(budget\)\. Sending"
    with pytest.raises(CampaignError, match=told):
        receipt.require_all()


@pytest.mark.parametrize("name", ["laplace with a bit", "matrix factorisation, ridge"])
def test_what_was_not_acknowledged_is_compared_and_not_shown(name):
    _, upload, terms, tasks = made(name)
    body = json.loads(upload.content)
    documents = [
        {"reports": [], "sketch": None},
        {"reports": body.get("reports", []), "sketch": body.get("sketch")},
    ]
    for document in documents:
        held = HeldReports.read(document, [upload], terms.mechanism, tasks, acknowledged=False)
        assert held.as_sent
        assert (held.reports, held.sketch) == ((), None)
    if upload.sketch is None:
        some = {"reports": body["reports"][:2], "sketch": None}
        held = HeldReports.read(some, [upload], terms.mechanism, tasks, acknowledged=False)
        assert (held.count, held.missing, held.strange) == (2, len(tasks) - 2, 0)


@pytest.mark.parametrize("member", ["report_id", "task_id", "value", "bit"])
def test_a_report_is_held_as_it_was_sent_or_it_is_another(member):
    _, upload, terms, tasks = made("laplace with a bit")
    first, second, *rest = upload.items
    other = {**first, "report_id": "0" * 32, "task_id": second["task_id"]}
    other |= {"value": first["value"] + 1, "bit": first["bit"] + 1}
    items = [{**first, member: other[member]}, second, *rest]
    held = HeldReports.read({"reports": items, "sketch": None}, [upload], terms.mechanism, tasks)
    assert (held.missing, held.strange) == (1, 1)

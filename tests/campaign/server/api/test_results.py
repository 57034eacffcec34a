import csv
import io
import json
from itertools import groupby, pairwise

import pytest
from sqlalchemy import select
from tests.campaign.journals import can_be_emptied
from tests.campaign.many_results import put
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.people import check_problem

import quietcrowd as qc
from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.results import report_blocks
from quietcrowd.campaign.results.exports import ReportExport
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.server.service import read_cursor, write_cursor
from quietcrowd.campaign.store import tables
from quietcrowd.campaign.store.result_pages import PAGE_ROWS

ANSWERS = {"t0": 0, "t1": 1, "t2": 1}


def test_an_inference_can_be_asked_for(desk):
    campaign = desk.campaign()
    asked = desk.client.post(f"/campaigns/{campaign}/inferences")
    assert (asked.status_code, asked.json()) == (202, {"campaign": campaign})
    draft = desk.draft()["id"]
    check_problem(desk.client.post(f"/campaigns/{draft}/inferences"), 409, "bad-state")


def test_there_are_no_results_without_reports(desk):
    check_problem(desk.client.get(f"/campaigns/{desk.campaign()}/results"), 409, "no-results")


def test_results_that_are_known_are_not_sent_again(server, desk):
    campaign = desk.campaign(join_mode="open")
    desk.worker(campaign).send_values(1, 0)
    Inferrer(server.database).infer(bytes.fromhex(campaign))
    url = f"/campaigns/{campaign}/results"
    etag = desk.client.get(url).headers["etag"]
    for known, status in (
        (etag, 304),
        (f'"a", {etag}', 304),
        ("*", 304),
        ('"*"', 200),
    ):
        assert desk.client.get(url, headers={"If-None-Match": known}).status_code == status


def send(desk, name, workers=3):
    mechanism = MECHANISMS[name]
    domain = mechanism.domain
    campaign = desk.campaign(mechanism, join_mode="open")
    answers = {
        task: domain.labels[code] if hasattr(domain, "labels") else float(code)
        for task, code in ANSWERS.items()
    }
    sent = {}
    for _ in range(workers):
        worker = desk.worker(campaign)
        pseudonym = worker.client.get("/me").json()["pseudonym"]
        sent[pseudonym] = worker.send_all(mechanism, answers)
    return campaign, sent


@pytest.mark.grid
@pytest.mark.parametrize("name", MECHANISMS)
def test_an_export_is_a_file_of_reports(desk, tmp_path, name):
    campaign, sent = send(desk, name)
    url = f"/campaigns/{campaign}/reports"
    note = desk.client.get(url, params={"format": "mechanism"}).content
    (tmp_path / "reports.csv.mechanism.json").write_bytes(note)
    for kind in ("jsonl", "csv"):
        file = tmp_path / f"reports.{kind}"
        file.write_bytes(desk.client.get(url, params={"format": kind}).content)
        check_file(file, MECHANISMS[name], sent)


def check_file(file, mechanism, sent):
    """Check that a file holds the reports of all who sent some, as they sent them."""
    found = qc.read_reports(file)
    assert found.mechanism == mechanism
    assert not found.simulated
    frame = found.to_frame().set_index("worker")
    assert set(frame.index) == set(sent)
    for worker, reports in sent.items():
        own = frame.loc[[worker]].reset_index(drop=True)
        assert own.equals(reports.to_frame().drop(columns="worker"))


@pytest.mark.grid
@pytest.mark.parametrize("rows", [1, 4, 9])
@pytest.mark.parametrize("name", ["one-layer", "matrix factorisation"])
def test_an_export_in_blocks_holds_every_worker_once_and_whole(desk, monkeypatch, name, rows):
    campaign, sent = send(desk, name, workers=3)
    url = f"/campaigns/{campaign}/reports"
    whole = desk.client.get(url).text
    monkeypatch.setattr(report_blocks, "_BLOCK", rows)
    assert desk.client.get(url).text == whole
    workers = [json.loads(line)["worker"] for line in whole.splitlines()[1:]]
    assert [worker for worker, _ in groupby(workers)] == sorted(set(workers), key=workers.index)
    assert set(workers) == set(sent)


def export(server, campaign):
    with server.database.read() as connection:
        row = connection.execute(
            select(tables.campaign).where(tables.campaign.c.id == bytes.fromhex(campaign))
        ).one()
    return ReportExport(database=server.database, campaign=row)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["json_lines", "csv"])
def test_who_takes_an_export_slowly_keeps_nothing(desk, server, monkeypatch, kind):
    monkeypatch.setattr(report_blocks, "_BLOCK", 3)
    campaign, _ = send(desk, "one-layer")
    before = server.database.engine.pool.checkedout()
    streams = [getattr(export(server, campaign), kind)() for _ in range(60)]
    for stream in streams:
        next(stream)
        next(stream)
    assert server.database.engine.pool.checkedout() == before
    assert can_be_emptied(server.database)
    assert all(len(list(stream)) == 3 for stream in streams)


def test_an_export_of_a_campaign_that_is_deleted_meanwhile_breaks_off(desk, server, monkeypatch):
    monkeypatch.setattr(report_blocks, "_BLOCK", 3)
    campaign, _ = send(desk, "one-layer")
    stream = export(server, campaign).json_lines()
    next(stream)
    next(stream)
    desk.client.delete(f"/campaigns/{campaign}").raise_for_status()
    with pytest.raises(ProblemError, match="not-found"):
        next(stream)


def test_who_withdraws_during_an_export_is_in_it_whole_or_not_at_all(desk, server, monkeypatch):
    monkeypatch.setattr(report_blocks, "_BLOCK", 7)
    campaign = desk.campaign(join_mode="open")
    workers = sorted((desk.worker(campaign) for _ in range(3)), key=lambda one: one.id)
    for worker in workers:
        worker.send_values(1, 0, 1)
    stream = export(server, campaign).json_lines()
    seen = [next(stream), next(stream)]
    for worker in workers[1:]:
        worker.client.delete("/me").raise_for_status()
    lines = "".join([*seen, *stream]).splitlines()
    assert [len(list(rows)) for _, rows in groupby(json.loads(x)["worker"] for x in lines[1:])] == [
        3,
        3,
    ]


@pytest.mark.nightly
def test_an_export_does_not_tell_who_came_first(desk):
    campaign = desk.campaign(join_mode="open")
    arrived = []
    for _ in range(25):
        worker = desk.worker(campaign)
        worker.send_values(1)
        arrived.append(worker.client.get("/me").json()["pseudonym"])
    lines = desk.client.get(f"/campaigns/{campaign}/reports").text.splitlines()
    order = [json.loads(line)["worker"] for line in lines[1:]]
    assert sorted(order) == sorted(arrived)
    places = {worker: place for place, worker in enumerate(arrived)}
    steps = [places[after] - places[before] for before, after in pairwise(order)]
    assert sum(step == 1 for step in steps) < 12  # of 24; chance reaches it once in 10^8


def test_an_empty_campaign_has_an_export(desk):
    campaign = desk.campaign()
    lines = desk.client.get(f"/campaigns/{campaign}/reports").text.splitlines()
    assert len(lines) == 1
    assert json.loads(lines[0])["tasks"] == ["t0", "t1", "t2"]


def test_names_that_begin_like_formulas_are_guarded_and_come_back(desk, tmp_path):
    draft = desk.draft(join_mode="open")["id"]
    desk.import_csv(draft, "task,q\n=1+1,a\n'=1+1,b\n-2,c\n|x,d\n").raise_for_status()
    desk.client.post(f"/campaigns/{draft}/open").raise_for_status()
    desk.worker(draft).send_values(1, 0, 1, 1)
    url = f"/campaigns/{draft}/reports"
    table = desk.client.get(url, params={"format": "csv"})
    rows = list(csv.reader(io.StringIO(table.text)))
    assert sorted(row[0] for row in rows[1:]) == ["''=1+1", "'=1+1", "'|x", "-2"]
    (tmp_path / "r.csv").write_bytes(table.content)
    note = desk.client.get(url, params={"format": "mechanism"})
    (tmp_path / "r.csv.mechanism.json").write_bytes(note.content)
    tasks = qc.read_reports(tmp_path / "r.csv").table.tasks.to_pylist()
    assert tasks == ["'=1+1", "-2", "=1+1", "|x"]
    assert "do not majority-vote them" in note.json()["warning"]


def test_truths_are_files(desk, server, tmp_path):
    draft = desk.draft(join_mode="open")["id"]
    rows = ["task,question", *(f"t{place},Is it {place}?" for place in range(3))]
    desk.import_csv(draft, "\n".join(rows)).raise_for_status()
    url = f"/campaigns/{draft}/truths"
    check_problem(desk.client.get(url), 409, "no-results")
    desk.client.post(f"/campaigns/{draft}/open").raise_for_status()
    for _ in range(3):
        desk.worker(draft).send_values(1, 0)
    Inferrer(server.database).infer(bytes.fromhex(draft))
    truths = {
        row["task"]: row["truth"]
        for row in desk.client.get(f"/campaigns/{draft}/results").json()["truths"]
        if row["truth"] is not None
    }
    assert len(truths) == 2
    for kind, suffix in (("csv", "csv"), ("jsonl", "jsonl"), ("label-studio", "json")):
        file = tmp_path / f"truths.{suffix}"
        file.write_bytes(desk.client.get(url, params={"format": kind}).content)
        found = {row["task"]: row["label"] for row in qc.read_truths(file).to_pylist()}
        assert {task: truth for task, truth in found.items() if truth} == truths
    tasks = json.loads((tmp_path / "truths.json").read_text())
    assert [task["data"]["question"] for task in tasks] == ["Is it 0?", "Is it 1?", "Is it 2?"]
    method = desk.client.get(f"/campaigns/{draft}/results").json()["method"]["method"]
    said = {one["model_version"] for task in tasks for one in task["predictions"]}
    assert said == {f"quietcrowd-{method}"}
    assert all(task["annotations"] == [] for task in tasks)


HOSTILE = 'name,question\n10,"=HYPERLINK(""x"")"\n2,Nistet hier eine Ähre?\n1,"- a\nb"\n'
SHOWN = ["'- a b", "Nistet hier eine Ähre?", '\'=HYPERLINK("x")']


def questions_of(desk, mechanism, **members):
    """Return a campaign with numbered and hostile questions, which three people answered."""
    draft = desk.draft(mechanism, join_mode="open", at_least=3, **members)["id"]
    desk.import_csv(draft, HOSTILE.replace("name", "task")).raise_for_status()
    desk.client.post(f"/campaigns/{draft}/open").raise_for_status()
    for _ in range(3):
        desk.worker(draft).send_values(1, 1, 1)
    Inferrer(desk.server.database).infer(bytes.fromhex(draft))
    return draft


def table_of(desk, url, **params):
    text = desk.client.get(url, params=params).raise_for_status().text
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_truths_have_questions_where_wanted_in_the_order_of_their_numbers(desk, tmp_path):
    campaign = questions_of(desk, MECHANISMS["one-layer"])
    url = f"/campaigns/{campaign}/truths"
    rows = table_of(desk, url, format="csv", questions="true")
    assert [row["question"] for row in rows] == SHOWN
    assert [row["task"] for row in rows] == ["1", "2", "10"]
    assert [*rows[0]][:5] == ["task", "question", "truth", "confidence", "decided"]
    usual = table_of(desk, url, format="csv")
    assert usual == [{name: row[name] for name in row if name != "question"} for row in rows]
    for path in ("truths.csv", "reports.csv"):  # as the studio saves them, for Excel
        kind = path.removesuffix(".csv")
        desk.client.post(f"/campaigns/{campaign}/close")
        given = {"format": "csv", **({"questions": "true"} if kind == "truths" else {})}
        found = desk.client.get(f"/campaigns/{campaign}/{kind}", params=given).raise_for_status()
        (tmp_path / path).write_bytes(b"\xef\xbb\xbf" + found.content)
    assert qc.read_truths(tmp_path / "truths.csv")["task"].to_pylist() == ["1", "2", "10"]
    note = desk.client.get(f"/campaigns/{campaign}/reports", params={"format": "mechanism"})
    (tmp_path / "reports.csv.mechanism.json").write_bytes(note.content)
    assert len(qc.read_reports(tmp_path / "reports.csv")) == 9


def test_a_label_is_decided_from_a_confidence_on_unless_it_is_tied(desk):
    campaign = questions_of(desk, MECHANISMS["one-layer"])
    found = desk.client.get(f"/campaigns/{campaign}/results").json()
    page = desk.client.get(f"/campaigns/{campaign}/results/truths").json()["items"]
    assert page == found["truths"]
    assert found["decided_from"] == 0.8
    assert desk.client.get(f"/campaigns/{campaign}/results/head").json()["decided_from"] == 0.8
    for row in page:
        is_sure = row["confidence"] >= 0.8 and not row["tied"]
        assert row["decided"] == is_sure
    numbers = questions_of(desk, MECHANISMS["laplace"])
    rows = desk.client.get(f"/campaigns/{numbers}/results/truths").json()["items"]
    assert not any("decided" in row for row in rows)


@pytest.mark.parametrize(("name", "answers"), [("one-layer", ["no", "yes"]), ("laplace", ["mean"])])
def test_shares_are_a_table_with_questions(desk, name, answers):
    campaign = questions_of(desk, MECHANISMS[name], goal="shares")
    rows = table_of(desk, f"/campaigns/{campaign}/shares")
    assert [row["question"] for row in rows] == [text for text in SHOWN for _ in answers]
    assert [row["answer"] for row in rows] == answers * 3
    assert {row["reports"] for row in rows} == {"3"}
    found = desk.client.get(f"/campaigns/{campaign}/estimates").json()["items"]
    for row, one in zip(rows, found, strict=True):
        assert float(row["estimate"]) == one.get("share", one.get("mean"))
        assert (float(row["low"]), float(row["high"])) == (one["low"], one["high"])
    check_problem(desk.client.get(f"/campaigns/{desk.campaign()}/shares"), 409, "no-results")


@pytest.mark.parametrize("resource", ["reports", "truths"])
def test_other_formats_are_refused(desk, resource):
    url = f"/campaigns/{desk.campaign()}/{resource}"
    refused = desk.client.get(url, params={"format": "secret"})
    check_problem(refused, 422, "validation")
    assert "secret" not in refused.text


def test_truths_come_of_sets_of_labels(server, desk):
    campaign, _ = send(desk, "sets of labels")
    Inferrer(server.database).infer(bytes.fromhex(campaign))
    found = desk.client.get(f"/campaigns/{campaign}/results").json()
    assert found["method"]["method"] == "noise-aware"
    assert {row["truth"] for row in found["truths"]} <= set(
        MECHANISMS["sets of labels"].domain.labels
    )
    assert 0 <= found["agreement"]["reports"] <= 1
    assert "agreement-unknown" in [warning["code"] for warning in found["warnings"]]  # few workers


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

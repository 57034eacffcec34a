import json

import numpy as np
import pytest
from attrs import evolve
from scipy.stats import binomtest
from tests.campaign.devices import Fake, made, upload_of
from tests.campaign.mechanisms import MECHANISMS
from tests.nightly import nightly

from quietcrowd.campaign.device.checked_terms import Terms, read_tasks
from quietcrowd.campaign.device.draw import Draw
from quietcrowd.campaign.device.questions import TaskQuestions, read_report
from quietcrowd.campaign.protocol.worker_documents import Upload
from quietcrowd.campaign.terms.channels import report_rule
from quietcrowd.exceptions import AnswerError, CampaignError
from quietcrowd.mechanisms import Memo

COIN = MECHANISMS["one-layer"]


def draw_of(answers, data, mechanism=COIN, known=None):
    """Return what answers are to become, and a memo's scope."""
    fake = Fake.of(mechanism, data=data)
    terms = Terms.read(fake.public, 32 * "5")
    tasks = read_tasks({"config_hash": terms.config_hash, "tasks": fake.tasks}, terms)
    questions = TaskQuestions(tasks=tasks, mechanism=mechanism)
    given = answers(questions) if callable(answers) else answers
    reports = {questions.hashes[name]: report for name, report in (known or {}).items()}
    draw = Draw.of(given, worker="me", terms=terms, questions=questions, known=reports)
    return draw, given


def memo_of(draw, folder):
    return Memo.open(
        folder / "memo",
        mechanism=draw.terms.mechanism,
        tasks=[task.name for task in draw.questions.tasks],
        campaign=draw.terms.campaign,
        worker="me",
    )


SHOWN = [{"question": "Drugs?"}] * 3 + [{"question": "Age?"}, {"question": "Sex?"}]


@pytest.mark.parametrize(
    ("name", "answers", "known", "count"),
    [
        ("one-layer", {"t0": "yes"}, {}, 1),
        ("one-layer", {"t0": "yes", "t2": "no", "t3": "no"}, {}, 2),
        ("one-layer", {"t0": "yes", "t2": "no", "t3": "no"}, {"t1": (1, None)}, 1),
        ("one-layer", {"t3": "yes"}, {"t3": (0, None), "t4": (0, None)}, 0),
        ("one-layer with NULL", {}, {}, 3),
        ("one-layer with NULL", {"t4": "no"}, {"t0": (2, None)}, 2),
        ("two-layer", {"t0": "yes", "t2": "no", "t3": None}, {}, 2),
        ("matrix factorisation", {"t0": 3}, {}, 5),
    ],
)
def test_so_many_reports_are_drawn(name, answers, known, count):
    draw, _ = draw_of(answers, SHOWN, MECHANISMS[name], known)
    assert draw.count == count


def test_what_was_sent_is_sent_and_the_rest_is_drawn(tmp_path):
    given = {"t0": "no", "t1": "no", "t3": "no"}
    for place in range(20):
        draw, _ = draw_of(given, SHOWN, known={"t2": (1, None)})
        folder = tmp_path / str(place)
        folder.mkdir()
        upload, kept = draw.commit(given, memo_of(draw, folder))
        names = {task.id: task.name for task in draw.questions.tasks}
        sent = {names[item["task_id"]]: item["value"] for item in upload.items}
        assert sent.keys() == given.keys()
        assert sent["t0"] == sent["t1"] == 1
        assert {draw.questions.hashes[name] for name in given} == kept.keys()
        for name, value in sent.items():
            assert read_report(COIN, kept[draw.questions.hashes[name]]) == (value, None)


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("first", [0, nightly(1)])
def test_copies_have_the_distribution_of_the_answer_to_the_first(tmp_path, first):
    """Of 1,500 questions with two copies, whose answers differ; rejected once in 10^8 runs."""
    data = [{"question": f"Is it {place // 2}?"} for place in range(3_000)]

    def answers(questions):
        pairs = questions.groups.values()
        labels = COIN.domain.labels
        return {
            name: labels[first if place == 0 else 1 - first]
            for pair in pairs
            for place, name in enumerate(pair)
        }

    draw, given = draw_of(answers, data)
    assert draw.count == 1_500
    upload, _ = draw.commit(given, memo_of(draw, tmp_path))
    firsts = {
        task.id for task in draw.questions.tasks if draw.questions.first_of(task.name) == task.name
    }
    kept = sum(item["value"] == first for item in upload.items if item["task_id"] in firsts)
    assert binomtest(kept, 1_500, COIN.channel.probabilities[0, 0]).pvalue > 1e-8
    assert sum(item["value"] == first for item in upload.items) == 2 * kept


def test_no_message_repeats_an_answer():
    with pytest.raises(AnswerError, match="task 't0': the answer is outside") as caught:
        draw_of({"t0": "perhaps"}, SHOWN)
    assert "perhaps" not in str(caught.value)


@pytest.mark.parametrize("name", MECHANISMS)
def test_an_upload_is_what_the_server_expects(name):
    reports, upload, terms, tasks = made(name)
    body = Upload.model_validate_json(upload.content)
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
        shown = row["label"]
        if name == "sets of labels":
            [members] = reports.table.domain.members_of(np.array([shown]))
            shown = ", ".join(members)
        if name == "optimal":
            column = terms.mechanism.channel.weights[:, shown - 1].tolist()
            middle = (min(column) + max(column)) / 2
            pointed = zip(terms.mechanism.domain.labels, column, strict=True)
            labels = sorted(label for label, weight in pointed if weight > middle)
            shown = f"points to: {', '.join(labels)}"
        assert readable[row["task"]].value == shown
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
    monkeypatch.setattr("quietcrowd.campaign.device.draw.MAX_BODY", 100)
    with pytest.raises(CampaignError, match="accepts at most 100"):
        upload_of(reports, terms, tasks)


@pytest.mark.parametrize("name", ["one-layer", "matrix factorisation"])
def test_a_request_may_be_as_long_as_the_server_allows(monkeypatch, name):
    reports, upload, terms, tasks = made(name)
    size = len(upload.content)
    monkeypatch.setattr("quietcrowd.campaign.device.draw.MAX_BODY", size)
    assert len(upload_of(reports, terms, tasks).content) == size
    monkeypatch.setattr("quietcrowd.campaign.device.draw.MAX_BODY", size - 1)
    with pytest.raises(CampaignError, match=f"have {size} bytes, .* at most {size - 1}"):
        upload_of(reports, terms, tasks)


def test_what_is_sent_is_not_shown():
    _, upload, _, _ = made("one-layer")
    assert "report" not in repr(upload)

"""``quietcrowd lab poll`` as a user meets it, and its records of published reports."""

import io
import json
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import quietcrowd as qc
from quietcrowd.commands.lab.poll import held_records, record_path
from quietcrowd.private_files import file_lock


@pytest.fixture
def run(run):
    """Return a function that runs the command and gives (status, output, errors)."""
    return partial(run, "lab", "poll")


@pytest.fixture
def reports(tmp_path):
    """Return a file of reports of one question."""
    domain = qc.Categorical(["no", "yes"])
    frame = pd.DataFrame({"task": "smokes", "worker": range(90), "label": ["no", "no", "yes"] * 30})
    mechanism = qc.RandomizedResponse(domain=domain, epsilon=2.0)
    path = tmp_path / "reports.parquet"
    qc.write_reports(mechanism.randomize(qc.Answers.from_frame(frame, domain=domain)), path)
    return path


def test_shares_into_a_pipe_and_both_losses(run, reports):
    status, output, errors = run(reports, "--min-honest", 80)
    frame = pd.read_csv(io.StringIO(output))
    assert status == 0
    assert frame["label"].tolist() == ["no", "yes"]
    assert frame["share"].sum() == pytest.approx(1)
    words = " ".join(errors.split())
    assumed = "This assumes that the shuffler is honest"
    loss = words.index("has a privacy loss of at most epsilon = 2 ")
    assert loss < words.index(assumed)
    assert "at least 80 of the reports" in words
    assert "each report enters only one published output" in words
    assert "Anyone who sees only this output learns at most" in words
    assert "This assumes that all" not in words
    assert "is not below" not in words


def test_what_is_assumed_is_said(run, reports):
    errors = run(reports, "--delta", 0.02)[2]
    assert "This assumes that all 90 reports are honest" in errors
    assert "Delta = 0.02 is not below 1 in 90" in errors


def test_json_and_a_file(run, reports, tmp_path):
    target = tmp_path / "shares.csv"
    status, output, _ = run(reports, "--min-honest", 50, "--json", "-o", target)
    told = json.loads(output)
    assert status == 0
    assert told["local_epsilon"] == pytest.approx(2.0)
    assert told["shuffled"]["epsilon"] <= told["local_epsilon"]
    assert told["shuffled"]["honest"] == 50
    assert not told["shuffled"]["honest_assumed"]
    assert "honest" in told["shuffled"]["assumption"]
    assert "worker" not in target.read_text()
    assert pd.read_csv(target)["share"].tolist() == pytest.approx(
        [row["share"] for row in told["shares"]]
    )
    status, _, errors = run(reports, "-o", target)
    assert status == 2
    assert "shares.csv" in errors


def test_sets_of_labels_and_from_where_on_shuffling_adds(run, tmp_path):
    domain = qc.Ordinal(range(20))
    frame = pd.DataFrame({"task": "age", "worker": range(90), "label": [3, 4, 5] * 30})
    mechanism = qc.SubsetSelection(domain=domain, epsilon=2.0)
    path = tmp_path / "sets.parquet"
    qc.write_reports(mechanism.randomize(qc.Answers.from_frame(frame, domain=domain)), path)
    status, output, errors = run(path, "--min-honest", 20, "--json")
    told = json.loads(output)
    assert status == 0
    assert sum(row["share"] for row in told["shares"]) == pytest.approx(1)
    assert not told["shuffled"]["adds"]
    number = told["shuffled"]["adds_from"]
    assert (
        f"Shuffling has no proven benefit with 20 honest reports; at least {number:,} are needed."
        in " ".join(errors.split())
    )
    _, output, errors = run(path, "--min-honest", number, "--json")
    assert json.loads(output)["shuffled"]["adds"]
    assert "no proven benefit" not in errors


def test_a_worker_reports_once(run, reports, tmp_path):
    copy = tmp_path / "copy.parquet"
    copy.write_bytes(reports.read_bytes())
    status, _, errors = run(reports, copy)
    assert status == 2
    assert "answered task 'smokes'" in errors


def test_one_question(run, tmp_path):
    crowd = qc.make_crowd(tasks=3, workers=5, answers_per_task=2, random_state=1)
    mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    path = tmp_path / "three.parquet"
    qc.write_reports(mechanism.randomize(crowd.answers), path)
    status, _, errors = run(path)
    assert status == 2
    assert "has one question" in errors


@pytest.mark.parametrize("number", [0, 91])
def test_no_more_can_be_honest_than_there_are(run, reports, number):
    status, _, errors = run(reports, "--min-honest", number)
    assert status == 2
    assert "--min-honest must be 1 to 90" in errors


DOMAIN = qc.Categorical(["no", "yes"])
MECHANISM = qc.RandomizedResponse(domain=DOMAIN, epsilon=1.0)
WORKERS = 600
SUFFIXES = (".csv", ".tsv", ".jsonl", ".parquet", ".xlsx", ".csv.gz", ".tsv.gz", ".jsonl.gz")


@pytest.fixture
def everyone():
    """Return the reports of all workers, as a frame."""
    answers = {"task": "smokes", "worker": range(WORKERS), "label": ["no", "no", "yes"] * 200}
    answers = qc.Answers.from_frame(pd.DataFrame(answers), domain=DOMAIN)
    frame = MECHANISM.randomize(answers).to_frame().astype({"worker": str})
    frame.attrs.clear()  # which say that these are reports
    return frame


def write(frame, path):
    """Write reports, in place of those that are there; the record stays."""
    columns = pa.Table.from_pandas(frame, preserve_index=False)
    ids = (pa.array(sorted(frame[name].unique())) for name in ("task", "worker"))
    qc.write_reports(MECHANISM.read_reports(columns, *ids, simulated=False), path)
    return path


def counts_of(frame):
    """Return how often each report occurs."""
    return [int((frame["label"] == label).sum()) for label in DOMAIN.labels]


def counts(output, workers):
    """Return how often each report occurs, as anyone works out from the printed shares."""
    shares = pd.read_csv(io.StringIO(output))["share"].to_numpy()
    return np.rint(shares @ MECHANISM.channel.probabilities * workers).astype(int)


@pytest.mark.slow
@pytest.mark.grid
@pytest.mark.parametrize("late", range(8))
def test_two_outputs_do_not_show_the_report_of_a_late_worker(run, everyone, tmp_path, late):
    """Without the record, the difference of the counts is the report: it was, 8 of 8 times."""
    others = everyone[everyone["worker"] != str(late)]
    path = write(others, tmp_path / "r.csv")
    status, first, _ = run(path)
    assert status == 0
    write(everyone, path)
    status, output, errors = run(path)
    assert (status, output) == (2, "")
    assert len(errors.strip().splitlines()) == 1
    assert f"{WORKERS - 1} of these {WORKERS} reports were published before, in 1 output" in errors
    assert "the counts of 1 report: a report would have epsilon = 1 instead of 0.1" in errors
    assert "or poll the 1 new report from another file (epsilon = 1)" in errors
    record_path(path).unlink()  # what the refusal is for
    status, second, _ = run(path)
    assert status == 0
    own = everyone.loc[everyone["worker"] == str(late), "label"].item()
    difference = counts(second, WORKERS) - counts(first, WORKERS - 1)
    assert difference.tolist() == [own == "no", own == "yes"]


@pytest.mark.grid
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_format_has_a_record(run, everyone, tmp_path, suffix):
    path = write(everyone[:-100], tmp_path / f"r{suffix}")
    status, output, errors = run(path)
    assert status == 0, errors
    record = record_path(path).read_text()
    assert "does not recognize copies of the file" in record
    # the same reports, in another order and with other options, are the same output
    write(everyone[:-100].sample(frac=1, random_state=1), path)
    assert run(path, "--delta", 1e-8)[:2] == (0, output)
    assert record_path(path).read_text() == record
    write(everyone, path)
    status, output, errors = run(path)
    assert (status, output) == (2, "")
    assert "500 of these 600 reports were published before" in errors
    assert record_path(path).read_text() == record
    # new reports may be polled by themselves
    assert run(write(everyone[-100:], tmp_path / f"new{suffix}"))[0] == 0


def test_no_part_of_what_is_published_is_published_again(run, everyone, tmp_path):
    path = write(everyone, tmp_path / "r.parquet")
    assert run(path)[0] == 0
    write(everyone[:-3], path)
    status, _, errors = run(path, "--min-honest", 500)
    assert status == 2
    assert "597 of these 597 reports were published before, in 1 output" in errors
    assert "reveal the counts of 3 reports" in errors
    assert "new report" not in errors
    # a report that was changed: its former and its new one would be seen
    changed = everyone.copy()
    changed.loc[0, "label"] = "no" if changed.loc[0, "label"] == "yes" else "yes"
    write(changed, path)
    assert "reveal the counts of 1 report" in run(path)[2]
    write(everyone, path)
    assert run(path)[0] == 0


def test_others_reports_in_the_same_file_are_another_poll(run, everyone, tmp_path):
    path = write(everyone[:300], tmp_path / "r.csv")
    assert run(path)[0] == 0
    assert run(write(everyone[300:], path))[0] == 0
    assert len(json.loads(record_path(path).read_text())["outputs"]) == 2
    write(everyone, path)
    assert "600 of these 600 reports were published before, in 2 outputs" in run(path)[2]
    assert run(write(everyone[:300], path))[0] == 0


def test_files_that_are_polled_together(run, everyone, tmp_path):
    files = [
        write(everyone[place : place + 200], tmp_path / f"{place}.csv") for place in (0, 200, 400)
    ]
    assert run(*files[:2])[0] == 0
    assert run(*reversed(files[:2]))[0] == 0
    for others, sizes in ((files, (400, 600)), (files[1:], (200, 400)), (files[:1], (200, 200))):
        status, output, errors = run(*others)
        assert (status, output) == (2, "")
        assert "{} of these {} reports were published before, in 1".format(*sizes) in errors
        assert "reveal the counts of 200 reports" in errors
    assert run(files[2])[0] == 0


def test_reports_that_were_sent_again_are_in_no_second_output(run, everyone, tmp_path):
    """Before, the difference of polls of two campaigns was the report of the only new worker."""
    first = everyone[1:].assign(again=False, campaign="1")
    second = everyone.assign(
        worker="other" + everyone["worker"], again=everyone.index > 0, campaign="2"
    )
    files = [write(first, tmp_path / "1.csv"), write(second, tmp_path / "2.csv")]
    status, output, _ = run(*files)
    assert status == 0
    assert counts(output, WORKERS).tolist() == counts_of(everyone)
    status, output, errors = run(files[1])
    assert (status, output) == (2, "")
    assert "1 of these 1 reports were published before" in errors
    record_path(files[1]).unlink()
    status, output, errors = run(files[1])
    assert status == 0
    assert "599 of 600 reports were sent again and are dropped" in errors
    assert counts(output, 1).tolist() == counts_of(everyone[:1])


def test_polls_at_the_same_time_read_no_record_that_another_one_writes(everyone, tmp_path):
    """Before, each read the records first, and outputs with common reports were published."""
    files = [write(everyone[at : at + 200], tmp_path / f"{at}.csv") for at in (0, 200)]
    locks = [file.with_name(f"{record_path(file).name}.lock") for file in files]
    with held_records([*files, files[0]]):
        for lock in locks:
            with pytest.raises(BlockingIOError), file_lock(lock, wait=False):
                pass
    for lock in locks:
        with file_lock(lock, wait=False):
            pass


def test_files_that_change_while_they_are_read_are_not_published(
    run, everyone, tmp_path, monkeypatch
):
    """Before, the record was of the later reports, and a poll of these was taken for the same."""
    path = write(everyone[1:], tmp_path / "r.csv")

    def changed(files):
        write(everyone, path)
        return held_records(files)

    monkeypatch.setattr("quietcrowd.commands.lab.poll.held_records", changed)
    status, output, errors = run(path)
    assert (status, output) == (2, "")
    assert "the files of reports changed while they were read: run the poll again" in errors
    assert not record_path(path).exists()


def test_a_link_has_the_record_of_its_file(run, everyone, tmp_path):
    path = write(everyone, tmp_path / "r.parquet")
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "other.parquet"
    link.symlink_to(path)
    assert run(link)[0] == 0
    assert [file.name for file in (tmp_path / "links").iterdir()] == ["other.parquet"]
    write(everyone[1:], path)
    assert run(path)[0] == 2


@pytest.mark.parametrize(
    "text",
    [
        *("", "{}", "[]", '{"key": "00", "outputs": [{}]}', '{"key": 1, "outputs": []}'),
        '{"key": "00", "outputs": [{"id": "a", "reports": 1, "rows": "?"}]}',
    ],
)
def test_a_damaged_record_is_one_line(run, everyone, tmp_path, text):
    path = write(everyone, tmp_path / "r.csv")
    record_path(path).write_text(text)
    status, output, errors = run(path)
    assert (status, output) == (2, "")
    assert errors.count("\n") == 1
    assert "r.csv.published.json: this record of published polls is damaged" in errors


def test_nothing_is_published_where_no_record_can_be_written(run, everyone, tmp_path):
    path = write(everyone, tmp_path / "r.csv")
    record_path(path).mkdir()
    status, output, errors = run(path)
    assert (status, output) == (2, "")
    assert errors.count("\n") == 1
    assert "r.csv.published.json" in errors


def test_a_record_names_no_worker(run, tmp_path):
    frame = pd.DataFrame({"task": "smokes", "worker": ["anna", "berta"], "label": ["no", "yes"]})
    first, second = (write(frame, tmp_path / name) for name in ("a.csv", "b.csv"))
    assert run(first)[0] == run(second)[0] == 0
    written = [json.loads(record_path(path).read_text()) for path in (first, second)]
    assert "anna" not in str(written)
    # another key for each file: records of two files cannot be joined
    assert written[0]["outputs"][0]["rows"] != written[1]["outputs"][0]["rows"]

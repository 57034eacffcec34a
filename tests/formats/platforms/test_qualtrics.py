"""Responses of Qualtrics; all rows are invented."""

import gzip

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import DroppedRowsWarning, FormatError, QuietcrowdWarning
from quietcrowd.formats import read_table
from quietcrowd.formats.columns import Choice

DOMAIN = qc.Categorical(["yes", "no"])
NAMES = ["StartDate", "RecordedDate", "Status", "Finished", "ResponseId", "Q1", "Q2", "group"]
TEXTS = ["Start Date", "Recorded Date", "Response Type", "Finished", "Response ID", "A?", "B?", ""]
IDS = ["startDate", "recordedDate", "status", "finished", "_recordId", "QID1", "QID2", "group"]
DAY = "2026-01-0"


def survey(path, *rows, names=NAMES, texts=TEXTS, ids=IDS):
    tags = [f'"{{""ImportId"":""{one}""}}"' for one in ids]
    lines = [",".join(one) for one in (names, texts, tags)]
    path.write_text("\ufeff" + "\n".join([*lines, *rows, ""]), encoding="utf-8")
    return path


def read(path, **options):
    return sorted(qc.read_answers(path, DOMAIN, **options).to_frame().to_numpy().tolist())


def test_questions_are_tasks_and_responses_are_workers(tmp_path):
    path = survey(
        tmp_path / "q.csv",
        f"{DAY}1,{DAY}1,IP Address,True,R_1,yes,no,x",
        f"{DAY}1,{DAY}1,IP Address,True,R_2,no,,y",
    )
    assert read(path) == [["Q1", "R_1", "yes"], ["Q1", "R_2", "no"], ["Q2", "R_1", "no"]]
    assert read(path, field="Q2") == [["Q2", "R_1", "no"]]
    with pytest.raises(FormatError, match=r"q\.csv: no column is 'Q3'; the columns are 'Q1', 'Q2'"):
        read(path, field="Q3")
    with pytest.raises(FormatError, match="cannot contain known truths"):
        qc.read_truths(path)


def test_unfinished_responses_and_previews_are_rejected(tmp_path):
    path = survey(
        tmp_path / "q.csv",
        f"{DAY}1,{DAY}1,0,1,R_1,yes,no,x",
        f"{DAY}1,{DAY}1,0,0,R_2,yes,no,x",
        f"{DAY}1,{DAY}1,1,1,R_3,yes,no,x",
    )
    with pytest.warns(DroppedRowsWarning) as told:
        assert len(read(path)) == 2
    assert [str(one.message) for one in told] == [
        f"{path}: dropped rows: responses that were not finished (convert --include-rejected "
        "includes them): 1; previews and tests (convert --include-rejected includes them): 1"
    ]
    assert len(read(path, rejected=True)) == 6


def test_an_id_of_a_person_may_repeat_and_the_last_response_is_the_latest(tmp_path):
    names = [*NAMES[:-1], "PROLIFIC_PID"]
    path = survey(
        tmp_path / "q.csv",
        f"{DAY}1,{DAY}3 10:00:00,0,1,R_1,yes,,5f01",
        f"{DAY}1,{DAY}2 23:00:00,0,1,R_2,no,,5f01",
        names=names,
    )
    assert read(path, duplicates="last") == [["Q1", "5f01", "yes"]]
    assert read(path, duplicates="first") == [["Q1", "5f01", "no"]]


def test_the_row_of_import_ids_may_be_missing(tmp_path):
    path = tmp_path / "q.csv"
    row = f"{DAY}1,{DAY}1,IP Address,True,R_1,yes,no,x"
    path.write_text("\n".join([",".join(NAMES), ",".join(TEXTS), row]), encoding="utf-8")
    assert read(path, field="Q1") == [["Q1", "R_1", "yes"]]


def test_options_with_columns_are_a_set(tmp_path):
    path = survey(
        tmp_path / "q.csv",
        f"{DAY}1,{DAY}1,0,1,R_1,cat,,x",
        f"{DAY}1,{DAY}1,0,1,R_2,cat,dog,x",
        f"{DAY}1,{DAY}1,0,1,R_3,,,x",
        names=[*NAMES[:5], "Q1_1", "Q1_2", "group"],
        ids=[*IDS[:5], 'QID1"",""choiceId"":""1', 'QID1"",""choiceId"":""2', "group"],
    )
    for field in (None, "Q1"):
        table = read_table(path, ("task", "worker", "label"), sets=True, choice=Choice(field=field))
        assert table.to_pylist() == [
            {"task": "Q1", "worker": "R_1", "label": ["cat"]},
            {"task": "Q1", "worker": "R_2", "label": ["cat", "dog"]},
        ]
    with pytest.raises(FormatError, match=r"column 'label' has list<.*--multi-label"):
        read(path)


def test_a_missing_id_names_its_row_in_the_file(tmp_path):
    path = survey(tmp_path / "q.csv", f"{DAY}1,{DAY}1,0,1,,yes,no,x")
    with pytest.raises(FormatError, match=r"q\.csv: row 2, column 'ResponseId': the id is missing"):
        read(path)


def test_a_long_table_may_have_the_header_of_qualtrics(tmp_path):
    path = survey(
        tmp_path / "long.csv",
        "p,R_1,yes",
        "q,R_1,no",
        names=["task", "worker", "label"],
        texts=["Task", "Worker", "Answer"],
        ids=["QID1", "_recordId", "QID2"],
    )
    with pytest.warns(DroppedRowsWarning, match="further rows of a Qualtrics header: 2"):
        assert read(path) == [["p", "R_1", "yes"], ["q", "R_1", "no"]]


@pytest.mark.parametrize("suffix", [".tsv", ".csv.gz"])
def test_other_files_have_the_same_columns(tmp_path, suffix):
    path = survey(tmp_path / "q.csv", f"{DAY}1,{DAY}1,0,1,R_1,yes,no,x")
    other = tmp_path / f"q{suffix}"
    text = path.read_text(encoding="utf-8").replace(",", "\t" if "t" in suffix else ",")
    other.write_bytes(text.encode() if "t" in suffix else gzip.compress(text.encode()))
    assert read(other) == [["Q1", "R_1", "yes"], ["Q2", "R_1", "no"]]


def test_unanswered_questions_may_have_a_code(tmp_path):
    path = survey(tmp_path / "q.csv", f"{DAY}1,{DAY}1,0,1,R_1,yes,-99,x")
    with pytest.warns(QuietcrowdWarning, match="answers that are -99: 1"):
        assert read(path, out_of_domain="skip") == [["Q1", "R_1", "yes"]]


def test_ids_that_respondents_typed_are_named(tmp_path):
    rows = [f"{DAY}1,{DAY}1,0,1,R_{place},yes,5f{place}c,x" for place in range(4)]
    path = survey(tmp_path / "q.csv", *rows)
    with pytest.warns(QuietcrowdWarning, match="whose answers are all different: 'Q2'. If they"):
        read(path, out_of_domain="skip")
